package fslease

import (
	"context"
	"fmt"
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
	handing := err == nil
	if handing {
		records, err = a.handOver(ctx, to)
	}
	if err != nil {
		back := m.ledger.Update(context.WithoutCancel(ctx), a.keys, a.giveBack)
		if back != nil && handing { // else it is dead with this process
			err = fmt.Errorf("%w; it cannot be told whether all keys were given back, so look at them with lease show, and break those that nobody holds", err)
		}
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
	fence, err := a.m.awaitFence(ctx, a.fencing(), a.fenceLimit(), a.waker, a.req.Waiting)
	a.fence = fence
	return err
}

// handOver writes the new holder into what the acquisition took.
func (a *acquisition) handOver(ctx context.Context, to Handover) ([]Record, error) {
	var handed []Record
	done := map[Key]Record{} // by a run that a removed lock file cut short
	err := a.m.ledger.Update(ctx, a.keys, func(tx Tx) error {
		handed = nil
		for _, old := range a.records {
			if rec, ok := done[old.Key]; ok {
				handed = append(handed, rec)
				continue
			}
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
			done[old.Key] = rec
			handed = append(handed, rec)
		}
		return nil
	})
	return handed, err
}
