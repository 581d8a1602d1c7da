package ledgerfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"fslease/fslease"
)

// Ticket reads one ticket.
func (r *reader) Ticket(id string) (*fslease.Ticket, error) {
	name := ticketPath(id)
	var t fslease.Ticket
	ok, err := r.load(name, fslease.TicketKey(id), &t)
	if !ok {
		return nil, err
	}
	if t.ID != id {
		return nil, r.l.damaged(name, fslease.TicketKey(id), fmt.Errorf("it is the ticket %q", t.ID))
	}
	return &t, nil
}

// Session reads one session of a ticket.
func (r *reader) Session(id string, gen int64) (*fslease.Session, error) {
	name := sessionPath(id, gen)
	var s fslease.Session
	ok, err := r.load(name, fslease.TicketKey(id), &s)
	if !ok {
		return nil, err
	}
	if s.Ticket != id || s.Generation != gen {
		return nil, r.l.damaged(name, fslease.TicketKey(id), fmt.Errorf("it is session %d of ticket %q", s.Generation, s.Ticket))
	}
	return &s, nil
}

// Sessions lists the sessions of a ticket.
func (r *reader) Sessions(id string) ([]int64, error) {
	dir := sessionsDir + "/" + encodeSegment(id)
	names, err := r.l.fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, r.l.fail(dir, err)
	}
	var generations []int64
	for _, n := range names {
		number, ok := strings.CutSuffix(n, ".json")
		if g, err := strconv.ParseInt(number, 10, 64); ok && err == nil && g > 0 {
			generations = append(generations, g)
		}
	}
	slices.Sort(generations)
	return generations, nil
}

// Tickets calls visit with each ticket.
func (r *reader) Tickets(visit func(string, *fslease.Ticket, error) error) error {
	var ids []string
	strange := map[string]error{} // what is wrong with a file whose name is not the id's
	err := r.walkFiles(ticketsDir, func(name string) error {
		segment := strings.TrimSuffix(strings.TrimPrefix(name, ticketsDir+"/"), ".json")
		id := string(decodePath(segment))
		if ticketPath(id) != name {
			var t fslease.Ticket
			ok, err := r.load(name, fslease.TicketKey(id), &t)
			switch {
			case err != nil:
				strange[id] = err
			case ok && ticketPath(t.ID) != name:
				strange[id] = r.l.damaged(name, fslease.TicketKey(id), fmt.Errorf("it is the ticket %q", t.ID))
			default:
				id = t.ID
			}
		}
		ids = append(ids, id)
		return nil
	})
	if err != nil {
		return err
	}
	slices.Sort(ids) // the files are in the order of their names
	for _, id := range ids {
		t, err := (*fslease.Ticket)(nil), strange[id]
		if err == nil {
			t, err = r.Ticket(id)
		}
		if t == nil && err == nil {
			continue // gone meanwhile
		}
		if err := visit(id, t, err); err != nil {
			return err
		}
	}
	return nil
}

// Active lists the tickets that may have an active session. The name of an overlong id is not the id:
// those are looked up among the tickets.
func (r *reader) Active() ([]string, error) {
	names, err := r.l.fsys.List(activeDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, r.l.fail(activeDir, err)
	}
	var ids []string
	for _, n := range names {
		if strings.HasPrefix(n, ".") || strings.HasSuffix(n, "/") {
			continue
		}
		id := string(decodePath(n))
		if encodeSegment(id) != n {
			var t fslease.Ticket
			if ok, err := r.load(ticketsDir+"/"+n+".json", "", &t); err != nil || !ok {
				continue
			}
			id = t.ID
		}
		if fslease.CheckTicketID(id) != nil {
			continue // no file of ours
		}
		ids = append(ids, id)
	}
	slices.Sort(ids) // the files are in the order of their names
	return ids, nil
}

// PutTicket writes a ticket, durably.
func (t *tx) PutTicket(ticket fslease.Ticket) error {
	return t.save(ticketPath(ticket.ID), fslease.TicketKey(ticket.ID), ticket, durable)
}

// PutSession writes a session, durably.
func (t *tx) PutSession(s fslease.Session) error {
	if s.Holder != nil {
		h, err := t.recordable(*s.Holder)
		if err == nil && s.Status != fslease.SessionActive {
			err = t.l.noteOrphan(h)
		}
		if err != nil {
			return err
		}
		s.Holder = &h
	}
	return t.save(sessionPath(s.Ticket, s.Generation), fslease.TicketKey(s.Ticket), s, durable)
}

// SetActive makes or removes the file that says that a ticket may have an active session. The file is
// durable: without it nobody would look at the session again.
func (t *tx) SetActive(id string, active bool) error {
	name := activePath(id)
	if !active {
		if err := t.l.fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return t.l.fail(name, err)
		}
		return nil
	}
	if err := t.l.mkdirAll(activeDir, true); err != nil { // durable too
		return t.l.fail(activeDir, err)
	}
	err := t.l.link(name, nil, false, nil)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return t.l.fail(name, err)
	}
	return t.l.syncAfter(name)
}
