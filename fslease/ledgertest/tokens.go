package ledgertest

import (
	"errors"
	"time"

	"fslease/fslease"
)

var tokenCases = []testCase{
	{"old", "a token that is not current is refused by everything, with what became of it", func(s *suite) {
		m, _ := s.manager()
		for _, c := range []struct {
			key     string
			end     func(*fslease.Lease)
			again   bool
			current int64
		}{
			{"released", func(l *fslease.Lease) { s.ok(l.Release()) }, false, 0},
			{"again", func(l *fslease.Lease) { s.ok(l.Release()) }, true, 2},
			{"broken", func(*fslease.Lease) { _, err := m.Break(s.Context(), "broken", "test", nil); s.ok(err) }, true, 2},
		} {
			key := fslease.Key(c.key)
			c.end(s.acquire(m, c.key))
			if c.again {
				s.holds(s.acquire(m, c.key), 2)
			}
			_, err := m.RenewToken(s.Context(), key, 1)
			s.refusedToken(c.key+": renew", err, c.current)
			s.refusedToken(c.key+": release", m.ReleaseToken(s.Context(), key, 1), c.current)
			_, err = m.Transfer(s.Context(), key, 1, fslease.Handover{Holder: stranger()}, 0, nil)
			s.refusedToken(c.key+": transfer", err, c.current)
			_, err = m.Fenced(s.Context(), key, 1, false, nil)
			s.refusedToken(c.key+": fenced", err, c.current)
			_, err = m.Fenced(s.Context(), key, 1, true, nil)
			s.refusedToken(c.key+": fenced inside", err, c.current)
			if yes, err := m.Check(s.Context(), key, 1); yes || err != nil {
				s.Errorf("%s: check says %v, %v", c.key, yes, err)
			}
			if c.again {
				_, err := m.RenewToken(s.Context(), key, 2)
				s.ok(err)
			}
		}
		_, err := m.RenewToken(s.Context(), "never", 1)
		s.refusedToken("never held", err, 0)
	}},

	{"whoever has it", "renew and release belong to whoever has the token; a second release is refused", func(s *suite) {
		l := s.Open()
		rec := s.grant(l, "k", stranger(), time.Minute)
		m, _ := s.manager()
		renewed, err := m.RenewToken(s.Context(), "k", rec.Generation)
		s.ok(err)
		if renewed.Revision != rec.Revision+1 || renewed.Generation != rec.Generation || renewed.Holder.ID != rec.Holder.ID {
			s.Errorf("renewed as %+v", renewed)
		}
		s.ok(m.ReleaseToken(s.Context(), "k", rec.Generation))
		s.refusedToken("second release", m.ReleaseToken(s.Context(), "k", rec.Generation), 0)
		if st := s.load(l, "k"); st.Current() != nil || st.Tomb.Reason != fslease.ReasonReleased {
			s.Errorf("on record: %+v", st)
		}
	}},

	{"evidence none", "a lease without a process lasts its TTL from the grant or the last renewal", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		m, _ := s.manager()
		to := fslease.Handover{Holder: stranger(), TTL: time.Minute}
		now := s.Open().Clock().Now()
		to.Holder.BootID, to.Holder.TimeNS = now.BootID, now.TimeNS
		recs, err := m.AcquireFor(s.Context(), fslease.Request{Keys: keys("k")}, to)
		s.ok(err)
		for range 3 {
			s.Advance(59 * time.Second)
			s.refused(m, "k")
			_, err = m.RenewToken(s.Context(), "k", recs[0].Generation)
			s.ok(err)
		}
		s.Advance(time.Minute)
		if yes, err := m.Check(s.Context(), "k", 0); yes || err != nil {
			s.Errorf("check after the TTL: %v, %v", yes, err)
		}
		s.holds(s.acquire(m, "k"), 2)
	}},

	{"check", "check tells of exactly this key; who is dead or silent for the TTL does not hold", func(s *suite) {
		m, _ := s.manager()
		check := func(key fslease.Key, token int64, want bool) {
			s.Helper()
			if got, err := m.Check(s.Context(), key, token); err != nil || got != want {
				s.Errorf("check %s at %d: %v, %v; want %v", key, token, got, err, want)
			}
		}
		check("k", 0, false)
		lease := s.acquire(m, "k")
		check("k", 0, true)
		check("k", 1, true)
		check("k", 2, false)
		check("k/below", 0, false)
		s.ok(lease.Release())
		check("k", 0, false)
		check("k", 1, false)
		if s.Kill != nil {
			dying, l := s.manager()
			s.acquire(dying, "k")
			check("k", 2, true)
			s.Kill(l)
			check("k", 2, false)
		}
	}},

	{"hand over", "a one-shot acquisition ends with the holder asked for, at the generation that it took, in the order asked", func(s *suite) {
		m, l := s.manager()
		recs, err := m.AcquireFor(s.Context(), fslease.Request{Keys: keys("b", "a", "a/below"), Note: "by hand"}, fslease.Handover{Holder: stranger(), TTL: time.Minute})
		s.ok(err)
		if len(recs) != 2 || recs[0].Key != "b" || recs[1].Key != "a" {
			s.Fatalf("handed over %+v", recs)
		}
		for _, rec := range recs {
			cur := s.load(l, rec.Key).Current()
			if cur == nil || cur.Generation != 1 || cur.Holder.ID != stranger().ID || cur.TTL != time.Minute || cur.Note != "by hand" {
				s.Errorf("on record for %s: %+v", rec.Key, cur)
			}
		}
		s.refused(m, "b")
	}},

	{"hand over behind a fence", "a one-shot acquisition that cannot have the fence gives back what it took", func(s *suite) {
		m, l := s.manager()
		f := s.fence(s.Open(), "k")
		_, err := m.AcquireFor(s.Context(), fslease.Request{Keys: keys("k")}, fslease.Handover{Holder: stranger(), TTL: time.Minute})
		var held *fslease.HeldError
		if !errors.As(err, &held) || held.Blocking != nil {
			s.Errorf("behind a fence: %+v (%T)", err, err)
		}
		if st := s.load(l, "k"); st.Current() != nil {
			s.Errorf("left behind: %+v", st.Lease)
		}
		done := async(func() error {
			_, err := m.AcquireFor(s.hang(), fslease.Request{Keys: keys("k"), Wait: fslease.Forever}, fslease.Handover{Holder: stranger(), TTL: time.Minute})
			return err
		})
		stays(s, done, "an acquisition that waits for the fence")
		s.ok(f.Unlock())
		s.ok(wait(s, done, "the fence to be had"))
		s.ok(s.fence(l, "k").Unlock()) // and dropped
	}},

	{"transfer", "a transfer gives the key to another holder at a new generation without its ever being free, once no work is left under it", func(s *suite) {
		m, l := s.manager()
		lease := s.acquire(m, "k")
		f := s.fence(s.Open(), "k")
		_, err := m.Transfer(s.Context(), "k", 1, fslease.Handover{Holder: stranger()}, 0, nil)
		s.is(err, fslease.ErrHeld)
		s.ok(lease.Renew(s.Context()))
		s.ok(f.Unlock())
		rec, err := m.Transfer(s.Context(), "k", 1, fslease.Handover{Holder: stranger()}, 0, nil)
		s.ok(err)
		st := s.load(l, "k")
		if cur := st.Current(); rec.Generation != 2 || cur == nil || cur.Generation != 2 || cur.Holder.ID != stranger().ID || cur.Revision <= lease.Records()[0].Revision {
			s.Errorf("transferred as %+v, on record %+v", rec, cur)
		}
		if st.Tomb == nil || st.Tomb.Reason != fslease.ReasonTransferred || st.Tomb.Generation != 1 || st.Tomb.Unclean != 0 {
			s.Errorf("tombstone %+v", st.Tomb)
		}
		s.refusedToken("the old holder's renewal", lease.Renew(s.Context()), 2)
		s.ok(s.fence(l, "k").Unlock())
	}},

	{"break", "breaking takes a lease away from whoever holds it, if it is still as it was judged; the next generation is higher", func(s *suite) {
		m, l := s.manager()
		if broken, err := m.Break(s.Context(), "k", "test", nil); err != nil || broken != nil {
			s.Errorf("broke %+v, %v, where nothing was held", broken, err)
		}
		s.acquire(m, "k")
		if broken, err := m.Break(s.Context(), "k", "test", func(fslease.Record) bool { return false }); err != nil || broken != nil {
			s.Errorf("broke %+v, %v, against the judgement", broken, err)
		}
		broken, err := m.Break(s.Context(), "k", "test", func(r fslease.Record) bool { return r.Generation == 1 })
		s.ok(err)
		if st := s.load(l, "k"); broken == nil || st.Current() != nil || st.Tomb.Reason != fslease.ReasonBroken || st.Tomb.Unclean != 1 {
			s.Errorf("broke %+v, on record %+v", broken, st)
		}
		s.holds(s.acquire(m, "k"), 2)
	}},

	{"fenced", "work under a token has the fence; inside work that has it already it joins", func(s *suite) {
		m, l := s.manager()
		lease := s.acquire(m, "k")
		f, err := m.Fenced(s.Context(), "k", lease.Token(), false, nil)
		s.ok(err)
		if other, _, err := l.TryFence(s.Context(), keys("k")); other != nil || err != nil {
			s.Errorf("the fence is free: %v", err)
		}
		joined, err := m.Fenced(s.Context(), "k", lease.Token(), true, nil)
		s.ok(err)
		if joined != nil {
			s.Error("who joins has a fence of its own")
		}
		s.ok(f.Unlock())
		s.ok(lease.Release())
	}},
}

func (s *suite) refusedToken(what string, err error, current int64) {
	s.Helper()
	if lost := s.lost(what, err); lost.Current != current || lost.Reason == "" {
		s.Errorf("%s: %+v, want the current generation %d and a reason", what, lost, current)
	}
}
