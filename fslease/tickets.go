package fslease

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// An Act is a request to change a ticket.
type Act struct {
	Verb   Verb
	Token  int64    // of the current session; 0: none
	Force  bool     // an operator without the token
	Reason string   // why, with Force
	Note   string   // of a checkpoint or transition
	Fail   *Failure // to record
	By     string   // who, for the history
}

// AddTicket writes a new ticket, PROPOSED. A known id is a *ConflictError. Scope keys that another one
// covers are dropped.
func (m *Manager) AddTicket(ctx context.Context, id, title string, scope []Key, by string) (Ticket, error) {
	if err := CheckTicketID(id); err != nil {
		return Ticket{}, err
	}
	if strings.ToValidUTF8(title, "") != title {
		return Ticket{}, &ConfigError{What: "the title is not UTF-8", Hint: "write it in UTF-8"}
	}
	for _, k := range scope {
		if _, ok := k.Ticket(); ok {
			return Ticket{}, &ConfigError{What: fmt.Sprintf("%s stands for a ticket and cannot be in a scope", k), Hint: "a scope is what the work touches, such as repo/api"}
		}
	}
	t := Ticket{ID: id, Title: title, Status: Proposed, Scope: FoldKeys(scope)}
	if t.size() > maxTicketBytes {
		return Ticket{}, &ConfigError{What: fmt.Sprintf("ticket %s has %d bytes, more than %d", id, t.size(), maxTicketBytes), Hint: "shorten its title, or name keys that cover more"}
	}
	err := m.ledger.Update(ctx, []Key{TicketKey(id)}, func(tx Tx) error {
		known, err := tx.Ticket(id)
		if err != nil {
			return err
		}
		if known != nil {
			return &ConflictError{Ticket: id, Status: known.Status, What: fmt.Sprintf("ticket %s is known already: it is %s", id, known.Status), Hint: "lease ticket show " + id + " says more"}
		}
		now := tx.Now()
		t.CreatedAt, t.UpdatedAt = now.Wall, now.Wall
		t.History = []Move{{At: now.Wall, To: Proposed, By: by, Reason: "add"}}
		if err := tx.PutTicket(t); err != nil {
			return err
		}
		logMove(tx, t, "")
		return nil
	})
	return t, err
}

func logMove(tx Tx, t Ticket, reason string) {
	tx.Log(Event{Event: "ticket_" + strings.ToLower(string(t.Status)), Ticket: t.ID, Generation: t.Session, Reason: reason})
}

// TicketAct does what act says, all or nothing. The token is judged before the status: that of an ended
// session is a *LostError, whatever the ticket allows. It returns the ticket as it is afterwards.
func (m *Manager) TicketAct(ctx context.Context, id string, act Act) (Ticket, error) {
	if err := CheckTicketID(id); err != nil {
		return Ticket{}, err
	}
	reason := act.Reason
	if reason == "" {
		reason = act.Note
	}
	for _, text := range []string{act.Note, act.Reason} {
		if err := CheckNote(text); err != nil {
			return Ticket{}, err
		}
	}
	var after Ticket
	err := m.withTicket(ctx, id, func(tx Tx, t Ticket) error {
		s, err := activeSession(tx, t)
		if err != nil {
			return err
		}
		if err := mayAct(tx, t, s, act); err != nil {
			return err
		}
		to, err := t.Target(act.Verb)
		if err != nil {
			return err
		}
		if act.Verb == VerbCheckpoint {
			after = t
			if s == nil {
				return &LostError{Key: TicketKey(id), Generation: t.Session, Reason: "the session is not on record any more"}
			}
			return tx.PutSession(s.Checkpointed(act.Note, tx.Now()))
		}
		after = t.Moved(to, act.By, reason, act.Fail, tx.Now())
		if err := EndSession(tx, after, s, SessionEnded); err != nil {
			return err
		}
		logMove(tx, after, reason)
		return nil
	})
	return after, err
}

// withTicket runs fn under the locks of a ticket and its scope. The scope is read before the locks and
// again under them.
func (m *Manager) withTicket(ctx context.Context, id string, fn func(Tx, Ticket) error) error {
	for {
		before, err := m.ticket(m.ledger.View(ctx), id)
		if err != nil {
			return err
		}
		moved := false
		err = m.ledger.Update(ctx, before.Keys(), func(tx Tx) error {
			t, err := m.ticket(tx, id)
			if err != nil {
				return err
			}
			if moved = !slices.Equal(t.Keys(), before.Keys()); moved {
				return nil
			}
			return fn(tx, t)
		})
		if err != nil || !moved {
			return err
		}
	}
}

// ticket reads a ticket that must exist.
func (m *Manager) ticket(r Reader, id string) (Ticket, error) {
	t, err := r.Ticket(id)
	if err != nil {
		return Ticket{}, err
	}
	if t == nil {
		return Ticket{}, &ConflictError{Ticket: id, What: "there is no ticket " + id, Hint: "lease ticket ls lists them, lease ticket add " + id + " makes one"}
	}
	return *t, nil
}

// activeSession returns the session of t that is active, nil if none is. The ticket is what counts: a
// session that a crash left active after its ticket moved on has ended.
func activeSession(r Reader, t Ticket) (*Session, error) {
	if t.Status != InProgress {
		return nil, nil
	}
	s, err := r.Session(t.ID, t.Session)
	if err != nil || s == nil || s.Status != SessionActive {
		return nil, err
	}
	return s, nil
}

// mayAct judges the token of act, before anything else. Where none is given, one is needed only while a
// session works on the ticket.
func mayAct(tx Tx, t Ticket, s *Session, act Act) error {
	if act.Token != 0 {
		return checkSession(tx, t, s, act.Token)
	}
	if _, err := t.Target(act.Verb); err != nil || act.Force || t.Status != InProgress {
		return err
	}
	return &ConfigError{What: fmt.Sprintf("ticket %s is IN_PROGRESS: %s needs the token of its session", t.ID, act.Verb),
		Hint: "give --token N (start printed it), or as an operator --force --reason TEXT"}
}

// checkSession fails with a *LostError unless token is that of the active session s of t (nil: none is active),
// and the whole scope is still reserved for it: what a hand took away may be somebody else's by now.
func checkSession(tx Tx, t Ticket, s *Session, token int64) error {
	lost := &LostError{Key: TicketKey(t.ID), Generation: token}
	switch {
	case t.Session > token:
		lost.Current, lost.Reason = t.Session, takenOver(t.Session)
		return lost
	case t.Session < token:
		lost.Reason = "it was never given out"
		return lost
	case s == nil:
		lost.Reason = "the session has ended, the ticket is " + string(t.Status)
		return lost
	}
	for _, k := range t.Keys() {
		st, err := tx.Load(k)
		if err != nil {
			return err
		}
		if cur := st.Current(); cur == nil || !cur.Holder.IsTicket() || cur.Holder.Ticket != t.ID || cur.Holder.Session != token {
			lost.Reason = fmt.Sprintf("the reservation of %s is gone", k)
			return lost
		}
	}
	return nil
}
