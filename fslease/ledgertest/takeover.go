package ledgertest

import (
	"fmt"
	"strings"
	"time"

	"fslease/fslease"
)

var takeoverCases = []testCase{
	{"dead", "a holder that is proven dead is taken over at once, with or without a TTL, and counts as unclean each time", func(s *suite) {
		s.need(s.Kill != nil, "Kill")
		m, l := s.manager()
		for i, ttl := range []time.Duration{time.Minute, 0} {
			dying := s.Open()
			s.grant(dying, "k", s.announce(dying), ttl)
			s.Kill(dying)
			lease := s.acquire(m, "k")
			s.holds(lease, int64(2*(i+1)))
			if st := s.load(l, "k"); st.Tomb == nil || st.Tomb.Reason != fslease.ReasonDead || st.Tomb.Unclean != 1 {
				s.Errorf("on record: %+v", st.Tomb)
			}
			s.ok(lease.Release())
		}
		for range 2 {
			dying, l := s.manager()
			s.acquire(dying, "k")
			s.Kill(l)
		}
		lease := s.acquire(m, "k")
		if st := s.load(l, "k"); st.Tomb.Unclean != 2 {
			s.Errorf("unclean %d times in a row, want 2", st.Tomb.Unclean)
		}
		s.ok(lease.Release())
		if st := s.load(l, "k"); st.Tomb.Unclean != 0 {
			s.Errorf("unclean %d times in a row after a release", st.Tomb.Unclean)
		}
	}},

	{"silent", "a holder that lives but does not renew is taken over after its TTL and not before, and no wall clock matters", func(s *suite) {
		s.need(s.Advance != nil && s.StepWall != nil, "Advance and StepWall")
		holder := s.Open()
		h := s.announce(holder)
		s.grant(holder, "k", h, time.Minute)
		m, l := s.manager()
		s.Advance(time.Minute - time.Nanosecond)
		s.StepWall(time.Hour)
		if held := s.refused(m, "k"); held.Verdict.Life != fslease.Alive {
			s.Errorf("the holder is %s (%s)", held.Verdict.Life, held.Verdict.Reason)
		}
		s.StepWall(-48 * time.Hour)
		s.refused(m, "k")
		s.Advance(time.Nanosecond)
		s.holds(s.acquire(m, "k"), 2)
		if st := s.load(l, "k"); st.Tomb == nil || st.Tomb.Reason != fslease.ReasonExpired || st.Tomb.Unclean != 1 {
			s.Errorf("on record: %+v", st.Tomb)
		}
	}},

	{"renewing", "a holder that renews is never taken over", func(s *suite) {
		s.need(s.Advance != nil && s.StepWall != nil, "Advance and StepWall")
		a, _ := s.manager()
		b, _ := s.manager()
		lease, err := s.keep(a.AcquireRequest(s.Context(), fslease.Request{Keys: keys("k"), TTL: time.Minute}))
		s.ok(err)
		for i := range 80 { // 20 TTLs
			s.Advance(15 * time.Second)
			s.StepWall(time.Duration(i%3-1) * time.Hour)
			s.ok(lease.Renew(s.Context()))
			s.refused(b, "k")
		}
		s.ok(lease.Err())
		s.ok(lease.Release())
	}},

	{"without TTL", "a lease without a TTL whose holder lives, or of whom nothing can be told, is never taken over", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		l := s.Open()
		s.grant(l, "alive", s.announce(l), 0)
		s.grant(l, "unknown", stranger(), 0)
		m, _ := s.manager()
		for range 3 {
			s.refused(m, "alive")
			s.refused(m, "unknown")
			s.Advance(1000 * time.Hour)
		}
	}},

	{"sighting", "a record whose stamp says nothing here is taken over once it was seen unchanged for its TTL, by tries that each live for a moment", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		s.grant(s.Open(), "k", stranger(), time.Minute)
		s.Advance(time.Hour) // nobody looked
		for range 6 {
			m, _ := s.manager()
			s.refused(m, "k")
			s.Advance(10*time.Second - time.Millisecond)
		}
		m, _ := s.manager()
		s.refused(m, "k") // 60 s less 6 ms after it was first seen
		s.Advance(6 * time.Millisecond)
		m, _ = s.manager()
		s.holds(s.acquire(m, "k"), 2)
	}},

	{"sighting of a changing record", "a record that is renewed between the looks is never taken over", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		l := s.Open()
		rec := s.grant(l, "k", stranger(), time.Minute)
		for range 10 {
			m, _ := s.manager()
			s.refused(m, "k")
			s.Advance(59 * time.Second)
			next := rec
			next.Revision++
			s.ok(l.Save(s.Context(), next, rec.Revision))
			rec = next
		}
	}},

	{"below the dead", "a dead lease stands in the way of nobody, neither above nor below it, however many pass by at once", func(s *suite) {
		s.need(s.Kill != nil, "Kill")
		for round := range 3 {
			root := fmt.Sprintf("repo%d", round)
			dying, l := s.manager()
			s.acquire(dying, root)
			s.Kill(l)
			managers := make([]*fslease.Manager, 8)
			for i := range managers {
				managers[i], _ = s.manager()
			}
			s.race(8, func(i int) {
				lease, err := s.keep(managers[i].Acquire(s.Context(), fmt.Sprintf("%s/%d", root, i)))
				if err != nil {
					s.Errorf("below a dead lease: %v", err)
					return
				}
				if i%2 == 0 {
					if err := lease.Release(); err != nil {
						s.Error(err)
					}
				}
			})
			if st := s.load(s.Open(), fslease.Key(root)); st.Current() != nil || st.Tomb == nil || st.Tomb.Unclean != 1 {
				s.Errorf("on record for %s: %+v", root, st)
			}
			s.refused(managers[0], root)
		}
		dying, l := s.manager()
		s.acquire(dying, "z/a", "z/b/c")
		s.Kill(l)
		m, _ := s.manager()
		s.holds(s.acquire(m, "z"), 1)
	}},

	{"told", "who is taken over learns by whom at its next renewal, and its lease is lost", func(s *suite) {
		a, _ := s.manager()
		b, _ := s.manager()
		lease := s.acquire(a, "k")
		broken, err := b.Break(s.Context(), "k", "test", nil)
		s.ok(err)
		if broken == nil || broken.Generation != 1 {
			s.Errorf("broke %+v", broken)
		}
		next := s.acquire(b, "k")
		s.holds(next, 2)
		lost := s.lost("renewal", lease.Renew(s.Context()))
		if lost.Generation != 1 || lost.Current != 2 || !strings.Contains(lost.Error(), "taken over by generation 2") {
			s.Errorf("told %+v: %v", lost, lost)
		}
		wait(s, lease.Lost(), "the loss to be told")
		s.lost("Err", lease.Err())
		s.lost("Release", lease.Release())
		s.ok(next.Renew(s.Context()))
		s.ok(next.Release())
	}},

	{"removed", "whose record is gone has lost it, and leaves a tombstone so that the generation is not handed out again", func(s *suite) {
		s.need(s.Plant != nil, "Plant")
		m, l := s.manager()
		lease := s.acquire(m, "k")
		s.Plant("k", nil)
		s.lost("renewal", lease.Renew(s.Context()))
		if st := s.load(l, "k"); st.Current() != nil || st.Generation() != 1 {
			s.Errorf("on record: %+v", st)
		}
		s.holds(s.acquire(m, "k"), 2)
	}},

	{"damaged", "a damaged record is never taken for a free key, and stays as it is", func(s *suite) {
		s.need(s.Plant != nil, "Plant")
		m, _ := s.manager()
		s.ok(s.acquire(m, "repo").Release())
		s.Plant("repo", []byte("{"))
		for range 2 {
			for _, k := range []string{"repo", "repo/api"} {
				_, err := m.Acquire(s.Context(), k)
				s.is(err, fslease.ErrRepository)
			}
		}
		s.ok(s.acquire(m, "elsewhere").Release())
	}},
}
