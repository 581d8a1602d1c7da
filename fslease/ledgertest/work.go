package ledgertest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"fslease/fslease"
)

var workCases = []testCase{
	{"token", "work is called with the current token, under the fence, and its error is returned", func(s *suite) {
		m, l := s.manager()
		s.ok(s.acquire(m, "k").Release())
		lease := s.acquire(m, "k")
		enough := errors.New("enough")
		s.is(lease.RunFenced(s.Context(), func(ctx context.Context, token int64) error {
			if token != 2 || ctx.Err() != nil {
				s.Errorf("token %d, context %v", token, ctx.Err())
			}
			if f, _, err := l.TryFence(ctx, keys("k")); f != nil || err != nil {
				s.Errorf("another one has the fence too: %v", err)
			}
			s.ok(lease.RunFenced(ctx, func(context.Context, int64) error { return nil })) // joins
			return enough
		}), enough)
		s.ok(s.fence(l, "k").Unlock())
		s.ok(lease.Release())
		s.lost("work under a released lease", lease.RunFenced(s.Context(), func(context.Context, int64) error { s.Error("it runs"); return nil }))
		s.ok(s.fence(l, "k").Unlock())
	}},

	{"lost", "work whose lease is lost is told by its context, and the successor's work begins only when it has returned", func(s *suite) {
		for _, k := range []string{"repo/api", "repo", "repo/api/v2"} {
			a, _ := s.manager()
			b, _ := s.manager()
			lease := s.acquire(a, "repo/api")
			w := s.work(lease)
			_, err := b.Break(s.Context(), "repo/api", "test", nil)
			s.ok(err)
			successor := s.acquire(b, k)
			next := async(func() error {
				return successor.RunFenced(s.hang(), func(context.Context, int64) error {
					if !w.ended.Load() {
						s.Error("it runs beside the work of its predecessor")
					}
					return nil
				})
			})
			stays(s, next, "the successor's work")
			s.lost("renewal", lease.Renew(s.Context()))
			wait(s, w.ctx.Done(), "the work to be told")
			s.lost("cause", context.Cause(w.ctx))
			stays(s, next, "the successor's work")
			w.end()
			s.lost("RunFenced", wait(s, w.done, "the work to end"))
			s.ok(wait(s, next, "the successor's work"))
			s.ok(successor.Release())
			_ = lease.Release()
		}
	}},

	{"released meanwhile", "work that goes on when its lease is given up, by Release or by the end of its context, is told, and keeps the fence until it returns", func(s *suite) {
		for _, how := range []string{"Release", "context"} {
			a, _ := s.manager()
			b, _ := s.manager()
			ctx, cancel := context.WithCancel(s.Context())
			lease, err := s.keep(a.Acquire(ctx, "k"))
			s.ok(err)
			w := s.work(lease)
			if how == "context" {
				cancel()
			} else {
				s.ok(lease.Release())
			}
			wait(s, w.ctx.Done(), "the work to be told")
			s.lost("the work", context.Cause(w.ctx))
			successor, err := s.keep(b.AcquireWait(s.hang(), "k"))
			s.ok(err)
			next := async(func() error {
				return successor.RunFenced(s.hang(), func(context.Context, int64) error {
					if !w.ended.Load() {
						s.Errorf("given up by %s: the successor's work runs beside the one that has not returned", how)
					}
					return nil
				})
			})
			stays(s, next, "the successor's work")
			w.end()
			wait(s, w.done, "the work to end")
			s.ok(wait(s, next, "the successor's work"))
			s.ok(successor.Release())
			cancel()
		}
	}},

	{"outlived", "a killed holder's lease is free at once, but work under it begins only when what the holder started is gone", func(s *suite) {
		s.need(s.Kill != nil && s.Fork != nil, "Kill and Fork")
		a, l := s.manager()
		lease, err := s.keep(a.AcquireRequest(s.Context(), fslease.Request{Keys: keys("repo"), Fence: true}))
		s.ok(err)
		s.holds(lease, 1)
		killChild := s.Fork(l)
		s.Kill(l)
		b, _ := s.manager()
		var none time.Duration
		_, err = b.AcquireRequest(s.Context(), fslease.Request{Keys: keys("repo/api"), Fence: true, Wait: fslease.Forever, FenceWait: &none})
		var held *fslease.HeldError
		if !errors.As(err, &held) || held.Blocking != nil || len(held.Keepers) == 0 || held.Keepers[0].PID == 0 {
			s.Errorf("without waiting for the fence: %+v (%T), want to be told who keeps it", err, err)
		}
		if cur := s.load(l, "repo/api").Current(); cur != nil {
			s.Errorf("the lease was not given back: %+v", cur)
		}
		done := async(func() error {
			lease, err := s.keep(b.AcquireRequest(s.hang(), fslease.Request{Keys: keys("repo/api"), Fence: true, Wait: fslease.Forever}))
			if err != nil {
				return err
			}
			return lease.Release()
		})
		stays(s, done, "the successor")
		killChild()
		s.ok(wait(s, done, "the successor's turn"))
	}},

	{"ended while waiting", "who loses the lease, or gives it up, while it waits for the fence does not begin and waits no longer", func(s *suite) {
		for _, how := range []string{"loss", "release"} {
			a, l := s.manager()
			f := s.fence(l, "k")
			lease := s.acquire(a, "k")
			done := async(func() error {
				return lease.RunFenced(s.hang(), func(context.Context, int64) error { s.Error("it runs"); return nil })
			})
			stays(s, done, "work that waits for the fence")
			if how == "release" {
				s.ok(lease.Release())
			} else {
				_, err := a.Break(s.Context(), "k", "test", nil)
				s.ok(err)
				s.lost("renewal", lease.Renew(s.Context()))
			}
			s.lost("RunFenced after "+how, wait(s, done, "the wait to end"))
			s.ok(f.Unlock())
			s.ok(s.fence(l, "k").Unlock())
		}
	}},

	{"checked", "the token is checked once the fence is had: work does not begin under one that was lost unnoticed", func(s *suite) {
		a, l := s.manager()
		f := s.fence(l, "k")
		lease := s.acquire(a, "k")
		done := async(func() error {
			return lease.RunFenced(s.hang(), func(context.Context, int64) error { s.Error("it runs"); return nil })
		})
		stays(s, done, "work that waits for the fence")
		_, err := a.Break(s.Context(), "k", "test", nil)
		s.ok(err)
		s.ok(f.Unlock())
		s.lost("RunFenced", wait(s, done, "the wait to end"))
		s.ok(s.fence(l, "k").Unlock())
	}},

	{"given up while waiting", "a request whose context ends while it waits for the fence gives the lease back and returns the cause", func(s *suite) {
		a, l := s.manager()
		f := s.fence(l, "k")
		ctx, cancel := context.WithCancelCause(s.Context())
		enough := errors.New("enough")
		done := async(func() error {
			_, err := a.AcquireRequest(ctx, fslease.Request{Keys: keys("k"), Wait: fslease.Forever, Fence: true})
			return err
		})
		stays(s, done, "a request that waits for the fence")
		cancel(enough)
		s.is(wait(s, done, "the wait to end"), enough)
		if st := s.load(l, "k"); st.Current() != nil || st.Tomb == nil || st.Tomb.Reason != fslease.ReasonReleased {
			s.Errorf("on record: %+v", st)
		}
		s.ok(f.Unlock())
	}},

	{"killed", "who cannot renew is told before its TTL ends, when somebody else may enter", func(s *suite) {
		s.need(s.Kill != nil && s.Advance != nil, "Kill and Advance")
		a, l := s.manager()
		lease := s.acquire(a, "k")
		w := s.work(lease)
		s.Kill(l) // from here on nothing it writes arrives
		for range 55 {
			s.Advance(time.Second)
			time.Sleep(2 * time.Millisecond)
		}
		wait(s, w.ctx.Done(), "the work to be told")
		if lost := s.lost("cause", context.Cause(w.ctx)); lost.Reason != fslease.ReasonCannotRenew || lost.Err == nil {
			s.Errorf("told %+v", lost)
		}
		w.end()
		wait(s, w.done, "the work to end")
	}},

	{"exclude", "work under leases that follow each other never runs together", func(s *suite) {
		managers := make([]*fslease.Manager, 8)
		for i := range managers {
			managers[i], _ = s.manager()
		}
		ctx := s.hang()
		var in atomic.Int64
		s.race(8, func(i int) {
			for range 5 {
				lease, err := s.keep(managers[i].AcquireWait(ctx, []string{"repo", "repo/api"}[i%2]))
				if err != nil {
					s.Error(err)
					return
				}
				err = lease.RunFenced(ctx, func(context.Context, int64) error {
					if n := in.Add(1); n > 1 {
						s.Errorf("%d run together", n)
					}
					time.Sleep(100 * time.Microsecond)
					in.Add(-1)
					return nil
				})
				if err != nil {
					s.Error(err)
				}
				if err := lease.Release(); err != nil {
					s.Error(err)
				}
			}
		})
	}},
}

// A piece of work runs under a lease until it is told to end, whatever its context says.
type pieceOfWork struct {
	ctx   context.Context
	end   func()
	ended atomic.Bool
	done  <-chan error
}

func (s *suite) work(lease *fslease.Lease) *pieceOfWork {
	s.Helper()
	w := &pieceOfWork{}
	begun, end := make(chan context.Context), make(chan struct{})
	w.done = async(func() error {
		return lease.RunFenced(s.hang(), func(ctx context.Context, _ int64) error {
			begun <- ctx
			<-end
			w.ended.Store(true)
			return nil
		})
	})
	w.end = func() { close(end) }
	w.ctx = wait(s, begun, "the work to begin")
	return w
}
