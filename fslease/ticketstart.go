package fslease

import (
	"context"
	"slices"
	"time"
)

// A Start is a request to start work on a ticket.
type Start struct {
	Ticket  string
	Lease   time.Duration // how long the session lasts without a checkpoint; DefaultSession if 0
	Bound   *Holder       // the process whose end ends the session; nil: none
	Wait    time.Duration // for leases and tickets in the way: 0 not at all, or Forever
	Fence   time.Duration // for commands of earlier holders that still run: likewise
	By      string
	Waiting func(*HeldError)
}

// StartTicket starts a session: it takes the ticket's key and its whole scope, all or nothing, waits until
// no command of an earlier holder is left under them, and then writes reservations, session and ticket.
// Until then this process holds what was free, as long as it lives; what the ticket had reserved already
// stays reserved by it, whatever happens.
func (m *Manager) StartTicket(ctx context.Context, req Start) (Session, error) {
	s, fence, _, err := m.startFenced(ctx, req, nil)
	if fence != nil {
		_ = fence.Unlock()
	}
	return s, err
}

// startFenced is StartTicket that leaves the fence with the caller, and says which keys were taken.
func (m *Manager) startFenced(ctx context.Context, req Start, me Presence) (Session, Fence, []Key, error) {
	if req.Lease == 0 {
		req.Lease = DefaultSession
	}
	if err := CheckTicketID(req.Ticket); err != nil {
		return Session{}, nil, nil, err
	}
	if err := CheckSessionLease(req.Lease); err != nil {
		return Session{}, nil, nil, err
	}
	t, err := m.ticket(m.ledger.View(ctx), req.Ticket)
	if err != nil {
		return Session{}, nil, nil, err
	}
	a, err := m.begin(ctx, Request{Keys: t.Keys(), Wait: req.Wait, Fence: true, FenceWait: &req.Fence, Waiting: req.Waiting, Presence: me})
	if err != nil {
		return Session{}, nil, nil, err
	}
	defer a.abandon()
	a.ttl = 0
	a.ticket = req.Ticket
	a.prepare = func(tx Tx) error { return startable(tx, t) }
	if err := a.take(ctx); err != nil {
		return Session{}, nil, nil, err
	}
	s, err := a.openSession(ctx, t, req)
	if err != nil {
		_ = m.ledger.Update(context.WithoutCancel(ctx), a.keys, func(tx Tx) error { a.giveBack(tx); return nil })
		return Session{}, nil, nil, err
	}
	held := a.fence
	a.fence = nil
	return s, held, a.keys, nil
}

// startable fails unless the ticket is still what it was when its scope was read, and may be started.
func startable(tx Tx, before Ticket) error {
	t, err := tx.Ticket(before.ID)
	if err != nil {
		return err
	}
	if t == nil || !slices.Equal(t.Keys(), before.Keys()) {
		return &ConflictError{Ticket: before.ID, What: "ticket " + before.ID + " was changed meanwhile", Hint: "start it again"}
	}
	_, err = t.Target(VerbStart)
	return err
}

// openSession waits for the fence and writes the session, in the order that a crash cannot spoil: what
// makes reconcile look, the reservations, the session, and last the ticket, which makes it count.
func (a *acquisition) openSession(ctx context.Context, before Ticket, req Start) (Session, error) {
	if err := a.enterFence(ctx); err != nil {
		return Session{}, err
	}
	var s Session
	err := a.m.ledger.Update(ctx, a.keys, func(tx Tx) error {
		if err := startable(tx, before); err != nil {
			return err
		}
		t, err := a.m.ticket(tx, before.ID)
		if err != nil {
			return err
		}
		if err := tx.SetActive(t.ID, true); err != nil {
			return err
		}
		generation, err := a.reserve(tx, t)
		if err != nil {
			return err
		}
		s = NewSession(t.ID, generation, req.Lease, req.Bound, tx.Now())
		if err := tx.PutSession(s); err != nil {
			return err
		}
		t.Session = generation
		t = t.Moved(InProgress, req.By, string(VerbStart), nil, tx.Now())
		if err := tx.PutTicket(t); err != nil {
			return err
		}
		logMove(tx, t, "")
		return nil
	})
	return s, err
}

// reserve writes a reservation for each key and returns the generation of the ticket's own. A key that
// this start took keeps its generation, one that the ticket had already gets a new one.
func (a *acquisition) reserve(tx Tx, t Ticket) (session int64, err error) {
	for _, k := range a.keys {
		st, err := tx.Load(k)
		if err != nil {
			return 0, err
		}
		to := Holder{Kind: KindTicket, Ticket: t.ID, Session: session}
		i := slices.IndexFunc(a.records, func(r Record) bool { return r.Key == k })
		var rec Record
		if i >= 0 {
			cur, err := CheckToken(k, st, a.records[i].Generation, a.me.Holder().ID)
			if err != nil {
				return 0, err
			}
			rec = Handed(cur, to, 0, tx.Now())
		} else {
			gen, err := tx.NextGeneration(k, st)
			if err != nil {
				return 0, err
			}
			rec = Granted(st, Grant{Key: k, Holder: to}, gen, tx.Now())
		}
		if session == 0 { // the ticket's own key comes first
			session = rec.Generation
			rec.Holder.Session = session
		}
		if err := tx.Put(rec, true); err != nil {
			return 0, err
		}
	}
	return session, nil
}
