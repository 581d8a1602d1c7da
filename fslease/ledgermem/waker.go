package ledgermem

import (
	"time"

	"fslease/fslease"
)

type waker struct {
	store    *Store
	c        chan struct{}
	interest fslease.Interest
	closed   bool
}

// NewWaker returns a waker that misses nothing.
func (h *Handle) NewWaker() fslease.Waker {
	return &waker{store: h.store, c: make(chan struct{}, 1)}
}

func (w *waker) Watch(i fslease.Interest) {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.interest = i
	if !w.closed {
		w.store.wakers[w] = true
	}
}

func (w *waker) C() <-chan struct{} { return w.c }

// Poll is for what no event tells, such as a holder whose life can be told again.
func (w *waker) Poll() time.Duration { return time.Second }

func (w *waker) Close() error {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	w.closed = true
	delete(w.store.wakers, w)
	return nil
}

// wake wakes those whose interest matches. The store is locked.
func (s *Store) wake(matches func(fslease.Interest) bool) {
	for w := range s.wakers {
		if matches(w.interest) {
			select {
			case w.c <- struct{}{}:
			default:
			}
		}
	}
}

// leaseChanged wakes those who wait for a lease on an overlapping key. The store is locked.
func (s *Store) leaseChanged(key fslease.Key) {
	s.wake(func(i fslease.Interest) bool { return key.OverlapsAny(i.Keys) })
}
