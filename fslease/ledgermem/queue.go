package ledgermem

import "fslease/fslease"

func (t *tx) Enqueue(w fslease.Waiter) (fslease.Waiter, error) {
	var denied error
	for _, k := range w.Keys {
		if err := t.owns(k); err != nil {
			denied = err
		}
	}
	err := t.write(denied, func() {
		w.Number = 1
		for p := range t.s.queue {
			if p.Key.OverlapsAny(w.Keys) {
				w.Number = max(w.Number, p.Number+1)
			}
		}
		for _, k := range w.Keys {
			t.s.queue[fslease.Place{Key: k, Number: w.Number}] = w
		}
	})
	return w, err
}

// Leave takes w out of the queue.
func (h *Handle) Leave(w fslease.Waiter) error {
	return h.requeue(w, func(p fslease.Place, _ fslease.Waiter) { delete(h.store.queue, p) })
}

// MarkTurn notes that w was seen at now not to take its turn.
func (h *Handle) MarkTurn(w fslease.Waiter, now fslease.Instant) error {
	return h.requeue(w, func(p fslease.Place, was fslease.Waiter) {
		if was.Turn == nil {
			was.Turn = &now
			h.store.queue[p] = was
		}
	})
}

// ClearTurn forgets what MarkTurn noted.
func (h *Handle) ClearTurn(w fslease.Waiter) error {
	return h.requeue(w, func(p fslease.Place, was fslease.Waiter) {
		was.Turn = nil
		h.store.queue[p] = was
	})
}

// requeue changes the places that w has, if it has any left, and wakes those behind it.
func (h *Handle) requeue(w fslease.Waiter, change func(fslease.Place, fslease.Waiter)) error {
	s := h.store
	return h.write(func() {
		for _, k := range w.Keys {
			p := fslease.Place{Key: k, Number: w.Number}
			if was, ok := s.queue[p]; ok && was.Holder.ID == w.Holder.ID {
				change(p, was)
			}
		}
		s.wake(func(i fslease.Interest) bool { return i.Ahead != nil && i.Ahead.Holder.ID == w.Holder.ID })
	})
}
