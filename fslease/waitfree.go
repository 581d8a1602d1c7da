package fslease

import (
	"context"
	"time"
)

// WaitFree waits until nothing that overlaps key is held and nobody keeps a fence in its way, for at most
// wait (0: it looks once; Forever), and fails with a *HeldError otherwise. It takes no place in the queue
// and reserves nothing: somebody else may have the key before it returns.
func (m *Manager) WaitFree(ctx context.Context, key Key, wait time.Duration, under map[Key]int64, tell func(*HeldError)) error {
	a := &acquisition{m: m, keys: []Key{key}, req: Request{Wait: wait, Under: under}, seen: map[Key]Sighting{}, start: m.mono()}
	view := m.ledger.View(ctx)
	waker := m.ledger.NewWaker()
	defer func() { _ = waker.Close() }()
	var watched Interest
	for first := true; ; first = false {
		f, err := a.surveyFree(view, key)
		if err != nil || f.held == nil {
			return err
		}
		left, ok := a.limit()
		if f.refused || !ok {
			if !f.refused {
				f.held.WaitedFor = max(wait, 0)
			}
			return f.held
		}
		if first || !f.interest.same(watched) {
			watched = f.interest
			waker.Watch(watched)
			continue // what changed before the watch began is seen now
		}
		if tell != nil {
			tell(f.held)
		}
		if err := m.sleep(ctx, waker, shortest(waker.Poll(), f.recheck, left)); err != nil {
			return err
		}
	}
}

// surveyFree looks for leases in the way, and then for who keeps the fence.
func (a *acquisition) surveyFree(view Reader, key Key) (finding, error) {
	f, err := a.surveyLeases(view)
	if err != nil || f.held != nil {
		a.refuseOwnFence(&f)
		return f, err
	}
	keepers, err := view.Keepers(key)
	if err == nil && len(keepers) > 0 {
		f.held = heldByFence(a.keys, keepers)
		f.refused = f.held.Own
		f.interest = Interest{Keepers: keepers}
	}
	return f, err
}

// BreakIfSilent breaks the lease of key if it is not renewed for silence from now on, and fails with a
// *HeldError as soon as it is. It returns nil if nothing was held.
func (m *Manager) BreakIfSilent(ctx context.Context, key Key, why string, silence time.Duration) (*Record, error) {
	var seen *Record
	same := func(r Record) bool { return r.Generation == seen.Generation && r.Revision == seen.Revision }
	view, start := m.ledger.View(ctx), m.mono()
	silent, err := m.untilSilent(ctx, key, silence, func() (bool, error) {
		st, err := view.Load(key)
		cur := st.Current()
		if err != nil || cur == nil {
			return false, err
		}
		if seen == nil {
			seen = cur
		}
		if !same(*cur) {
			return false, &HeldError{Key: key, Blocking: cur, Verdict: m.ledger.Probe(cur.Holder), WaitedFor: m.mono() - start}
		}
		return true, nil
	})
	if err != nil || !silent {
		return nil, err
	}
	return m.Break(ctx, key, why, same)
}

// untilSilent calls look again and again, until it was true for all of silence, or is not, or fails.
func (m *Manager) untilSilent(ctx context.Context, key Key, silence time.Duration, look func() (bool, error)) (bool, error) {
	start := m.mono()
	waker := m.ledger.NewWaker()
	defer func() { _ = waker.Close() }()
	waker.Watch(Interest{Keys: []Key{key}})
	for {
		there, err := look()
		if err != nil || !there {
			return false, err
		}
		left := silence - (m.mono() - start)
		if left <= 0 {
			return true, nil
		}
		if err := m.sleep(ctx, waker, shortest(waker.Poll(), left)); err != nil {
			return false, err
		}
	}
}
