package fslease

import (
	"context"
	"time"
)

// Transfer gives the lease of key, whose current token must be token, to another process at a new
// generation. The old holder keeps it until no command under it is left; if that does not come within
// wait, nothing has changed and the error is a *HeldError.
func (m *Manager) Transfer(ctx context.Context, key Key, token int64, to Handover, wait time.Duration, tell func(*HeldError)) (Record, error) {
	start := m.mono()
	var waker Waker
	for {
		rec, keepers, err := m.tryTransfer(ctx, key, token, to)
		if err != nil || keepers == nil {
			return rec, err
		}
		held := heldByFence([]Key{key}, keepers)
		if held.Own {
			return Record{}, held
		}
		left := wait - (m.mono() - start)
		if wait >= 0 && left <= 0 {
			return Record{}, held
		}
		if tell != nil {
			tell(held)
		}
		if waker == nil {
			waker = m.ledger.NewWaker()
			defer func() { _ = waker.Close() }()
		}
		waker.Watch(Interest{Keepers: keepers})
		if err := m.sleep(ctx, waker, shortest(waker.Poll(), left)); err != nil {
			return Record{}, err
		}
	}
}

// tryTransfer transfers if the fence is free, and returns who keeps it otherwise.
func (m *Manager) tryTransfer(ctx context.Context, key Key, token int64, to Handover) (Record, []Keeper, error) {
	var rec Record
	var keepers []Keeper
	err := m.ledger.Update(ctx, []Key{key}, func(tx Tx) error {
		st, old, err := m.plain(tx, key, token)
		if err != nil {
			return err
		}
		fence, in, err := m.tryFence(ctx, fencing{[]Key{key}, []Record{old}})
		if err != nil {
			return err
		}
		if fence == nil {
			keepers = append([]Keeper{}, in...)
			return nil
		}
		keepers = nil
		defer func() { _ = fence.Unlock() }()
		gen, err := tx.NextGeneration(key, st)
		if err != nil {
			return err
		}
		// The new lease takes the old one's file, and only then the old one gets its tombstone: a crash in
		// between leaves the key held.
		t := Buried(old, st.Tomb, ReasonTransferred, tx.Now())
		rec = Granted(State{Tomb: &t}, Grant{Key: key, Holder: to.Holder, TTL: to.TTL, Note: old.Note}, gen, tx.Now())
		if err := tx.Put(rec, true); err != nil {
			return err
		}
		_ = tx.Bury(old, t) // without it only history is lost: the new lease keeps every lower number down
		tx.Log(Event{Event: EventTransferred, Key: key, Generation: gen, Revision: rec.Revision})
		return nil
	})
	return rec, keepers, err
}
