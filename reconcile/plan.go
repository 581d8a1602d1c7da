package reconcile

import (
	"fmt"

	"fslease/fslease"
)

// An Act is one thing that a pass did, or would do.
type Act struct {
	Ticket  string `json:"ticket"`
	Session int64  `json:"session,omitempty"`
	What    string `json:"act"` // one of those below
	Reason  string `json:"reason"`
}

// What a pass does.
const (
	ActExpired = "session_expired" // a session ended, the ticket is BLOCKED
	ActClosed  = "session_closed"  // what a crash left active, although its ticket had moved on
	ActCleared = "cleared"         // nobody has to look at the ticket any more; reservations that do not count are gone
)

// plan is what is to be done about one ticket.
type plan struct {
	id      string
	keys    []fslease.Key // whose locks are needed
	ticket  *fslease.Ticket
	current *fslease.Session  // active, named by the ticket
	failure *fslease.Failure  // that ends the current session, or says that it is missing
	strays  []fslease.Session // active, but not the ticket's current one
	acts    []Act
}

// survey reads all that belongs to a ticket and judges it.
func survey(l fslease.Ledger, r fslease.Reader, id string) (plan, error) {
	p := plan{id: id, keys: []fslease.Key{fslease.TicketKey(id)}}
	t, err := r.Ticket(id)
	if err != nil {
		return p, err
	}
	works := t != nil && t.Status == fslease.InProgress
	if t != nil {
		p.ticket, p.keys = t, t.Keys()
	}
	if works {
		s, err := r.Session(id, t.Session)
		if err != nil {
			return p, err
		}
		if s != nil && s.Status == fslease.SessionActive { // as a rule: nothing else needs to be read
			p.current, p.failure = s, fslease.Lapsed(l, *s)
			p.judge()
			return p, nil
		}
		p.failure = &fslease.Failure{Kind: fslease.FailureExpired, At: l.Clock().Now().Wall, Session: t.Session, Detail: "the session is not on record as active"}
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
	p.judge()
	return p, nil
}

func (p *plan) judge() {
	add := func(session int64, what, reason string) {
		p.acts = append(p.acts, Act{Ticket: p.id, Session: session, What: what, Reason: reason})
	}
	for _, s := range p.strays {
		add(s.Generation, ActClosed, "the ticket does not name it as its current session")
	}
	switch {
	case p.failure != nil:
		add(p.failure.Session, ActExpired, fmt.Sprintf("%s: %s", p.failure.Kind, p.failure.Detail))
	case p.current == nil:
		add(0, ActCleared, "no session is active")
	}
}

// apply does what the plan says, under the locks of the ticket.
func (p *plan) apply(tx fslease.Tx, by func() string) error {
	for _, s := range p.strays {
		if err := fslease.CloseStray(tx, p.ticket, s); err != nil {
			return err
		}
	}
	switch {
	case p.failure != nil:
		return fslease.Expire(tx, *p.ticket, p.current, *p.failure, by())
	case p.current != nil:
		return nil
	}
	if p.ticket != nil {
		if err := fslease.DropReservations(tx, *p.ticket); err != nil {
			return err
		}
	}
	return tx.SetActive(p.id, false)
}
