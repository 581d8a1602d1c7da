package fslease

import (
	"context"
	"time"
)

// RunFenced runs fn under the lease's fence: no work under another lease on an overlapping key runs
// meanwhile, and none of an earlier one is left. It waits for the fence until ctx ends or the lease is
// lost, checks that the token is still current, and calls fn with it. If the lease is lost or given up
// while fn runs, fn's context is cancelled with the *LostError as its cause; the fence is kept until fn returns. It
// returns what fn returned, or the *LostError if the lease was lost.
func (l *Lease) RunFenced(ctx context.Context, fn func(ctx context.Context, token int64) error) error {
	if err := l.enterFence(ctx); err != nil {
		return err
	}
	defer l.leaveFence()
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-l.lost:
			cancel(l.Err())
		case <-l.done:
			cancel(l.givenUp())
		case <-work.Done():
		}
	}()
	err := fn(work, l.Token())
	if lost := l.Err(); lost != nil {
		return lost
	}
	return err
}

// Fence returns the fence that the lease holds, nil if it holds none.
func (l *Lease) Fence() Fence {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fence
}

// Unfence frees the fence, for everybody who inherited it too. Only work that has ended by itself, with
// nothing of it left, may be unfenced.
func (l *Lease) Unfence() error {
	l.mu.Lock()
	fence := l.fence
	l.fence, l.fenceUse, l.keeps = nil, 0, false
	l.mu.Unlock()
	if fence == nil {
		return nil
	}
	return fence.Unlock()
}

// enterFence takes the fence, or joins it if this lease holds it already.
func (l *Lease) enterFence(ctx context.Context) error {
	l.mu.Lock()
	if l.fence != nil {
		l.fenceUse++
		l.mu.Unlock()
		err := l.verify(ctx)
		if err != nil {
			l.leaveFence()
		}
		return err
	}
	l.mu.Unlock()
	return l.awaitFence(ctx, false, Forever, nil)
}

func (l *Lease) leaveFence() {
	l.mu.Lock()
	var fence Fence
	if l.fenceUse--; l.fenceUse == 0 {
		fence, l.fence = l.fence, nil
	}
	l.mu.Unlock()
	if fence != nil {
		_ = fence.Unlock()
	}
}

// awaitFence takes the fence within limit (0: at once or not at all), then reads the records again under
// the lock: work starts only under a token that is current. The end of the lease ends the wait. With keep
// the lease itself keeps the fence until it is released.
func (l *Lease) awaitFence(caller context.Context, keep bool, limit time.Duration, tell func(*HeldError)) error {
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	go func() {
		select {
		case <-l.lost:
			cancel(l.Err())
		case <-l.done:
			if caller.Err() == nil { // else the lease was given up because the caller's context ended
				cancel(l.givenUp())
			}
		case <-ctx.Done():
		}
	}()
	fence, err := l.m.awaitFence(ctx, l.fenced, limit, l.waker, tell)
	if err != nil {
		return err
	}
	if err := l.verify(ctx); err != nil {
		_ = fence.Unlock()
		return err
	}
	l.mu.Lock()
	released := l.released
	if !released {
		l.fence, l.fenceUse, l.keeps = fence, l.fenceUse+1, keep
	}
	l.mu.Unlock()
	if released {
		_ = fence.Unlock()
		return l.givenUp()
	}
	return nil
}

func (l *Lease) givenUp() error {
	return &LostError{Key: l.keys[0], Generation: l.Token(), Reason: string(ReasonReleased)}
}

// verify reads the records under the lock and fails with a *LostError if one is not current.
func (l *Lease) verify(ctx context.Context) error {
	return l.m.ledger.Update(ctx, l.tenure.keys(), func(tx Tx) error { return l.tenure.check(tx, l.Records()) })
}

// A fencing is what the fence is to be of: keys, and for work under leases of others, which are not buried before it begins, those leases.
type fencing struct {
	keys []Key
	of   []Record
}

// tryFence is TryFence that also looks for commands which work under the leases of others and gave their fence up. Their
// holders may be dead, and nobody has noticed it yet.
func (m *Manager) tryFence(ctx context.Context, want fencing) (Fence, []Keeper, error) {
	fence, keepers, err := m.ledger.TryFence(ctx, want.keys)
	if fence == nil {
		return nil, keepers, err
	}
	for _, rec := range want.of {
		k, err := m.ledger.Working(rec.Holder)
		if k != nil {
			k.Key = rec.Key
			keepers = append(keepers, *k)
		}
		if err != nil {
			_ = fence.Unlock()
			return nil, nil, err
		}
	}
	if len(keepers) > 0 {
		_ = fence.Unlock()
		return nil, keepers, nil
	}
	return fence, nil, nil
}

// awaitFence waits until the fence is had, nobody keeps it and no orphan runs under its keys.
func (m *Manager) awaitFence(ctx context.Context, want fencing, limit time.Duration, waker Waker, tell func(*HeldError)) (Fence, error) {
	start := m.mono()
	for {
		fence, keepers, err := m.tryFence(ctx, want)
		if err != nil || fence != nil {
			return fence, err
		}
		held := heldByFence(want.keys, keepers)
		if held.Own {
			return nil, held
		}
		left := limit - (m.mono() - start)
		if limit >= 0 && left <= 0 {
			held.WaitedFor = limit
			return nil, held
		}
		if tell != nil {
			tell(held)
		}
		if waker == nil {
			waker = m.ledger.NewWaker()
			defer func() { _ = waker.Close() }()
		}
		waker.Watch(Interest{Keepers: keepers})
		if fence, _, err := m.tryFence(ctx, want); err != nil || fence != nil {
			return fence, err
		}
		if err := m.sleep(ctx, waker, shortest(waker.Poll(), left)); err != nil {
			return nil, err
		}
	}
}
