package cli

import (
	"context"
	"os"
	"strings"

	"fslease/cmd/internal/githook"
	"fslease/fslease"
)

// claims tells a hook what is held, and what of it is the caller's own: what the environment names with
// the token on record, and what a process holds that is the caller or one of its ancestors.
type claims struct {
	c  *call
	as string // --as: the ticket to take for the caller's own if nothing else says which is

	l     *opened
	view  fslease.Reader
	under map[fslease.Key]int64
	own   *fslease.Ticket // nil: none
}

var _ githook.Ledger = (*claims)(nil)

// open finds out who the caller is.
func (c *claims) open(ctx context.Context) error {
	l, err := c.c.open()
	if err != nil {
		return err
	}
	exists, err := l.Exists()
	if err != nil {
		return err
	}
	if !exists {
		return githook.ErrNoLedger
	}
	c.l, c.view, c.under = l, l.View(ctx), under()
	c.own, err = c.ownTicket(ctx)
	return err
}

// Reservations returns what is held at, above and below prefix.
func (c *claims) Reservations(ctx context.Context, prefix fslease.Key) ([]githook.Reservation, error) {
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	var all []githook.Reservation
	visit := func(key fslease.Key, st fslease.State, err error) error {
		var look fslease.Look
		if err == nil {
			look, err = c.l.leases.Judge(c.view, st)
		}
		if r, held := c.reservation(key, look, err); held {
			all = append(all, r)
		}
		return nil
	}
	for _, up := range prefix.Ancestors() {
		st, err := c.view.Load(up)
		_ = visit(up, st, err)
	}
	return all, c.view.Walk(prefix, false, visit)
}

// reservation is a key as a hook sees it, if it is held.
func (c *claims) reservation(key fslease.Key, look fslease.Look, err error) (githook.Reservation, bool) {
	cur := look.State.Current()
	switch {
	case err != nil:
		return githook.Reservation{Lease: fslease.Record{Key: readable(key)}, Err: err}, true
	case cur == nil || look.Judgement.Takeover:
		return githook.Reservation{}, false
	}
	r := githook.Reservation{Lease: *cur, Mine: c.mine(*cur)}
	if cur.Holder.IsTicket() {
		t, err := c.view.Ticket(cur.Holder.Ticket)
		if err != nil || t == nil {
			r.Err = err
			return r, err != nil
		}
		r.Status = t.Status
	}
	return r, true
}

// readable cuts the key of a record that cannot be read before what its file name does not say plainly.
func readable(key fslease.Key) fslease.Key {
	if i := strings.IndexAny(string(key), "%~"); i >= 0 {
		if i = strings.LastIndexByte(string(key[:i]), '/'); i > 0 {
			return key[:i]
		}
	}
	return key
}

func (c *claims) mine(rec fslease.Record) bool {
	switch {
	case c.under[rec.Key] == rec.Generation:
		return true
	case rec.Holder.IsTicket():
		return c.own != nil && rec.Holder.Ticket == c.own.ID
	default:
		return c.l.processes.Kin(rec.Holder)
	}
}

// OwnTicket returns the ticket that the caller works on, and its scope.
func (c *claims) OwnTicket(context.Context) (string, []fslease.Key, error) {
	if c.own == nil {
		return "", nil, nil
	}
	return c.own.ID, c.own.Scope, nil
}

// ownTicket returns the ticket that the environment names with its token; else the one whose session is
// bound to a process around this one; else the one of --as; else nil.
func (c *claims) ownTicket(ctx context.Context) (*fslease.Ticket, error) {
	if id := os.Getenv("LEASE_TICKET"); id != "" && fslease.CheckTicketID(id) == nil {
		if token := ticketToken(id); token > 0 {
			current, err := c.l.leases.Check(ctx, fslease.TicketKey(id), token)
			if err != nil {
				return nil, err
			}
			if current {
				return c.view.Ticket(id)
			}
		}
	}
	if t, err := c.ticketAround(); t != nil || err != nil {
		return t, err
	}
	if c.as == "" {
		return nil, nil
	}
	return c.ticket(c.as)
}

// ticket returns the ticket that an option names.
func (c *claims) ticket(id string) (*fslease.Ticket, error) {
	t, err := c.view.Ticket(id)
	if t == nil && err == nil {
		err = usage("lease ticket ls lists them", "there is no ticket %s", id)
	}
	return t, err
}

// ticketID is an option that names a ticket, empty if it is not given.
func (o *options) ticketID(name string) string {
	id := o.text(name)
	if o.has(name) {
		o.refuse("--"+name+": ", fslease.CheckTicketID(id))
	}
	return id
}

// ticketAround returns the ticket whose session is bound to this process or one of its ancestors.
func (c *claims) ticketAround() (*fslease.Ticket, error) {
	ids, err := c.view.Active()
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		t, err := c.view.Ticket(id)
		if err != nil || t == nil {
			continue // trouble with one ticket makes no other one foreign
		}
		s, err := c.view.Session(id, t.Session)
		if err == nil && s != nil && s.Status == fslease.SessionActive && s.Holder != nil && c.l.processes.Kin(*s.Holder) {
			return t, nil
		}
	}
	return nil, nil
}
