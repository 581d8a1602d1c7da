package fslease

import (
	"context"
	"slices"
	"time"
)

// await returns when it looks as if the keys could be had, or waiting has ended. It subscribes, then
// reads, then waits; it takes no lock. f is what the last try found.
func (a *acquisition) await(ctx context.Context, f finding) error {
	if a.waker == nil {
		a.waker = a.m.ledger.NewWaker()
	}
	view := a.m.ledger.View(ctx)
	watched := f.interest
	a.waker.Watch(watched)
	for {
		var err error
		if f, err = a.survey(view); err != nil {
			return err
		}
		switch {
		case f.held == nil:
			return nil
		case f.refused:
			return f.held
		case !f.interest.same(watched):
			watched = f.interest
			a.waker.Watch(watched)
			continue
		}
		left, ok := a.limit()
		if !ok {
			f.held.WaitedFor = a.req.Wait
			return f.held
		}
		if a.req.Waiting != nil {
			a.req.Waiting(f.held)
		}
		if err := a.m.sleep(ctx, a.waker, shortest(a.waker.Poll(), f.recheck, left)); err != nil {
			return err
		}
	}
}

// sleep waits for a hint or for d, and fails only when ctx ends, with its cause.
func (m *Manager) sleep(ctx context.Context, w Waker, d time.Duration) error {
	timer, stop := m.ledger.Clock().After(d)
	defer stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.C():
	case <-timer:
	}
	return nil
}

// shortest returns the smallest of the positive ones.
func shortest(ds ...time.Duration) time.Duration {
	var least time.Duration
	for _, d := range ds {
		if d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// same reports whether i and j watch the same things.
func (i Interest) same(j Interest) bool {
	ahead := i.Ahead == nil && j.Ahead == nil ||
		i.Ahead != nil && j.Ahead != nil && i.Ahead.Number == j.Ahead.Number && i.Ahead.Holder.ID == j.Ahead.Holder.ID
	return ahead && slices.Equal(i.Keys, j.Keys) &&
		slices.Equal(identities(i.Holders), identities(j.Holders)) &&
		slices.EqualFunc(i.Keepers, j.Keepers, func(x, y Keeper) bool { return x.PID == y.PID && x.Orphan == y.Orphan })
}
