package fslease

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
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

// AddTicket writes a new ticket, PROPOSED. A known id is a *ConflictError.
func (m *Manager) AddTicket(ctx context.Context, id, title string, scope []Key, by string) (Ticket, error) {
	if err := CheckTicketID(id); err != nil {
		return Ticket{}, err
	}
	if strings.ToValidUTF8(title, "") != title {
		return Ticket{}, &ConfigError{What: "the title is not UTF-8"}
	}
	for _, k := range scope {
		if _, ok := k.Ticket(); ok {
			return Ticket{}, &ConfigError{What: fmt.Sprintf("%s stands for a ticket and cannot be in a scope", k), Hint: "a scope is what the work touches, such as repo/api"}
		}
	}
	var t Ticket
	err := m.ledger.Update(ctx, []Key{TicketKey(id)}, func(tx Tx) error {
		known, err := tx.Ticket(id)
		if err != nil {
			return err
		}
		if known != nil {
			return &ConflictError{Ticket: id, Status: known.Status, What: fmt.Sprintf("ticket %s is known already: it is %s", id, known.Status), Hint: "lease ticket show " + id}
		}
		now := tx.Now()
		t = Ticket{ID: id, Title: title, Status: Proposed, Scope: dedupe(scope), CreatedAt: now.Wall, UpdatedAt: now.Wall}
		t.History = []Move{{At: now.Wall, To: Proposed, By: by, Reason: "add"}}
		if err := tx.PutTicket(t); err != nil {
			return err
		}
		logMove(tx, t, "")
		return nil
	})
	return t, err
}

func dedupe(keys []Key) []Key {
	var out []Key
	for _, k := range keys {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
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
	if err := CheckNote(act.Note + act.Reason); err != nil {
		return Ticket{}, err
	}
	var after Ticket
	err := m.withTicket(ctx, id, func(tx Tx, t Ticket) error {
		s, err := m.activeSession(tx, t)
		if err != nil {
			return err
		}
		if err := m.mayAct(tx, t, s, act); err != nil {
			return err
		}
		to, err := t.Target(act.Verb)
		if err != nil {
			return err
		}
		now := tx.Now()
		if act.Verb == VerbCheckpoint {
			after = t
			return tx.PutSession(s.Checkpointed(act.Note, now))
		}
		reason := act.Reason
		if reason == "" {
			reason = act.Note
		}
		after = t.Moved(to, act.By, reason, act.Fail, now)
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
		return Ticket{}, &ConflictError{Ticket: id, What: "there is no ticket " + id, Hint: "lease ticket add " + id + ", or look with lease ticket ls"}
	}
	return *t, nil
}

// activeSession returns the session of t that is active, nil if none is.
func (m *Manager) activeSession(r Reader, t Ticket) (*Session, error) {
	if t.Session == 0 {
		return nil, nil
	}
	s, err := r.Session(t.ID, t.Session)
	if err != nil || s == nil || s.Status != SessionActive || t.Status != InProgress {
		return nil, err
	}
	return s, nil
}

// mayAct judges the token of act, before anything else.
func (m *Manager) mayAct(tx Tx, t Ticket, s *Session, act Act) error {
	if act.Token != 0 {
		if s != nil && s.Generation == act.Token {
			st, err := tx.Load(TicketKey(t.ID))
			if err != nil {
				return err
			}
			if _, err := CheckToken(TicketKey(t.ID), st, act.Token, ""); err != nil {
				return err
			}
			return nil
		}
		lost := &LostError{Key: TicketKey(t.ID), Generation: act.Token, Reason: "the session has ended, the ticket is " + string(t.Status)}
		if t.Session > act.Token {
			lost.Current, lost.Reason = t.Session, takenOver(t.Session)
		}
		return lost
	}
	if act.Force || t.Status != InProgress {
		return nil
	}
	return &ConfigError{What: fmt.Sprintf("ticket %s is IN_PROGRESS: %s needs the token of its session", t.ID, act.Verb),
		Hint: "give --token N (start printed it), or as an operator --force --reason TEXT"}
}

// EndSession writes t, which has just left or is not IN_PROGRESS, and ends its session s (nil: it has
// none): the ticket first, which is what counts, then the session, then the reservations that do not count
// any more, and last what makes reconcile look. A crash in between leaves nothing that blocks anybody for
// good.
func EndSession(tx Tx, t Ticket, s *Session, status SessionStatus) error {
	if err := tx.PutTicket(t); err != nil {
		return err
	}
	if s != nil {
		if err := tx.PutSession(s.Ended(status)); err != nil {
			return err
		}
	}
	if err := DropReservations(tx, t); err != nil {
		return err
	}
	return tx.SetActive(t.ID, false)
}

// DropReservations removes the leases of t that do not count: those of a ticket that is not live, and on
// keys that it does not list.
func DropReservations(tx Tx, t Ticket) error {
	for _, k := range t.Keys() {
		st, err := tx.Load(k)
		if err != nil {
			return err
		}
		cur := st.Current()
		if cur == nil || cur.Holder.Ticket != t.ID || !cur.Holder.IsTicket() || t.Reserves(*cur) {
			continue
		}
		tomb := Buried(*cur, st.Tomb, ReasonReleased, tx.Now())
		if err := tx.Bury(*cur, tomb); err != nil {
			return err
		}
		tx.Log(Event{Event: EventReleased, Key: k, Generation: cur.Generation, Revision: tomb.Revision})
	}
	return nil
}

// Expire ends a session that lapsed: ticket BLOCKED with the failure, the scope stays reserved.
func Expire(tx Tx, t Ticket, s Session, failure Failure, by string) error {
	status := SessionExpired
	if failure.Kind == FailureBroken {
		status = SessionEnded
	}
	t = t.Moved(Blocked, by, failure.Kind, &failure, tx.Now())
	if err := EndSession(tx, t, &s, status); err != nil {
		return err
	}
	tx.Log(Event{Event: "session_expired", Ticket: t.ID, Generation: s.Generation, Reason: failure.Kind})
	logMove(tx, t, failure.Kind)
	return nil
}

// BreakTicket breaks the session of a ticket: it ends, the ticket is BLOCKED with failure broken. It
// reports false if there is no active session.
func (m *Manager) BreakTicket(ctx context.Context, id, why, by string) (bool, error) {
	broken := false
	err := m.withTicket(ctx, id, func(tx Tx, t Ticket) error {
		broken = false
		s, err := m.activeSession(tx, t)
		if err != nil || s == nil {
			return err
		}
		now := tx.Now()
		failure := Failure{Kind: FailureBroken, At: now.Wall, Session: s.Generation, Detail: why}
		if err := Expire(tx, t, *s, failure, by); err != nil {
			return err
		}
		tx.Log(Event{Event: EventBroken, Ticket: id, Generation: s.Generation, Reason: why})
		broken = true
		return nil
	})
	return broken, err
}

// CheckSessionLease refuses a session length that cannot work.
func CheckSessionLease(d time.Duration) error {
	if err := CheckTTL(d); err != nil {
		return &ConfigError{What: "session: " + err.Error(), Hint: "use a length such as 15m"}
	}
	return nil
}
