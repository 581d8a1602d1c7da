package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fslease/fslease"
)

var waitCases = []testCase{
	{"release", "who waits gets the key when it is released", func(s *suite) {
		a, _ := s.manager()
		lease := s.acquire(a, "repo/api")
		for _, k := range []string{"repo", "repo/api/v2"} {
			m, _ := s.manager()
			done := s.waitFor(m, k)
			stays(s, done, "waiting for "+k)
			s.ok(lease.Release())
			s.ok(wait(s, done, "the key to be had"))
			lease = s.acquire(a, "repo/api")
		}
		s.ok(lease.Release())
	}},

	{"death", "who waits gets the key when its holder dies", func(s *suite) {
		s.need(s.Kill != nil, "Kill")
		a, l := s.manager()
		s.acquire(a, "k")
		m, _ := s.manager()
		done := s.waitFor(m, "k")
		stays(s, done, "waiting")
		s.Kill(l)
		s.ok(wait(s, done, "the key to be had"))
	}},

	{"in order", "waiters of overlapping keys get them in the order in which they came, and one who does not wait does not barge in", func(s *suite) {
		a, l := s.manager()
		lease := s.acquire(a, "repo/api")
		var mu sync.Mutex
		var order []int
		var all []<-chan error
		hold := make(chan struct{})
		for i, k := range []string{"repo/api", "repo", "repo/api/v2", "repo/api"} {
			m, _ := s.manager()
			all = append(all, async(func() error {
				lease, err := s.keep(m.AcquireWait(s.hang(), k))
				if err != nil {
					return err
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				<-hold
				return lease.Release()
			}))
			s.queued(l, i+1)
		}
		barging, _ := s.manager()
		s.ok(lease.Release())
		if held := s.refused(barging, "repo/api/v2"); held.Blocking == nil && held.Waiter == nil {
			s.Errorf("refused with %+v", held)
		}
		close(hold)
		for _, done := range all {
			s.ok(wait(s, done, "a waiter to have its turn"))
		}
		if got := fmt.Sprint(order); got != "[0 1 2 3]" {
			s.Errorf("served in the order %s", got)
		}
		s.queued(l, 0)
	}},

	{"no overlap", "waiters whose keys do not overlap do not wait for each other", func(s *suite) {
		a, l := s.manager()
		lease := s.acquire(a, "repo/api")
		m, _ := s.manager()
		done := s.waitFor(m, "repo/api")
		s.queued(l, 1)
		for _, k := range []string{"repo/web", "repo/api2"} {
			s.ok(s.acquire(a, k).Release())
		}
		s.ok(lease.Release())
		s.ok(wait(s, done, "the key to be had"))
	}},

	{"give up", "a waiter whose context ends leaves the queue, takes nothing, and returns the cause", func(s *suite) {
		a, l := s.manager()
		lease := s.acquire(a, "k")
		m, _ := s.manager()
		ctx, cancel := context.WithCancelCause(s.hang())
		done := async(func() error { _, err := m.AcquireWait(ctx, "k"); return err })
		s.queued(l, 1)
		enough := errors.New("enough")
		cancel(enough)
		s.is(wait(s, done, "the waiter to give up"), enough)
		s.queued(l, 0)
		s.ok(lease.Release())
		s.holds(s.acquire(a, "k"), 2)
	}},

	{"limit", "a waiter with a limit is refused after it and not before", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		l := s.Open()
		s.grant(l, "k", s.announce(l), 0)
		m, _ := s.manager()
		done := async(func() error {
			_, err := m.AcquireRequest(s.hang(), fslease.Request{Keys: keys("k"), Wait: 10 * time.Minute})
			return err
		})
		s.queued(l, 1)
		for range 39 {
			s.Advance(15 * time.Second)
			time.Sleep(time.Millisecond)
		}
		stays(s, done, "a wait of ten minutes, after 9:45")
		s.Advance(15 * time.Second)
		err := wait(s, done, "the wait to end")
		var held *fslease.HeldError
		if !errors.As(err, &held) || held.WaitedFor != 10*time.Minute {
			s.Errorf("ended with %+v", err)
		}
		s.queued(l, 0)
	}},

	{"dead waiter", "a dead waiter is skipped and taken out of the queue", func(s *suite) {
		s.need(s.Kill != nil, "Kill")
		dying := s.Open()
		h := s.announce(dying)
		s.update(dying, func(tx fslease.Tx) error {
			_, err := tx.Enqueue(fslease.Waiter{Keys: keys("k"), Holder: h, Since: tx.Now().Wall})
			return err
		}, "k")
		m, l := s.manager()
		if held := s.refused(m, "k"); held.Waiter == nil || held.Waiter.Holder.ID != h.ID {
			s.Errorf("behind a living waiter: %+v", held)
		}
		s.Kill(dying)
		s.ok(s.acquire(m, "k").Release())
		s.queued(l, 0)
	}},

	{"sleeping waiter", "a waiter that does not take its turn for five seconds is passed over until it wakes", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		sleeping := s.enqueue("k")
		m, l := s.manager()
		s.refused(m, "k") // noted from here on
		s.Advance(fslease.TurnPatience - time.Nanosecond)
		s.refused(m, "k")
		s.Advance(time.Nanosecond)
		s.ok(s.acquire(m, "k").Release())
		s.ok(l.ClearTurn(sleeping))
		s.refused(m, "k")
	}},

	{"waiter in another line", "a waiter whose turn has not come in another of its keys does not sleep, and keeps its place", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		m, l := s.manager()
		s.grant(l, "repo/t", s.announce(l), 0)
		s.enqueue("repo")
		both := s.enqueue("repo-x", "repo/api")
		for range 2 {
			if held := s.refused(m, "repo-x"); held.Waiter == nil || held.Waiter.Holder.ID != both.Holder.ID {
				s.Errorf("refused with %+v", held)
			}
			s.Advance(fslease.TurnPatience)
		}
		if s.turn(both) != nil {
			s.Error("it is said not to have taken its turn")
		}
	}},

	{"sleeping row", "of waiters that sleep one behind the other each is passed over, though the first waits for nothing of the caller's", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		first, second := s.enqueue("a"), s.enqueue("a", "b")
		m, _ := s.manager()
		s.refused(m, "b")
		if s.turn(first) == nil || s.turn(second) != nil {
			s.Errorf("noted of the first: %v, of the second: %v", s.turn(first), s.turn(second))
		}
		s.Advance(fslease.TurnPatience)
		s.refused(m, "b")
		s.Advance(fslease.TurnPatience)
		s.ok(s.acquire(m, "b").Release())
	}},

	{"sleeping under a lease", "a sleeping waiter that runs under a lease has nobody ahead of it", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		s.enqueue("a")
		l := s.Open()
		h := s.announce(l)
		s.update(l, func(tx fslease.Tx) error {
			_, err := tx.Enqueue(fslease.Waiter{Keys: keys("a", "b"), Holder: h, Since: tx.Now().Wall, Holds: []string{s.announce(s.Open()).ID}})
			return err
		}, "a", "b")
		m, _ := s.manager()
		s.refused(m, "b")
		s.Advance(fslease.TurnPatience)
		s.ok(s.acquire(m, "b").Release())
	}},

	{"for oneself", "who would wait for a lease that it runs under is refused at once with the reason", func(s *suite) {
		a, _ := s.manager()
		lease := s.acquire(a, "repo")
		for _, k := range keys("repo", "repo/api") {
			_, err := a.AcquireRequest(s.hang(), fslease.Request{Keys: []fslease.Key{k}, Wait: fslease.Forever, Under: map[fslease.Key]int64{"repo": lease.Token()}})
			var held *fslease.HeldError
			if !errors.As(err, &held) || held.Reason == "" {
				s.Errorf("%s: %v (%T), want to be refused with the reason", k, err, err)
			}
		}
		self, err := fslease.NewManager(s.Open(), fslease.Options{Kin: func(h fslease.Holder) bool { return h.ID == lease.Holder().ID }})
		s.ok(err)
		_, err = self.AcquireWait(s.hang(), "repo")
		var held *fslease.HeldError
		if !errors.As(err, &held) || held.Reason == "" {
			s.Errorf("a holder that is the caller's kin: %v (%T), want to be refused with the reason", err, err)
		}
	}},

	{"under a lease", "who runs under a lease passes the queue, whose head may wait for that very lease, but never a lease", func(s *suite) {
		a, l := s.manager()
		lease := s.acquire(a, "a")
		waiting, _ := s.manager()
		done := s.waitFor(waiting, "a", "b")
		s.queued(l, 2)
		other, _ := s.manager()
		s.refused(other, "b")
		more, err := s.keep(a.AcquireRequest(s.Context(), fslease.Request{Keys: keys("b"), Under: map[fslease.Key]int64{"a": lease.Token()}}))
		s.ok(err)
		s.ok(more.Release())
		s.ok(lease.Release())
		s.ok(wait(s, done, "the waiter to have its turn"))
	}},

	{"circle", "of two holders who ask crosswise for each other's keys, the one that closes the circle is refused with the reason, and the other gets its turn", func(s *suite) {
		a, l := s.manager()
		b, _ := s.manager()
		onA, onB := s.acquire(a, "a"), s.acquire(b, "b")
		first := async(func() error {
			lease, err := s.keep(a.AcquireRequest(s.hang(), fslease.Request{Keys: keys("b"), Wait: fslease.Forever, Under: map[fslease.Key]int64{"a": onA.Token()}}))
			if err != nil {
				return err
			}
			return lease.Release()
		})
		s.queued(l, 1)
		second := async(func() error {
			_, err := b.AcquireRequest(s.hang(), fslease.Request{Keys: keys("a"), Wait: fslease.Forever, Under: map[fslease.Key]int64{"b": onB.Token()}})
			return err
		})
		err := wait(s, second, "the one who closes the circle to be refused")
		var held *fslease.HeldError
		if !errors.As(err, &held) || held.Reason == "" {
			s.Errorf("who closes the circle: %v (%T), want to be refused with the reason", err, err)
		}
		stays(s, first, "the first of the circle")
		s.ok(onB.Release())
		s.ok(wait(s, first, "the other to have its turn"))
		s.ok(onA.Release())
	}},

	{"told", "who waits is told who is in the way, again when that changes", func(s *suite) {
		a, l := s.manager()
		lease := s.acquire(a, "k")
		told := make(chan *fslease.HeldError, 100)
		m, _ := s.manager()
		done := async(func() error {
			lease, err := s.keep(m.AcquireRequest(s.hang(), fslease.Request{Keys: keys("k"), Wait: fslease.Forever, Waiting: func(h *fslease.HeldError) { told <- h }}))
			if err != nil {
				return err
			}
			return lease.Release()
		})
		if h := wait(s, told, "to be told"); h.Blocking == nil || h.Blocking.Holder.ID != lease.Holder().ID {
			s.Errorf("told %+v", h)
		}
		s.queued(l, 1)
		s.ok(lease.Release())
		s.ok(wait(s, done, "the key to be had"))
	}},
}

// waitFor waits for keys on m and gives them back once they are had.
func (s *suite) waitFor(m *fslease.Manager, names ...string) <-chan error {
	ctx := s.hang()
	return async(func() error {
		lease, err := s.keep(m.AcquireWait(ctx, names...))
		if err != nil {
			return err
		}
		return lease.Release()
	})
}

// turn is since when w is noted not to have taken its turn, nil if it is not.
func (s *suite) turn(w fslease.Waiter) *fslease.Instant {
	s.Helper()
	now, err := s.Open().View(s.Context()).Waiter(fslease.Place{Key: w.Keys[0], Number: w.Number})
	s.ok(err)
	if now == nil {
		s.Fatalf("%v has left the queue", w.Keys)
	}
	return now.Turn
}

// queued waits until there are n places in all queues.
func (s *suite) queued(l fslease.Ledger, n int) {
	s.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		places, err := l.View(s.Context()).Places()
		s.ok(err)
		if len(places) == n {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("places %v, waited in vain for %d", places, n)
		}
	}
}
