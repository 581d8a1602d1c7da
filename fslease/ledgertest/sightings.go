package ledgertest

import (
	"fmt"

	"fslease/fslease"
)

var sightingCases = []testCase{
	{"keep the older", "of the sightings of one revision on one clock the oldest stays", func(s *suite) {
		l := s.Open()
		rec := s.grant(l, "k", stranger(), 0)
		first := sighting(rec, 100)
		s.see(first)
		s.see(sighting(rec, 200))
		s.sighted("k", first)
		older := sighting(rec, 50)
		s.see(older)
		s.sighted("k", older)
	}},

	{"start again", "a sighting of another revision, generation, boot or time namespace takes the place of the one that stands", func(s *suite) {
		rec := s.grant(s.Open(), "k", stranger(), 0)
		last := sighting(rec, 100)
		for i, change := range []func(*fslease.Sighting){
			func(g *fslease.Sighting) { g.Revision++ },
			func(g *fslease.Sighting) { g.Generation++ },
			func(g *fslease.Sighting) { g.BootID = "5747a46e-0000-4000-8000-000000000003" },
			func(g *fslease.Sighting) { g.TimeNS++ },
		} {
			s.see(last)
			change(&last)
			last.Mono += int64(1000 * (i + 1))
			s.see(last)
			s.sighted("k", last)
		}
	}},

	{"of each key", "sightings are kept by key, those of leases above and below the locked key too", func(s *suite) {
		l := s.Open()
		for _, k := range keys("repo", "repo/api", "repo/api/v2") {
			rec := s.grant(l, k, stranger(), 0)
			g := sighting(rec, 100+int64(len(k)))
			s.update(l, func(tx fslease.Tx) error { return tx.See(g) }, "repo/api")
			s.sighted(k, g)
		}
	}},
}

func sighting(rec fslease.Record, mono int64) fslease.Sighting {
	return fslease.Sighting{Key: rec.Key, Generation: rec.Generation, Revision: rec.Revision, BootID: "5747a46e-0000-4000-8000-000000000001", TimeNS: 7, Mono: mono}
}

func (s *suite) see(g fslease.Sighting) {
	s.Helper()
	s.update(s.Open(), func(tx fslease.Tx) error { return tx.See(g) }, g.Key)
}

func (s *suite) sighted(key fslease.Key, want fslease.Sighting) {
	s.Helper()
	got, err := s.Open().View(s.Context()).Sighting(key)
	s.ok(err)
	if got == nil || *got != want {
		s.Errorf("stored %s, want %+v", fmt.Sprintf("%+v", got), want)
	}
}
