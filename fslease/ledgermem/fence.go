package ledgermem

import (
	"context"
	"slices"

	"fslease/fslease"
)

// A fenceBody is what all who have one fence share.
type fenceBody struct {
	store *Store
	plan  []fslease.KeyLock
	parts []*Handle // the processes that have it; none: it is free
}

// A fence is one process's part of it.
type fence struct {
	body *fenceBody
	h    *Handle
}

// TryFence takes the fence of keys.
func (h *Handle) TryFence(_ context.Context, keys []fslease.Key) (fslease.Fence, []fslease.Keeper, error) {
	s := h.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := h.living(); err != nil {
		return nil, nil, err
	}
	plan := fslease.LockPlan(fslease.FoldKeys(keys))
	if keepers := s.keepers(plan); len(keepers) > 0 {
		return nil, keepers, nil
	}
	body := &fenceBody{store: s, plan: plan, parts: []*Handle{h}}
	s.fences[body] = true
	return &fence{body, h}, nil, nil
}

// keepers returns the processes that keep one from taking plan. The store is locked.
func (s *Store) keepers(plan []fslease.KeyLock) []fslease.Keeper {
	var keepers []fslease.Keeper
	for f := range s.fences {
		if !f.excludes(plan) {
			continue
		}
		for _, h := range f.parts {
			self := h.self
			keepers = append(keepers, fslease.Keeper{PID: self.PID, Name: self.User, Process: &self, Key: f.inTheWayOf(plan)})
		}
	}
	slices.SortFunc(keepers, func(a, b fslease.Keeper) int { return int(a.PID - b.PID) })
	return slices.CompactFunc(keepers, func(a, b fslease.Keeper) bool { return a.PID == b.PID })
}

// inTheWayOf returns the first key that plan wants for itself and f excludes.
func (f *fenceBody) inTheWayOf(plan []fslease.KeyLock) fslease.Key {
	for _, l := range plan {
		if l.Exclusive && f.excludes(fslease.LockPlan([]fslease.Key{l.Key})) {
			return l.Key
		}
	}
	return ""
}

// Working returns nil: the processes of this ledger start no commands.
func (h *Handle) Working(fslease.Holder) (*fslease.Keeper, error) { return nil, nil }

func (f *fenceBody) excludes(plan []fslease.KeyLock) bool {
	for _, a := range f.plan {
		for _, b := range plan {
			if a.Key == b.Key && (a.Exclusive || b.Exclusive) {
				return true
			}
		}
	}
	return false
}

func (f *fenceBody) keptBy(h *Handle) bool { return slices.Contains(f.parts, h) }

// leave gives up the part of h. The store is locked.
func (f *fenceBody) leave(h *Handle) {
	f.parts = slices.DeleteFunc(f.parts, func(o *Handle) bool { return o == h })
	if len(f.parts) == 0 {
		f.free()
	}
}

// free frees the fence for everybody. The store is locked.
func (f *fenceBody) free() {
	delete(f.store.fences, f)
	f.store.wake(func(i fslease.Interest) bool { return len(i.Keepers) > 0 })
}

func (f *fence) Unlock() error {
	f.body.store.mu.Lock()
	defer f.body.store.mu.Unlock()
	f.body.free()
	return nil
}

func (f *fence) Close() error {
	f.body.store.mu.Lock()
	defer f.body.store.mu.Unlock()
	f.body.leave(f.h)
	return nil
}
