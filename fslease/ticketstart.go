package fslease

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A Start is a request to start work on a ticket.
type Start struct {
	Ticket string
	Lease  time.Duration // how long the session lasts without a checkpoint; DefaultSession if 0
	Bound  *Holder       // the process whose end ends the session; nil: none
	Note   string        // for the ticket's history
	By     string        // likewise: who

	Wait      time.Duration  // for leases and tickets in the way: 0 not at all, or Forever
	FenceWait *time.Duration // for commands of earlier holders that still run; nil: what is left of Wait
	Under     map[Key]int64  // the leases under which the caller runs, as in a Request
	Waiting   func(*HeldError)

	// Of work in this process (WorkOn).
	Heartbeat time.Duration // Lease / HeartbeatsPerTTL if 0
	Also      []Key         // held too by this process, all or nothing with the scope
	Presence  Presence      // this process; nil: one is made, and ends with the work
}

// StartTicket starts a session: it takes the ticket's key and its whole scope, all or nothing, waits until
// no command of an earlier holder is left under them, and then writes reservations, session and ticket.
// Until then this process holds what was free, as long as it lives; what the ticket had reserved already
// stays reserved by it, whatever happens.
func (m *Manager) StartTicket(ctx context.Context, req Start) (Session, error) {
	req.Presence, req.Also = nil, nil
	st, err := m.starting(ctx, req)
	if err != nil {
		return Session{}, err
	}
	defer st.abandon()
	return st.session, st.obtain(ctx)
}

// A starting is an acquisition of all the keys of a ticket. Its own reservations are not in its way.
type starting struct {
	*acquisition
	want     Start
	found    Ticket   // as it was last, under its lock
	session  Session  // that was opened
	reserved []Record // for it, in the order of found.Keys
}

// starting checks a request and reads the scope.
func (m *Manager) starting(ctx context.Context, req Start) (*starting, error) {
	if req.Lease == 0 {
		req.Lease = DefaultSession
	}
	if err := CheckTicketID(req.Ticket); err != nil {
		return nil, err
	}
	if err := CheckSessionLease(req.Lease); err != nil {
		return nil, err
	}
	t, err := m.ticket(m.ledger.View(ctx), req.Ticket)
	if err != nil {
		return nil, err
	}
	for _, k := range req.Also {
		for _, s := range t.Keys() {
			if k != s && k.Covers(s) {
				return nil, &ConfigError{What: fmt.Sprintf("%s covers %s, which belongs to the scope of ticket %s", k, s, t.ID), Hint: "leave it out, or name keys beside the scope"}
			}
		}
	}
	st := &starting{want: req, found: t}
	st.acquisition, err = m.begin(ctx, Request{
		Keys: append(t.Keys(), req.Also...), Note: req.Note, Presence: req.Presence, Under: req.Under,
		Wait: req.Wait, Fence: true, FenceWait: req.FenceWait,
	})
	if err != nil {
		return nil, err
	}
	st.ttl, st.ticket = 0, t.ID
	st.prepare = func(tx Tx) error {
		t, err := st.startable(tx)
		if err == nil {
			st.found = t
		}
		return err
	}
	return st, nil
}

// obtain takes the keys, and the fence, and opens the session. It leaves the fence to the caller.
func (st *starting) obtain(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	view := st.m.ledger.View(ctx)
	st.req.Waiting = func(e *HeldError) {
		if _, err := st.startable(view); err != nil {
			cancel(err) // somebody else started it, or it was cancelled: nothing is left to wait for
		}
		if st.want.Waiting != nil {
			st.want.Waiting(e)
		}
	}
	if err := st.take(ctx); err != nil {
		return err
	}
	err := st.enterFence(ctx)
	if err == nil {
		err = st.open(ctx)
	}
	if err != nil {
		st.undo(context.WithoutCancel(ctx))
	}
	return err
}

// startable returns the ticket if it may be started, has the scope that was read before the locks, and
// nobody has worked on it since it was asked for.
func (st *starting) startable(r Reader) (Ticket, error) {
	t, err := st.m.ticket(r, st.found.ID)
	if err != nil {
		return t, err
	}
	if _, err := t.Target(VerbStart); err != nil {
		return t, err
	}
	if t.Session != st.found.Session || !slices.Equal(t.Keys(), st.found.Keys()) {
		return t, st.changed()
	}
	return t, nil
}

