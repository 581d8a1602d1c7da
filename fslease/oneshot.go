package fslease

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A Handover says to whom a one-shot command gives what it took.
type Handover struct {
	Holder Holder
	TTL    time.Duration // 0: as long as the holder lives
}

// AcquireFor takes the keys of req and hands them to another holder, at the generations that it returns
// in the order of FoldKeys(req.Keys). Until that last step this process holds them itself, as long as it
// lives, so that a killed one leaves nothing behind: it waits until no command of an earlier holder is
// left under the keys (within req.Wait; in vain: the keys are given back), and then writes the new holder.
func (m *Manager) AcquireFor(ctx context.Context, req Request, to Handover) ([]Record, error) {
	records, fence, err := m.AcquireFenced(ctx, req, to)
	if fence != nil {
		_ = fence.Unlock()
	}
	return records, err
}

// AcquireFenced is AcquireFor that leaves the fence to the caller, to be handed on too.
func (m *Manager) AcquireFenced(ctx context.Context, req Request, to Handover) ([]Record, Fence, error) {
	if to.TTL != 0 {
		if err := CheckTTL(to.TTL); err != nil {
			return nil, nil, err
		}
	}
	a, err := m.begin(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	defer a.abandon()
	a.ttl = 0
	a.req.Fence = true
	if err := a.take(ctx); err != nil {
		return nil, nil, err
	}
	err = a.enterFence(ctx)
	var records []Record
	if err == nil {
		records, err = a.handOver(ctx, to)
	}
	if err != nil {
		_ = m.ledger.Update(context.WithoutCancel(ctx), a.keys, func(tx Tx) error { a.giveBack(tx); return nil })
		return nil, nil, err
	}
	fence := a.fence
	a.fence = nil
	return records, fence, nil
}

// enterFence waits for the fence, unless it was had with the keys.
func (a *acquisition) enterFence(ctx context.Context) error {
	if a.fence != nil {
		return nil
	}
	fence, err := a.m.awaitFence(ctx, a.keys, a.fenceLimit(), a.waker, a.req.Waiting)
	a.fence = fence
	return err
}

// handOver writes the new holder into what the acquisition took.
func (a *acquisition) handOver(ctx context.Context, to Handover) ([]Record, error) {
	var handed []Record
	err := a.m.ledger.Update(ctx, a.keys, func(tx Tx) error {
		handed = nil
		for _, old := range a.records {
			st, err := tx.Load(old.Key)
			if err != nil {
				return err
			}
			cur, err := CheckToken(old.Key, st, old.Generation, a.me.Holder().ID)
			if err != nil {
				return err
			}
			rec := Handed(cur, to.Holder, to.TTL, tx.Now())
			if err := tx.Put(rec, true); err != nil {
				return err
			}
			handed = append(handed, rec)
		}
		return nil
	})
	return handed, err
}

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
		held := &HeldError{Key: key, Keepers: keepers}
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
		fence, in, err := m.ledger.TryFence(ctx, []Key{key})
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
	keys := []Key{key}
	take := keys
	if joined {
		take = nil
	}
	return m.fenceIf(ctx, keys, take, Forever, tell, func(r Reader) error {
		_, err := m.current(r, key, token)
		return err
	})
}

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

// Expand returns the generations of records by key, for each key asked for: a key that another one covers
// has that one's token.
func Expand(asked []Key, records []Record) map[Key]int64 {
	tokens := make(map[Key]int64, len(asked))
	for _, k := range asked {
		if i := slices.IndexFunc(records, func(r Record) bool { return r.Key.Covers(k) }); i >= 0 {
			tokens[k] = records[i].Generation
		}
	}
	return tokens
}

// Describe names an actor for people.
func (a Actor) Describe() string {
	return fmt.Sprintf("%s@%s pid %d", a.User, a.Host, a.PID)
}
