package fslease

import (
	"context"
	"slices"
	"time"
)

// reservation returns the reservation of a ticket at key or above it that counts, nil if there is none.
func reservation(r Reader, key Key) (*Record, error) {
	for _, k := range append(key.Ancestors(), key) {
		st, err := r.Load(k)
		if err != nil {
			return nil, err
		}
		cur := st.Current()
		if cur == nil || !cur.Holder.IsTicket() {
			continue
		}
		t, err := r.Ticket(cur.Holder.Ticket)
		if err != nil || t.Reserves(*cur) {
			return cur, err
		}
	}
	return nil, nil
}

// plain returns the lease of key if token is its generation, and refuses what only a ticket's own
// transitions may do to its reservations.
func (m *Manager) plain(tx Tx, key Key, token int64) (State, Record, error) {
	st, err := tx.Load(key)
	if err != nil {
		return st, Record{}, err
	}
	cur, err := CheckToken(key, st, token, "")
	if err == nil {
		err = m.sessionActive(tx, cur)
	}
	if err == nil {
		err = reservedError(tx, cur)
	}
	return st, cur, err
}

// reservedError is a *HeldError if rec is a reservation of a ticket that counts.
func reservedError(r Reader, rec Record) error {
	if !rec.Holder.IsTicket() {
		return nil
	}
	t, err := r.Ticket(rec.Holder.Ticket)
	if err != nil || !t.Reserves(rec) {
		return err
	}
	return &HeldError{Key: rec.Key, Blocking: &rec, Reserved: []Reserved{{t.ID, []Key{rec.Key}}}}
}

// sessionActive fails with a *LostError if cur is the reservation of a ticket on which nobody works any
// more, also if nobody has noticed yet that the session lapsed.
func (m *Manager) sessionActive(r Reader, cur Record) error {
	if !cur.Holder.IsTicket() {
		return nil
	}
	lost := &LostError{Key: cur.Key, Generation: cur.Generation}
	t, err := r.Ticket(cur.Holder.Ticket)
	if err != nil {
		return err
	}
	if !t.Reserves(cur) {
		lost.Reason = "its ticket does not reserve it any more"
		return lost
	}
	s, err := activeSession(r, *t)
	if err != nil {
		return err
	}
	if s == nil || s.Generation != cur.Holder.Session {
		lost.Reason = "the ticket's session has ended, the ticket is " + string(t.Status)
		return lost
	}
	if failure := Lapsed(m.ledger, *s); failure != nil {
		lost.Reason = failure.Kind + ": " + failure.Detail
		return lost
	}
	return nil
}

// InScope splits keys into those inside the scope of a ticket that the caller works on, and the rest. token
// returns the caller's token of a ticket, 0 if it has none; one that is not current is a *LostError. A key
// in a scope comes with its reservation's generation, which is its token, and its holder.
func (m *Manager) InScope(ctx context.Context, keys []Key, token func(ticket string) int64) (own []Record, rest []Key, err error) {
	return m.inScope(m.ledger.View(ctx), keys, token)
}

func (m *Manager) inScope(r Reader, keys []Key, token func(string) int64) (own []Record, rest []Key, err error) {
	for _, k := range FoldKeys(keys) {
		rec, err := reservation(r, k)
		if err != nil {
			return nil, nil, err
		}
		mine := int64(0)
		if rec != nil {
			mine = token(rec.Holder.Ticket)
		}
		if mine == 0 {
			rest = append(rest, k)
			continue
		}
		if _, err := m.current(r, TicketKey(rec.Holder.Ticket), mine); err != nil {
			return nil, nil, err
		}
		if err := m.sessionActive(r, *rec); err != nil {
			return nil, nil, err
		}
		rec.Key = k
		own = append(own, *rec)
	}
	return own, rest, nil
}

// FenceUnder takes the fence of keys for work under leases of others, or of a ticket as InScope returned them, within limit (0: at once or
// not at all). take are those of their keys under whose fence the caller does not run already: all or none. The records stay what they are.
// That they are current is checked once more when the fence is had. Without keys it only checks, which tells after the work whether one
// was lost meanwhile.
func (m *Manager) FenceUnder(ctx context.Context, own []Record, take []Key, limit time.Duration, tell func(*HeldError)) (Fence, error) {
	keys := make([]Key, len(own))
	for i, rec := range own {
		keys[i] = rec.Key
	}
	check := func(r Reader) error {
		for _, rec := range own {
			if _, err := m.current(r, rec.Key, rec.Generation); err != nil {
				return err
			}
		}
		return nil
	}
	if err := check(m.ledger.View(ctx)); err != nil {
		return nil, err
	}
	var fence Fence
	if len(take) > 0 {
		want := fencing{keys: take, of: slices.DeleteFunc(slices.Clone(own), func(rec Record) bool { return !slices.Contains(take, rec.Key) })}
		f, err := m.awaitFence(ctx, want, limit, nil, tell)
		if err != nil {
			return nil, err
		}
		fence = f
	}
	err := m.ledger.Update(ctx, keys, func(tx Tx) error { return check(tx) })
	if err != nil && fence != nil {
		_ = fence.Unlock()
		fence = nil
	}
	return fence, err
}
