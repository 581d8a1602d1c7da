package ledgertest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"fslease/fslease"
)

var generationCases = []testCase{
	{"grow", "generations and revisions of a key grow over every way of giving it up and taking it again", func(s *suite) {
		var generation, revision int64
		h := s.announce(s.Open())
		for _, reason := range []fslease.Reason{fslease.ReasonReleased, fslease.ReasonDead, fslease.ReasonExpired, fslease.ReasonBroken, fslease.ReasonReleased} {
			l := s.Open()
			rec := s.grant(l, "repo/api", h, time.Minute)
			if rec.Generation != generation+1 || rec.Revision <= revision {
				s.Errorf("generation %d after %d, revision %d after %d", rec.Generation, generation, rec.Revision, revision)
			}
			tomb := s.bury(l, "repo/api", reason)
			if st := s.load(l, "repo/api"); st.Current() != nil || st.Tomb == nil || st.Tomb.Reason != reason || st.Generation() != rec.Generation {
				s.Errorf("given up as %s: %+v", reason, st)
			}
			generation, revision = rec.Generation, tomb.Revision
		}
	}},

	{"of each key", "keys count on their own", func(s *suite) {
		l := s.Open()
		h := s.announce(l)
		for range 3 {
			s.grant(l, "a", h, 0)
			s.bury(l, "a", fslease.ReasonReleased)
		}
		for _, k := range keys("b", "a/b", "a-b") {
			if rec := s.grant(l, k, h, 0); rec.Generation != 1 {
				s.Errorf("%s starts at generation %d, want 1: no key above or beside it matters", k, rec.Generation)
			}
		}
	}},

	{"lost record", "a generation whose lease is gone is kept by the tombstone that its holder leaves, and never handed out again", func(s *suite) {
		s.need(s.Plant != nil, "Plant")
		l := s.Open()
		h := s.announce(l)
		rec := s.grant(l, "k", h, 0)
		s.Plant("k", nil)
		s.update(l, func(tx fslease.Tx) error {
			return tx.Bury(rec, fslease.Buried(rec, nil, fslease.ReasonBroken, tx.Now()))
		}, "k")
		if next := s.grant(l, "k", h, 0); next.Generation != rec.Generation+1 {
			s.Errorf("generation %d after %d was lost", next.Generation, rec.Generation)
		}
	}},

	{"half given up", "a lease whose generation is not above its tombstone's is released, and burying it again changes nothing but to remove it", func(s *suite) {
		l := s.Open()
		h := s.announce(l)
		rec := s.grant(l, "k", h, 0)
		tomb := s.bury(l, "k", fslease.ReasonDead)
		s.update(l, func(tx fslease.Tx) error { return tx.Put(rec, true) }, "k") // as a crash before the removal leaves it
		if st := s.load(l, "k"); st.Current() != nil || st.Generation() != 1 {
			s.Fatalf("%+v counts as held", st)
		}
		s.update(l, func(tx fslease.Tx) error {
			return tx.Bury(rec, fslease.Buried(rec, &tomb, fslease.ReasonDead, tx.Now()))
		}, "k")
		if st := s.load(l, "k"); st.Lease != nil || st.Tomb == nil || st.Tomb.Unclean != 1 {
			s.Errorf("buried again: %+v; want the lease gone and the tombstone left: a generation is unclean once", st)
		}
		s.update(l, func(tx fslease.Tx) error { return tx.Put(rec, true) }, "k")
		if next := s.grant(l, "k", h, 0); next.Generation != 2 {
			s.Errorf("generation %d after a half given up 1", next.Generation)
		}
	}},

	{"own only", "burying removes the lease of that generation only: a successor that has come stays", func(s *suite) {
		l := s.Open()
		h := s.announce(l)
		rec := s.grant(l, "k", h, 0)
		var next fslease.Record
		s.update(l, func(tx fslease.Tx) error {
			st, err := tx.Load("k")
			g, err2 := tx.NextGeneration("k", st)
			tomb := fslease.Buried(rec, nil, fslease.ReasonTransferred, tx.Now())
			next = fslease.Granted(fslease.State{Tomb: &tomb}, fslease.Grant{Key: "k", Holder: h}, g, tx.Now())
			return errors.Join(err, err2, tx.Put(next, true), tx.Bury(rec, tomb))
		}, "k")
		if cur := s.load(l, "k").Current(); cur == nil || cur.Generation != next.Generation {
			s.Errorf("after a transfer: %+v, want generation %d held", cur, next.Generation)
		}
	}},

	{"too late", "who buries a generation after a successor has come harms neither its lease nor its tombstone", func(s *suite) {
		l := s.Open()
		h := s.announce(l)
		first := s.grant(l, "k", h, 0)
		late := func(k fslease.Key) {
			s.update(l, func(tx fslease.Tx) error {
				return tx.Bury(first, fslease.Buried(first, nil, fslease.ReasonDead, tx.Now()))
			}, k)
		}
		s.bury(l, "k", fslease.ReasonReleased)
		second := s.grant(l, "k", h, 0)
		for _, k := range keys("k", "k/below") {
			late(k)
			if cur := s.load(l, "k").Current(); cur == nil || cur.Generation != second.Generation {
				s.Fatalf("under the locks of %s: %+v, want generation %d held", k, cur, second.Generation)
			}
		}
		s.bury(l, "k", fslease.ReasonReleased)
		late("k")
		if st := s.load(l, "k"); st.Tomb == nil || st.Tomb.Generation != second.Generation || st.Tomb.Reason != fslease.ReasonReleased {
			s.Errorf("tombstone %+v, want that of generation %d", st.Tomb, second.Generation)
		}
	}},

	{"burial under a shared lock", "a dead lease above a key can be buried under the key's locks, by several at once, and is unclean once", func(s *suite) {
		h := stranger()
		for range 5 {
			l := s.Open()
			rec := s.grant(l, "repo", h, 0)
			before := s.load(l, "repo")
			var unclean int64
			if before.Tomb != nil {
				unclean = before.Tomb.Unclean
			}
			handles := s.handles(8)
			s.race(8, func(i int) {
				key := fslease.Key(fmt.Sprintf("repo/%d", i))
				err := handles[i].Update(s.Context(), []fslease.Key{key}, func(tx fslease.Tx) error {
					return tx.Bury(rec, fslease.Buried(rec, before.Tomb, fslease.ReasonDead, tx.Now()))
				})
				if err != nil {
					s.Errorf("under %s: %v", key, err)
				}
			})
			if st := s.load(l, "repo"); st.Lease != nil || st.Tomb == nil || st.Tomb.Generation != rec.Generation || st.Tomb.Unclean != unclean+1 {
				s.Errorf("buried by eight: %+v", st)
			}
		}
	}},

	{"ceiling", "no generation is handed out that could not be read back, and none above the largest number", func(s *suite) {
		l := s.Open()
		h := s.announce(l)
		s.update(l, func(tx fslease.Tx) error {
			far := fslease.State{Tomb: &fslease.Tombstone{Key: "k", Generation: 5555, Revision: 1}}
			g, err := tx.NextGeneration("k", far)
			if err != nil || g != 5556 {
				s.Errorf("generation %d, %v after 5555", g, err)
			}
			return errors.Join(err, tx.Put(fslease.Granted(far, fslease.Grant{Key: "k", Holder: h}, g, tx.Now()), true))
		}, "k")
		if cur := s.load(s.Open(), "k").Current(); cur == nil || cur.Generation != 5556 {
			s.Errorf("on record: %+v", cur)
		}
		s.update(l, func(tx fslease.Tx) error {
			if g, err := tx.NextGeneration("z", fslease.State{Tomb: &fslease.Tombstone{Key: "z", Generation: fslease.MaxNumber}}); err == nil {
				s.Errorf("generation %d, which no record can hold", g)
			}
			return nil
		}, "z")
	}},

	{"race", "eight who draw generations of one key at once, over and over, never draw the same", func(s *suite) {
		const loops = 10
		handles := s.handles(8)
		h := s.announce(handles[0])
		var mu sync.Mutex
		seen := map[int64]bool{}
		s.race(8, func(i int) {
			for range loops {
				err := handles[i].Update(s.Context(), keys("k"), func(tx fslease.Tx) error {
					rec, err := put(tx, "k", h, 0)
					if err != nil {
						return err
					}
					mu.Lock()
					if seen[rec.Generation] {
						s.Errorf("generation %d twice", rec.Generation)
					}
					seen[rec.Generation] = true
					mu.Unlock()
					st, err := tx.Load("k")
					return errors.Join(err, tx.Bury(rec, fslease.Buried(rec, st.Tomb, fslease.ReasonReleased, tx.Now())))
				})
				if err != nil {
					s.Errorf("process %d: %v", i, err)
				}
			}
		})
		if st := s.load(handles[0], "k"); st.Generation() != 8*loops {
			s.Errorf("generation %d after %d grants", st.Generation(), 8*loops)
		}
	}},
}
