package fslease

import (
	"context"
)

// Check reports whether key, exactly, is held now, and with token other than 0 whether at that generation.
// A holder that is proven dead, or was silent past its TTL, does not hold; nor does a ticket on which nobody
// works, although its scope stays reserved.
func (m *Manager) Check(ctx context.Context, key Key, token int64) (bool, error) {
	look, err := m.Look(ctx, key)
	if err != nil {
		return false, err
	}
	cur := look.State.Current()
	if cur == nil || look.Judgement.Takeover || token != 0 && cur.Generation != token {
		return false, nil
	}
	err = m.sessionActive(m.ledger.View(ctx), *cur)
	return err == nil, lostIsNo(err)
}

func lostIsNo(err error) error {
	if _, lost := err.(*LostError); lost {
		return nil
	}
	return err
}

// A Look is all that can be told of one key.
type Look struct {
	State     State
	Judgement Judgement // of the current lease
	Reserved  bool      // the lease is a reservation of a ticket that counts
}

// Look reads one key and judges its lease, as an acquirer would, without taking a lock or writing.
func (m *Manager) Look(ctx context.Context, key Key) (Look, error) {
	view := m.ledger.View(ctx)
	st, err := view.Load(key)
	if err != nil {
		return Look{}, err
	}
	return m.Judge(view, st)
}

// Judge judges the current lease of st, with the sighting that is stored for it.
func (m *Manager) Judge(r Reader, st State) (Look, error) {
	look := Look{State: st}
	cur := st.Current()
	if cur == nil {
		return look, nil
	}
	if cur.Holder.IsTicket() {
		t, err := r.Ticket(cur.Holder.Ticket)
		look.Reserved = t.Reserves(*cur)
		look.Judgement.Takeover = err == nil && !look.Reserved
		return look, err
	}
	a := &acquisition{m: m, seen: map[Key]Sighting{}}
	var err error
	look.Judgement, _, err = a.judge(r, *cur)
	return look, err
}
