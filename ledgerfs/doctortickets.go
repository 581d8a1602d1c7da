package ledgerfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"fslease/fslease"
)

// tickets reads every ticket and session, and looks whether they, what is reserved for them, and what makes
// reconcile look fit together.
func (e *examination) tickets() {
	before := len(e.found)
	tickets := map[string]*fslease.Ticket{}
	e.files(ticketsDir, func(name string) {
		var t fslease.Ticket
		if e.load(name, &t, func() string { return ticketPath(t.ID) }) {
			tickets[t.ID] = &t
		}
	}, ".json")
	sessions := 0
	e.files(sessionsDir, func(name string) {
		var s fslease.Session
		sessions++
		e.load(name, &s, func() string { return sessionPath(s.Ticket, s.Generation) })
	}, ".json")
	for id, t := range tickets {
		if t.Status == fslease.InProgress {
			e.session(id)
		}
	}
	e.marks()
	e.reservations(tickets)
	if len(e.found) == before {
		e.ok("tickets", "%s, %s", counted{len(tickets), "ticket", "tickets"}, counted{sessions, "session", "sessions"})
	}
}

// load reads a ticket or session that must lie where it says that it does.
func (e *examination) load(name string, v interface{ UnmarshalJSON([]byte) error }, at func() string) bool {
	ok, err := e.r.load(name, "", v)
	switch {
	case err == nil && ok && at() != name:
		err = errors.New("it is another one's: it belongs at " + at())
	case err == nil:
		return ok
	}
	var re *fslease.RepositoryError
	switch {
	case errors.Is(err, fslease.ErrNewerSchema):
		e.newer(name, err)
	case errors.As(err, &re) && re.Fault != fslease.FaultDamaged:
		e.trouble("records", Broken, err)
	case re != nil && re.Err != nil:
		e.record(name, re.Err)
	default:
		e.record(name, err)
	}
	return false
}

// session looks at the current session of a ticket in progress: it must be active, and found by reconcile,
// or nothing ever ends it.
func (e *examination) session(id string) {
	key := fslease.TicketKey(id)
	var gen int64
	ended := func() bool {
		t, err := e.r.Ticket(id)
		if err != nil || t == nil || t.Status != fslease.InProgress {
			return false
		}
		gen = t.Session
		return !e.activeNow(id)
	}
	unlisted := func() bool { return e.activeNow(id) && !e.l.has(activePath(id)) }
	switch {
	case ended() && e.still(key, ended):
		f := e.broken("tickets", fmt.Sprintf("ticket %s is IN_PROGRESS, but its session %d is not active: nothing ever ends it", id, gen), "lease doctor --repair blocks it, so that somebody decides")
		f.Path, f.Key = e.l.file(ticketPath(id)), key
		f.mend = func(ctx context.Context) (string, error) { return e.l.mendSession(ctx, sessionPath(id, gen)) }
	case unlisted() && e.still(key, unlisted):
		f := e.broken("tickets", fmt.Sprintf("the session of ticket %s is active, but active/ does not list it: it would never expire", id), "lease doctor --repair lists it")
		f.Path, f.Key = e.l.file(activePath(id)), key
		f.mend = func(ctx context.Context) (string, error) {
			err := e.l.Update(ctx, []fslease.Key{key}, func(tx fslease.Tx) error { return tx.SetActive(id, true) })
			return "listed the active session of ticket " + id, err
		}
	}
}

// marks looks at what makes reconcile look.
func (e *examination) marks() {
	ids, err := e.r.Active()
	if err != nil {
		e.trouble("tickets", Broken, err)
		return
	}
	for _, id := range ids {
		idle := func() bool { return !e.activeNow(id) && e.l.has(activePath(id)) }
		if !idle() || !e.still(fslease.TicketKey(id), idle) {
			continue
		}
		f := e.warn("tickets", fmt.Sprintf("active/ lists ticket %s, which has no active session: a crash left it", id), "lease reconcile clears it")
		f.Path, f.Key = e.l.file(activePath(id)), fslease.TicketKey(id)
	}
}

// activeNow reports whether a ticket has an active session, or that cannot be told, which is a finding of
// its own.
func (e *examination) activeNow(id string) bool {
	t, err := e.r.Ticket(id)
	if err != nil || t == nil {
		return err != nil
	}
	s, err := e.r.Session(id, t.Session)
	return err != nil || s != nil && s.Status == fslease.SessionActive
}

// reservations looks for leases of tickets that do not count, and for live tickets that lack one.
func (e *examination) reservations(tickets map[string]*fslease.Ticket) {
	reserved := map[fslease.Key]string{}
	for _, st := range e.leases {
		rec := *st.Lease
		if !rec.Holder.IsTicket() {
			continue
		}
		reserved[rec.Key] = rec.Holder.Ticket
		if tickets[rec.Holder.Ticket].Reserves(rec) || !e.still(rec.Key, func() bool { return e.void(rec) }) {
			continue
		}
		f := e.warn("tickets", fmt.Sprintf("reserved for ticket %s, which does not need it any more: it keeps nobody out", rec.Holder.Ticket), "lease doctor --repair removes it, and so does the next who wants the key")
		f.Path, f.Key = e.l.file(leasePath(rec.Key)), rec.Key
		f.mend = func(ctx context.Context) (string, error) { return e.l.mendVoid(ctx, rec) }
	}
	for id, t := range tickets {
		if !t.Status.Live() {
			continue
		}
		for _, k := range t.Keys() {
			if reserved[k] == id || !e.still(k, func() bool { return !e.reservedFor(k, id) }) {
				continue
			}
			f := e.broken("tickets", fmt.Sprintf("ticket %s is %s, but %s is not reserved for it any more: the record was lost", id, t.Status, k), "lease doctor --repair reserves it again, unless somebody has it by now")
			f.Path, f.Key = e.l.file(leasePath(k)), k
			f.mend = func(ctx context.Context) (string, error) { return e.l.mendReservation(ctx, k, id) }
		}
	}
}

// void reports whether rec is on record, as a reservation that does not count.
func (e *examination) void(rec fslease.Record) bool {
	st, err := e.r.Load(rec.Key)
	cur := st.Current()
	if err != nil || cur == nil || cur.Generation != rec.Generation || !cur.Holder.IsTicket() {
		return false
	}
	t, err := e.r.Ticket(cur.Holder.Ticket)
	return err == nil && !t.Reserves(*cur)
}

// reservedFor reports whether k is reserved for a ticket, or the ticket does not need it any more.
func (e *examination) reservedFor(k fslease.Key, id string) bool {
	t, err := e.r.Ticket(id)
	if err != nil || t == nil || !t.Status.Live() {
		return true
	}
	st, err := e.r.Load(k)
	cur := st.Current()
	return err != nil || cur != nil && cur.Holder.IsTicket() && cur.Holder.Ticket == id
}

// sessionOf returns the ticket's part and the generation of the path of a session.
func sessionOf(name string) (folder string, gen int64, err error) {
	folder, file, _ := strings.Cut(strings.TrimPrefix(name, sessionsDir+"/"), "/")
	gen, err = strconv.ParseInt(strings.TrimSuffix(file, ".json"), 10, 64)
	if err == nil && gen < 1 {
		err = fs.ErrInvalid
	}
	return folder, gen, err
}
