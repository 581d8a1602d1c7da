package fslease

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"
)

// An acquisition is one attempt to get the keys of a request, with all its tries and waits.
type acquisition struct {
	m      *Manager
	req    Request
	keys   []Key
	me     Presence
	ownsMe bool
	grant  Holder        // who is to hold
	ttl    time.Duration // of the lease that is written

	// ticket is the ticket whose session takes the keys; its own reservations are not in its way.
	ticket string
	// prepare runs under the locks, before the survey.
	prepare func(Tx) error

	under  []string // ids of the holders under whose current leases the caller runs
	kin    bool     // those of its ancestors are among them: see findKin
	queued *Waiter
	seen   map[Key]Sighting
	waker  Waker
	start  time.Duration // CLOCK_MONOTONIC

	states  map[Key]State
	records []Record
	fence   Fence
}

// begin checks req and makes this process's presence, by which others see that it lives.
func (m *Manager) begin(ctx context.Context, req Request) (*acquisition, error) {
	if len(req.Keys) == 0 {
		return nil, &ConfigError{What: "no key is given", Hint: "name what is to be leased, such as task:42"}
	}
	if err := CheckNote(req.Note); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	a := &acquisition{m: m, req: req, keys: FoldKeys(req.Keys), me: req.Presence, ttl: req.TTL, seen: map[Key]Sighting{}}
	a.start = time.Duration(m.now().Mono)
	if a.me == nil {
		p, err := m.ledger.Announce(ctx, req.Command)
		if err != nil {
			return nil, err
		}
		a.me, a.ownsMe = p, true
	}
	a.grant = a.me.Holder()
	a.under = m.holdersOf(ctx, req.Under)
	return a, nil
}

// holdersOf returns the ids of the holders whose current tokens under has.
func (m *Manager) holdersOf(ctx context.Context, under map[Key]int64) []string {
	var ids []string
	for k, token := range under {
		st, err := m.ledger.View(ctx).Load(k)
		if cur := st.Current(); err == nil && cur != nil && cur.Generation == token {
			ids = append(ids, cur.Holder.identity())
		}
	}
	return ids
}

// identity names a holder among all holders of a ledger.
func (h Holder) identity() string {
	if h.IsTicket() {
		return string(TicketKey(h.Ticket))
	}
	return h.ID
}

func (m *Manager) now() Instant { return m.ledger.Clock().Now() }

// take tries, waits and tries again until the keys are had.
func (a *acquisition) take(ctx context.Context) error {
	for {
		f, err := a.try(ctx)
		if err != nil || f.held == nil {
			return err
		}
		a.refuseOwnFence(&f)
		switch {
		case f.refused:
			return f.held
		case !a.kin && (a.req.Wait != 0 || f.held.Waiter != nil):
			if err := a.findKin(ctx); err != nil {
				return err
			}
		case a.req.Wait == 0:
			return f.held
		default:
			if err := a.await(ctx, f); err != nil {
				return err
			}
		}
	}
}

// refuseOwnFence refuses to wait for whoever waits for the caller's own end. The caller runs under a fence, most likely that of a
// lease that was lost, or whose holder was killed, so that who has the key now, or is ahead in the queue, cannot begin.
func (a *acquisition) refuseOwnFence(f *finding) {
	if f.held == nil || f.refused || !a.m.opt.UnderFence(a.keys) {
		return
	}
	f.refused = true
	f.held.Own, f.held.UnderFence = true, true
	f.held.Reason = "this command runs under the fence that keeps the next one out, so they would wait for each other"
}

// findKin looks for the leases of this process's ancestors: the caller runs under those too, although
// nothing in its environment says so. It looks through the whole ledger, so it does that once, before the
// queue matters, under no lock, and for no longer than the caller waits.
func (a *acquisition) findKin(ctx context.Context) error {
	a.kin = true
	if left, _ := a.limit(); left > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, left)
		defer cancel()
	}
	err := a.m.ledger.View(ctx).Kin(ctx, a.m.opt.KinPID, func(rec Record) {
		if a.m.opt.Kin(rec.Holder) {
			a.under = append(a.under, rec.Holder.identity())
		}
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // the try that follows is the last one
	}
	return err
}

// try judges and grants in one hold of the keys' locks. If something is in the way it enters the queue in
// that same hold, or, for a try that does not wait, leaves behind what it saw.
func (a *acquisition) try(ctx context.Context) (finding, error) {
	var f finding
	err := a.m.ledger.Update(ctx, a.keys, func(tx Tx) (err error) {
		if err := a.giveBack(tx); err != nil { // of a run that a removed lock file cut short
			return err
		}
		a.dropFence()
		if a.prepare != nil {
			if err := a.prepare(tx); err != nil {
				return err
			}
		}
		if f, err = a.survey(tx); err != nil {
			return err
		}
		if f.held != nil {
			return a.line(tx, f)
		}
		if err := a.fenceFirst(ctx, f); err != nil {
			return err
		}
		return a.write(ctx, tx, f)
	})
	if err != nil {
		a.dropFence()
		return finding{}, err
	}
	if f.held == nil {
		a.leave()
	}
	return f, nil
}

