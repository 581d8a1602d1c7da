package fslease

import (
	"context"
)

// RenewToken renews the lease of key for whoever has its token.
func (m *Manager) RenewToken(ctx context.Context, key Key, token int64) (Record, error) {
	var rec Record
	err := m.ledger.Update(ctx, []Key{key}, func(tx Tx) error {
		_, cur, err := m.plain(tx, key, token)
		if err != nil {
			return err
		}
		rec = Renewed(cur, tx.Now())
		return tx.Put(rec, false)
	})
	return rec, err
}

// ReleaseToken gives up the lease of key for whoever has its token.
func (m *Manager) ReleaseToken(ctx context.Context, key Key, token int64) error {
	return m.ledger.Update(ctx, []Key{key}, func(tx Tx) error {
		st, rec, err := m.plain(tx, key, token)
		if err != nil {
			return err
		}
		return giveUp(tx, st, rec)
	})
}

// Break takes the lease of key away from whoever holds it. The next grant has a higher generation; the
// old holder is told when it renews. It returns what was broken, nil if nothing was held. still, if not
// nil, is asked under the lock whether the lease is to be broken as it stands now. A ticket's reservation is
// not broken by itself, but with BreakTicket.
func (m *Manager) Break(ctx context.Context, key Key, why string, still func(Record) bool) (*Record, error) {
	var broken *Record
	err := m.ledger.Update(ctx, []Key{key}, func(tx Tx) error {
		broken = nil
		st, err := tx.Load(key)
		if err != nil {
			return err
		}
		cur := st.Current()
		if cur == nil || still != nil && !still(*cur) {
			return nil
		}
		if err := reservedError(tx, *cur); err != nil {
			return err
		}
		t := Buried(*cur, st.Tomb, ReasonBroken, tx.Now())
		if err := tx.Bury(*cur, t); err != nil {
			return err
		}
		tx.Log(Event{Event: EventBroken, Key: key, Generation: cur.Generation, Revision: t.Revision, Reason: why})
		broken = cur
		return nil
	})
	return broken, err
}

// Current returns the lease of key if token is its generation and it still counts. A key inside a
// reservation of a ticket has that one's token.
func (m *Manager) Current(ctx context.Context, key Key, token int64) (Record, error) {
	return m.current(m.ledger.View(ctx), key, token)
}

func (m *Manager) current(r Reader, key Key, token int64) (Record, error) {
	st, err := r.Load(key)
	if err != nil {
		return Record{}, err
	}
	cur, err := CheckToken(key, st, token, "")
	if err != nil && st.Current() == nil {
		around, aroundErr := reservation(r, key)
		if aroundErr != nil {
			return Record{}, aroundErr
		}
		if around != nil && around.Generation == token {
			cur, err = *around, nil
		}
	}
	if err != nil {
		return Record{}, err
	}
	return cur, m.sessionActive(r, cur)
}

// Fenced takes the fence of key for work under token, which must be current once the fence is had.
// joined says that the caller runs under the fence already (it inherited it, or its leases hold the key).
// The fence is nil then. It waits as long as ctx lasts.
func (m *Manager) Fenced(ctx context.Context, key Key, token int64, joined bool, tell func(*HeldError)) (Fence, error) {
	rec, err := m.Current(ctx, key, token)
	if err != nil {
		return nil, err
	}
	rec.Key = key // of a reservation around it the fence of this key alone is taken
	var take []Key
	if !joined {
		take = []Key{key}
	}
	return m.FenceUnder(ctx, []Record{rec}, take, Forever, tell)
}