func (st *starting) changed() error {
	return &ConflictError{Ticket: st.found.ID, Status: st.found.Status, What: "ticket " + st.found.ID + " was changed meanwhile", Hint: "look at it with lease ticket show, and start it again"}
}

// open writes the session, in the order that a crash cannot spoil: what makes reconcile look, the
// reservations, the session, and last the ticket, which makes it count.
func (st *starting) open(ctx context.Context) error {
	return st.m.ledger.Update(ctx, st.keys, func(tx Tx) error {
		t, err := st.startable(tx)
		if err != nil {
			return err
		}
		if t.Status != st.found.Status {
			return st.changed() // what was reserved when the keys were taken may be free by now
		}
		if err := closeStrays(tx, t); err != nil {
			return err
		}
		if err := tx.SetActive(t.ID, true); err != nil {
			return err
		}
		if err := st.reserve(tx); err != nil {
			return err
		}
		st.session = NewSession(t.ID, st.reserved[0].Generation, st.want.Lease, st.want.Bound, tx.Now())
		if err := tx.PutSession(st.session); err != nil {
			return err
		}
		t.Session = st.session.Generation
		reason := string(VerbStart)
		if st.want.Note != "" {
			reason = st.want.Note
		}
		t = t.Moved(InProgress, st.want.By, reason, nil, tx.Now())
		if err := tx.PutTicket(t); err != nil {
			return err
		}
		logMove(tx, t, reason)
		return nil
	})
}

// closeStrays ends what crashes left active: the last session, if its end was not written, and those of
// starts that did not come to the ticket. From the next session on nobody would look for them.
func closeStrays(tx Tx, t Ticket) error {
	generations, err := tx.Sessions(t.ID)
	if err != nil {
		return err
	}
	for _, g := range generations {
		if g < t.Session {
			continue
		}
		s, err := tx.Session(t.ID, g)
		if err != nil {
			return err
		}
		if s != nil && s.Status == SessionActive {
			if err := CloseStray(tx, &t, *s); err != nil {
				return err
			}
		}
	}
	return nil
}

// reserve writes a reservation for each of the ticket's keys. One that this start took keeps its
// generation; one that the ticket had already gets a new one, so that its old token is refused.
func (st *starting) reserve(tx Tx) error {
	st.reserved = nil
	to := Holder{Kind: KindTicket, Ticket: st.found.ID}
	for _, k := range st.found.Keys() {
		state, err := tx.Load(k)
		if err != nil {
			return err
		}
		cur := state.Current()
		own := cur != nil && cur.Holder.IsTicket() && cur.Holder.Ticket == st.found.ID
		var rec Record
		switch i := slices.IndexFunc(st.records, func(r Record) bool { return r.Key == k }); {
		case i >= 0:
			took := st.records[i]
			if !own || cur.Generation != took.Generation { // else it was written already, and the locks moved
				if _, err := CheckToken(k, state, took.Generation, st.me.Holder().ID); err != nil {
					return err
				}
			}
			rec = Handed(*cur, to, 0, tx.Now())
		case own:
			generation, err := tx.NextGeneration(k, state)
			if err != nil {
				return err
			}
			rec = Granted(state, Grant{Key: k, Holder: to}, generation, tx.Now())
		default:
			return st.changed()
		}
		if to.Session == 0 { // the ticket's own key comes first, and names the session
			to.Session = rec.Generation
			rec.Holder.Session = rec.Generation
		}
		if err := tx.Put(rec, true); err != nil {
			return err
		}
		if own {
			tx.Log(Event{Event: EventGranted, Key: k, Generation: rec.Generation, Revision: rec.Revision})
		}
		st.reserved = append(st.reserved, rec)
	}
	return nil
}

// undo gives back what this start took, unless the ticket names the session already although it could not
// be told whether that was written.
func (st *starting) undo(ctx context.Context) {
	_ = st.m.ledger.Update(ctx, st.keys, func(tx Tx) error { // what fails here is a dead process's soon
		t, err := tx.Ticket(st.found.ID)
		if err != nil {
			return err
		}
		if t == nil || t.Status != InProgress || t.Session != st.session.Generation {
			st.giveBack(tx)
		}
		return nil
	})
}
