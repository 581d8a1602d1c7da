package ledgerfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fslease/fslease"
)

// mendTicket sets a damaged ticket aside and makes it anew from the reservations that name it, so that what
// it had reserved stays reserved: IN_PROGRESS if its session is still active, so that whoever works on it
// goes on with the same token, and BLOCKED otherwise, so that somebody decides. A ticket that had nothing
// reserved is not made anew.
func (l *Ledger) mendTicket(ctx context.Context, name string) (string, error) {
	id, reserved, err := l.reservationsOf(name)
	if err != nil {
		return "", err
	}
	if id == "" {
		return l.mendByMoving(name)
	}
	done := ""
	own := fslease.TicketKey(id)
	err = l.Update(ctx, append(slices.Clone(reserved), own), func(tx fslease.Tx) error {
		done = ""
		if _, err := tx.Ticket(id); !isDamaged(err) {
			return err
		}
		again, now, err := l.reservationsOf(name)
		if err != nil || again != id || !slices.Equal(now, reserved) {
			return err // changed meanwhile: the next round sees it
		}
		title := l.salvageTitle(name)
		aside, err := l.setAside(name)
		if err != nil {
			return err
		}
		done = "kept it as " + aside
		if len(reserved) == 0 {
			return nil
		}
		s, err := lastSession(tx, id)
		if err != nil {
			return err
		}
		scope := slices.DeleteFunc(now, func(k fslease.Key) bool { return k == own })
		t := rebuilt(id, title, scope, s, "its record was damaged and is kept as "+aside, tx.Now())
		if err := tx.PutTicket(t); err != nil {
			return err
		}
		done += fmt.Sprintf(", and made ticket %s anew as %s with what is reserved for it: look at its scope, and decide", id, t.Status)
		return nil
	})
	return done, err
}

// rebuilt is a ticket made from what is reserved for it and its last session.
func rebuilt(id, title string, scope []fslease.Key, s *fslease.Session, why string, now fslease.Instant) fslease.Ticket {
	t := fslease.Ticket{ID: id, Title: title, Scope: scope, CreatedAt: now.Wall, UpdatedAt: now.Wall}
	if s != nil {
		t.Session = s.Generation
	}
	if s != nil && s.Status == fslease.SessionActive {
		return t.Moved(fslease.InProgress, operator(), why, nil, now)
	}
	return t.Moved(fslease.Blocked, operator(), why, &fslease.Failure{Kind: fslease.FailureBroken, At: now.Wall, Session: t.Session, Detail: why}, now)
}

// reservationsOf returns the ticket whose file is name, and the keys that are reserved for it, in order. The
// file name does not always tell the ticket; a reservation does.
func (l *Ledger) reservationsOf(name string) (id string, reserved []fslease.Key, err error) {
	if guess := ticketAt(name); ticketPath(guess) == name && fslease.CheckTicketID(guess) == nil {
		id = guess
	}
	r := &reader{l: l}
	err = r.Walk("", false, func(_ fslease.Key, st fslease.State, err error) error {
		cur := st.Current()
		if err != nil || cur == nil || !cur.Holder.IsTicket() || ticketPath(cur.Holder.Ticket) != name {
			return ignoreUnreadable(err)
		}
		id, reserved = cur.Holder.Ticket, append(reserved, cur.Key)
		return nil
	})
	return id, reserved, err
}

// lastSession returns the newest session of a ticket that can be read, nil if there is none.
func lastSession(r fslease.Reader, id string) (*fslease.Session, error) {
	generations, err := r.Sessions(id)
	if err != nil {
		return nil, err
	}
	for _, g := range slices.Backward(generations) {
		s, err := r.Session(id, g)
		if ignoreUnreadable(err) != nil {
			return nil, err
		}
		if err == nil && s != nil {
			return s, nil
		}
	}
	return nil, nil
}

// salvageTitle returns the title in a damaged ticket, if that much can be read.
func (l *Ledger) salvageTitle(name string) string {
	data, err := l.fsys.ReadFile(name)
	var named struct{ Title string }
	if err != nil || json.Unmarshal(data, &named) != nil {
		return ""
	}
	return named.Title
}

// mendSession sets a damaged session aside. If its ticket is in progress by it, the ticket is blocked:
// what it reserved stays reserved, and whoever worked on it is told at the next checkpoint.
func (l *Ledger) mendSession(ctx context.Context, name string) (string, error) {
	folder, gen, err := sessionOf(name)
	if err != nil {
		return l.mendByMoving(name)
	}
	id, t, err := l.ticketOfSessions(folder)
	if err != nil {
		return "", err
	}
	if id == "" {
		return l.mendByMoving(name)
	}
	keys := []fslease.Key{fslease.TicketKey(id)}
	if t != nil {
		keys = t.Keys()
	}
	done := ""
	err = l.Update(ctx, keys, func(tx fslease.Tx) error {
		done = ""
		s, err := tx.Session(id, gen)
		switch {
		case isDamaged(err):
			aside, err := l.setAside(name)
			if err != nil {
				return err
			}
			done = "kept it as " + aside
		case err != nil || s != nil && s.Status == fslease.SessionActive:
			return err
		}
		now, err := tx.Ticket(id)
		if err != nil || now == nil || now.Status != fslease.InProgress || now.Session != gen || !slices.Equal(now.Keys(), keys) {
			return err
		}
		failure := fslease.Failure{Kind: fslease.FailureBroken, At: tx.Now().Wall, Session: gen, Detail: "the record of its session was lost"}
		if err := fslease.EndSession(tx, now.Moved(fslease.Blocked, operator(), failure.Kind, &failure, tx.Now()), nil, fslease.SessionEnded); err != nil {
			return err
		}
		if done != "" {
			done += ", and "
		}
		done += fmt.Sprintf("blocked ticket %s, whose current session it was: its scope stays reserved until somebody decides", id)
		return nil
	})
	return done, err
}

// ticketOfSessions returns the id of the ticket whose sessions are in a folder, and the ticket if it can be
// read.
func (l *Ledger) ticketOfSessions(folder string) (id string, t *fslease.Ticket, err error) {
	r := &reader{l: l}
	name := ticketsDir + "/" + folder + ".json"
	if guess := ticketAt(name); ticketPath(guess) == name && fslease.CheckTicketID(guess) == nil {
		id = guess
		t, err = r.Ticket(id)
	} else {
		var read fslease.Ticket
		ok, lerr := r.load(name, "", &read)
		if err = lerr; ok && ticketPath(read.ID) == name {
			id, t = read.ID, &read
		}
	}
	var re *fslease.RepositoryError
	if errors.As(err, &re) && re.Fault == fslease.FaultDamaged {
		return id, nil, nil
	}
	return id, t, err
}

// ticketAt is the ticket that the path of a file most likely belongs to.
func ticketAt(name string) string { return string(decodePath(string(keyFromPath(name)))) }
