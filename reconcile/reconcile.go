// Package reconcile is the pass that every command makes before it changes anything: sessions that ran out
// or whose process died are ended, and what a crash left half done is finished. So nothing has to watch
// the clock.
package reconcile

import (
	"context"
	"errors"
	"fmt"

	"fslease/fslease"
)

// An Act is one thing that a pass did, or would do.
type Act struct {
	Ticket  string           `json:"ticket"`
	Session int64            `json:"session"`
	What    string           `json:"what"` // session_expired, session_closed, reservation_removed, cleared
	Failure *fslease.Failure `json:"-"`
	Detail  string           `json:"detail"`
}

// A Trouble is a ticket that could not be looked at. It stops nobody but those who need that ticket.
type Trouble struct {
	Ticket string
	Err    error
}

// Run looks at each ticket that may have an active session, and at no other. It never waits for a lock: a
// ticket that somebody else is changing is left to them. With dry nothing is written. by goes into the
// tickets' history.
func Run(ctx context.Context, l fslease.Ledger, by string, dry bool) ([]Act, []Trouble, error) {
	view := l.View(ctx)
	ids, err := view.Active()
	if err != nil {
		return nil, nil, err
	}
	var acts []Act
	var troubles []Trouble
	for _, id := range ids {
		done, err := one(ctx, l, view, id, by, dry)
		acts = append(acts, done...)
		if err != nil {
			troubles = append(troubles, Trouble{id, err})
		}
	}
	return acts, troubles, nil
}

// one decides by what it reads without a lock whether there is anything to do, and then again under the
// lock of the ticket, where alone it counts.
func one(ctx context.Context, l fslease.Ledger, view fslease.Reader, id, by string, dry bool) ([]Act, error) {
	plan, err := survey(l, view, id)
	if err != nil || len(plan.acts) == 0 || dry {
		return plan.acts, err
	}
	var done []Act
	err = l.TryUpdate(ctx, plan.keys, func(tx fslease.Tx) error {
		done = nil
		now, err := survey(l, tx, id)
		if err != nil || len(now.keys) != len(plan.keys) { // the scope was changed: the next pass sees it
			return err
		}
		if err := now.apply(tx, by); err != nil {
			return err
		}
		done = now.acts
		return nil
	})
	var re *fslease.RepositoryError
	if errors.As(err, &re) && re.Fault == fslease.FaultBusy {
		return nil, nil
	}
	return done, err
}

// plan is what is to be done about one ticket.
type plan struct {
	acts    []Act
	keys    []fslease.Key
	ticket  *fslease.Ticket
	current *fslease.Session  // active, named by the ticket
	failure *fslease.Failure  // that ends it
	strays  []fslease.Session // active, but not named by the ticket
}

// survey reads all that belongs to a ticket and judges it.
func survey(l fslease.Ledger, r fslease.Reader, id string) (plan, error) {
	p := plan{keys: []fslease.Key{fslease.TicketKey(id)}}
	t, err := r.Ticket(id)
	if err != nil {
		return p, err
	}
	if t != nil {
		p.ticket, p.keys = t, t.Keys()
	}
	if t != nil && t.Status == fslease.InProgress {
		s, err := r.Session(id, t.Session)
		if err != nil {
			return p, err
		}
		if s != nil && s.Status == fslease.SessionActive { // the rule: nothing else needs to be read
			p.current = s
			p.judge(l)
			return p, nil
		}
	}
	generations, err := r.Sessions(id)
	if err != nil {
		return p, err
	}
	for _, g := range generations {
		s, err := r.Session(id, g)
		if err != nil {
			return p, err
		}
		if s != nil && s.Status == fslease.SessionActive {
			p.strays = append(p.strays, *s)
		}
	}
	p.judge(l)
	return p, nil
}

func (p *plan) judge(l fslease.Ledger) {
	id, _ := p.keys[0].Ticket()
	for _, s := range p.strays {
		p.acts = append(p.acts, Act{Ticket: id, Session: s.Generation, What: "session_closed", Detail: "the ticket does not name this session"})
	}
	if p.current == nil {
		p.acts = append(p.acts, Act{Ticket: id, What: "cleared", Detail: "no session is active"})
		return
	}
	life := fslease.Verdict{}
	if p.current.Holder != nil {
		life = l.Probe(*p.current.Holder)
	}
	p.failure = p.current.Lapse(life, l.Clock().Now())
	if p.failure != nil {
		p.acts = append(p.acts, Act{Ticket: id, Session: p.current.Generation, What: "session_expired", Failure: p.failure,
			Detail: fmt.Sprintf("%s: %s", p.failure.Kind, p.failure.Detail)})
	}
}

// apply does what the plan says, under the locks of the ticket.
func (p *plan) apply(tx fslease.Tx, by string) error {
	for _, s := range p.strays {
		if err := tx.PutSession(s.Ended(strayStatus(p.ticket, s))); err != nil {
			return err
		}
	}
	switch {
	case p.failure != nil:
		return fslease.Expire(tx, *p.ticket, *p.current, *p.failure, by)
	case p.current != nil:
		return nil
	}
	id, _ := p.keys[0].Ticket()
	if p.ticket != nil {
		if err := fslease.DropReservations(tx, *p.ticket); err != nil {
			return err
		}
	}
	return tx.SetActive(id, false)
}

// strayStatus is how a session ends that a crash left active: the ticket's failure, written first, tells.
func strayStatus(t *fslease.Ticket, s fslease.Session) fslease.SessionStatus {
	if t != nil {
		for _, f := range t.Failures {
			if f.Session == s.Generation && f.Kind != fslease.FailureBroken && f.Kind != fslease.FailureCommand {
				return fslease.SessionExpired
			}
		}
	}
	return fslease.SessionEnded
}
