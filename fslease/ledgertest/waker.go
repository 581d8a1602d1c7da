package ledgertest

import (
	"time"

	"fslease/fslease"
)

var wakerCases = []testCase{
	{"lease", "a waiter is woken when a lease it waits for is given up after Watch returned", func(s *suite) {
		l := s.Open()
		s.grant(l, "repo/api", s.announce(l), 0)
		s.woken(fslease.Interest{Keys: keys("repo/api")}, func() { s.bury(l, "repo/api", fslease.ReasonReleased) })
	}},

	{"removed", "a waiter is woken when a hand removes the lease it waits for", func(s *suite) {
		s.need(s.Plant != nil, "Plant")
		l := s.Open()
		s.grant(l, "k", s.announce(l), 0)
		s.woken(fslease.Interest{Keys: keys("k")}, func() { s.Plant("k", nil) })
	}},

	{"holder", "a waiter learns soon that a holder it waits for died", func(s *suite) {
		s.need(s.Kill != nil, "Kill")
		l := s.Open()
		h := s.announce(l)
		s.grant(l, "k", h, 0)
		s.told(fslease.Interest{Keys: keys("k"), Holders: []fslease.Holder{h}}, func() { s.Kill(l) })
	}},

	{"ahead", "a waiter is woken when the one before it leaves the queue", func(s *suite) {
		w := s.enqueue("a", "b")
		l := s.Open()
		s.woken(fslease.Interest{Ahead: &w}, func() { s.ok(l.Leave(w)) })
	}},

	{"ahead dies", "a waiter learns soon that the one before it died", func(s *suite) {
		s.need(s.Kill != nil, "Kill")
		l := s.Open()
		h := s.announce(l)
		var w fslease.Waiter
		s.update(l, func(tx fslease.Tx) (err error) {
			w, err = tx.Enqueue(fslease.Waiter{Keys: keys("k"), Holder: h})
			return err
		}, "k")
		s.told(fslease.Interest{Ahead: &w}, func() { s.Kill(l) })
	}},

	{"fence", "a waiter learns soon that a fence was freed", func(s *suite) {
		l := s.Open()
		f := s.fence(l, "k")
		_, keepers, err := s.Open().TryFence(s.Context(), keys("k"))
		s.ok(err)
		s.told(fslease.Interest{Keepers: keepers}, func() { s.ok(f.Unlock()) })
	}},

	{"watch again", "what is watched can change, and a waker that was closed watches nothing any more", func(s *suite) {
		l := s.Open()
		h := s.announce(l)
		for _, k := range keys("a", "b") {
			s.grant(l, k, h, 0)
		}
		w := s.Open().NewWaker()
		w.Watch(fslease.Interest{Keys: keys("a")})
		w.Watch(fslease.Interest{Keys: keys("b")})
		s.bury(l, "b", fslease.ReasonReleased)
		s.hint(w)
		s.ok(w.Close())
		w.Watch(fslease.Interest{Keys: keys("a"), Holders: []fslease.Holder{h}, Keepers: []fslease.Keeper{{PID: h.PID, Process: &h}}})
	}},
}

// woken checks that a change of records is not missed by somebody who watches i.
func (s *suite) woken(i fslease.Interest, change func()) {
	s.Helper()
	w := s.Open().NewWaker()
	defer func() { s.ok(w.Close()) }()
	w.Watch(i)
	change()
	s.hint(w)
}

// hint waits for a hint. A ledger that cannot notify looks again in less than a second instead.
func (s *suite) hint(w fslease.Waker) {
	s.Helper()
	select {
	case <-w.C():
	case <-time.After(patience / 6):
		if poll := w.Poll(); poll <= 0 || poll >= time.Second {
			s.Errorf("no hint came, and the next look is only after %s", poll)
		}
	}
}

// told is woken for what may leave no trace on record: there the next look may tell, if it comes soon.
func (s *suite) told(i fslease.Interest, change func()) {
	s.Helper()
	w := s.Open().NewWaker()
	defer func() { s.ok(w.Close()) }()
	w.Watch(i)
	change()
	select {
	case <-w.C():
	case <-time.After(200 * time.Millisecond):
		if poll := w.Poll(); poll <= 0 || poll > 5*time.Second {
			s.Errorf("no hint came, and the next look is only after %s", poll)
		}
	}
}