// fenceFirst refuses a try that would not wait for the fence, before anything is written: what is on record of a dead holder
// still says whose work goes on behind the fence, and no generation is used for nothing.
func (a *acquisition) fenceFirst(ctx context.Context, f finding) error {
	if !a.req.Fence || a.fenceLimit() != 0 {
		return nil
	}
	fence, err := a.m.awaitFence(ctx, a.fencing(), 0, nil, nil)
	if err != nil {
		return err
	}
	a.fence = fence
	if len(f.bury) > 0 {
		a.dropFence() // whose command lives is noted when he is buried: write looks again
	}
	return nil
}

// fencing is what the work needs the fence of.
func (a *acquisition) fencing() fencing {
	want := fencing{keys: a.keys, of: a.req.Beside}
	if len(want.of) > 0 {
		want.keys = slices.Clone(a.keys)
		for _, rec := range want.of {
			want.keys = append(want.keys, rec.Key)
		}
		want.keys = FoldKeys(want.keys)
	}
	return want
}

// line stores what a refused try saw, and enters the queue if the caller waits and knows what it holds.
func (a *acquisition) line(tx Tx, f finding) error {
	for _, s := range f.sightings {
		if err := tx.See(s); err != nil && a.req.Wait == 0 {
			return err
		}
	}
	if a.queued != nil || a.req.Wait == 0 || f.refused || !a.kin {
		return nil
	}
	since := tx.Now().Wall.Truncate(time.Millisecond) // as others read it: see cameAfter
	w, err := tx.Enqueue(Waiter{Keys: a.keys, Holder: a.me.Holder(), Since: since, Note: a.req.Note, Holds: a.under})
	if err != nil {
		return err
	}
	a.queued = &w
	return nil
}

// write buries what may be taken over and writes the leases, all or none.
func (a *acquisition) write(ctx context.Context, tx Tx, f finding) error {
	for _, b := range f.bury {
		t := Buried(b.rec, b.state.Tomb, b.reason, tx.Now())
		if err := tx.Bury(b.rec, t); err != nil {
			return err
		}
		if _, mine := a.states[b.rec.Key]; mine {
			a.states[b.rec.Key] = State{Tomb: &t}
		}
	}
	for _, k := range a.keys {
		st := a.states[k]
		if a.reservedAlready(st) {
			continue
		}
		gen, err := tx.NextGeneration(k, st)
		if err == nil {
			rec := Granted(st, Grant{Key: k, Holder: a.grant, TTL: a.ttl, Note: a.req.Note}, gen, tx.Now())
			if err = tx.Put(rec, true); err == nil {
				a.records = append(a.records, rec)
				continue
			}
			var unsure *RepositoryError
			if errors.As(err, &unsure) && unsure.Fault == FaultUnknown {
				a.records = append(a.records, rec)
			}
		}
		_ = a.giveBack(tx) // err says what went wrong
		return err
	}
	for _, rec := range a.records {
		tx.Log(Event{Event: EventGranted, Key: rec.Key, Generation: rec.Generation, Revision: rec.Revision})
	}
	if a.req.Fence && a.fence == nil {
		// Still under the locks: what was written is what is on record, so nothing needs to be read again.
		fence, _, err := a.m.tryFence(ctx, a.fencing())
		if err != nil {
			_ = a.giveBack(tx) // err says what went wrong
			return err
		}
		a.fence = fence
	}
	return nil
}

// reservedAlready reports whether the key is a reservation of the very ticket that is being started.
func (a *acquisition) reservedAlready(st State) bool {
	cur := st.Current()
	return a.ticket != "" && cur != nil && cur.Holder.IsTicket() && cur.Holder.Ticket == a.ticket
}

// giveBack undoes what this try wrote. The generations stay used. What cannot be given back is free once
// this process has ended, as its holder is dead then.
func (a *acquisition) giveBack(tx Tx) error {
	var left []Record
	var first error
	for _, rec := range a.records {
		t := Buried(rec, a.states[rec.Key].Tomb, ReasonReleased, tx.Now())
		if err := tx.Bury(rec, t); err != nil {
			left, first = append(left, rec), cmp.Or(first, err)
		}
	}
	a.records = left
	return first
}

// abandon ends an acquisition that got nothing.
func (a *acquisition) abandon() {
	a.leave()
	a.dropFence()
	if a.waker != nil {
		_ = a.waker.Close()
	}
	if a.ownsMe {
		_ = a.me.Close()
	}
}

func (a *acquisition) leave() {
	if a.queued != nil {
		_ = a.m.ledger.Leave(*a.queued) // a dead waiter's entry is skipped by everybody
		a.queued = nil
	}
}

func (a *acquisition) dropFence() {
	if a.fence != nil {
		_ = a.fence.Unlock()
		a.fence = nil
	}
}

// limit returns how much of Wait is left; ok is false once it is used up.
func (a *acquisition) limit() (left time.Duration, ok bool) {
	if a.req.Wait < 0 {
		return Forever, true
	}
	left = a.req.Wait - (time.Duration(a.m.now().Mono) - a.start)
	return left, left > 0
}

// fenceLimit returns how long the fence may be waited for: 0 not at all.
func (a *acquisition) fenceLimit() time.Duration {
	if a.req.FenceWait != nil {
		return *a.req.FenceWait
	}
	left, ok := a.limit()
	if !ok {
		return 0
	}
	return left
}
