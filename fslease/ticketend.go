package fslease

import (
	"context"
	"fmt"
	"time"
)

// EndSession writes t, which has just left or is not IN_PROGRESS, and ends its session s (nil: it has
// none): the ticket first, which is what counts, then the session, then the reservations that do not count
// any more, and last what makes reconcile look. A crash in between leaves nothing that blocks anybody for
// good, and reconcile does the rest.
func EndSession(tx Tx, t Ticket, s *Session, status SessionStatus) error {
	if err := tx.PutTicket(t); err != nil {
		return err
	}
	err := func() error {
		if s != nil {
			if err := tx.PutSession(s.Ended(status)); err != nil {
				return err
			}
		}
		if err := DropReservations(tx, t); err != nil {
			return err
		}
		return tx.SetActive(t.ID, false)
	}()
	if err != nil {
		return fmt.Errorf("ticket %s is %s now, and what follows from that is left to the next command: %w", t.ID, t.Status, err)
	}
	return nil
}

// DropReservations removes the leases of t that do not count: those of a ticket that is not live, and on
// keys that it does not list. One that cannot be removed keeps no other.
func DropReservations(tx Tx, t Ticket) error {
	var first error
	for _, k := range t.Keys() {
		if err := dropReservation(tx, t, k); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func dropReservation(tx Tx, t Ticket, k Key) error {
	st, err := tx.Load(k)
	if err != nil {
		return err
	}
	cur := st.Current()
	if cur == nil || !cur.Holder.IsTicket() || cur.Holder.Ticket != t.ID || t.Reserves(*cur) {
		return nil
	}
	return giveUp(tx, st, *cur)
}

// Expire ends a session that lapsed (nil: it is not on record any more): ticket BLOCKED with the failure,
// the scope stays reserved.
func Expire(tx Tx, t Ticket, s *Session, failure Failure, by string) error {
	event := Event{Event: EventSessionExpired, Ticket: t.ID, Generation: failure.Session, Reason: failure.Kind}
	status, reason := SessionExpired, failure.Kind
	if failure.Kind == FailureBroken {
		event.Event, event.Reason = EventBroken, failure.Detail
		status, reason = SessionEnded, reason+": "+failure.Detail
	}
	t = t.Moved(Blocked, by, reason, &failure, tx.Now())
	if err := EndSession(tx, t, s, status); err != nil {
		return err
	}
	tx.Log(event)
	logMove(tx, t, reason)
	return nil
}

// CloseStray ends a session that a crash left active although its ticket t (nil: it is gone) does not name
// it, or has moved on. What t says of it, which was written first, tells how it ended.
func CloseStray(tx Tx, t *Ticket, s Session) error {
	status := SessionEnded
	if t != nil {
		for _, f := range t.Failures {
			if f.Session == s.Generation && (f.Kind == FailureExpired || f.Kind == FailureDead) {
				status = SessionExpired
			}
		}
	}
	return tx.PutSession(s.Ended(status))
}

// BreakTicket breaks the session of a ticket: it ends, the ticket is BLOCKED with failure broken, and keeps
// its scope. It reports false if there is no active session.
func (m *Manager) BreakTicket(ctx context.Context, id, why, by string) (bool, error) {
	return m.breakTicket(ctx, id, why, by, func(Session) error { return nil })
}

func (m *Manager) breakTicket(ctx context.Context, id, why, by string, may func(Session) error) (bool, error) {
	if err := CheckNote(why); err != nil {
		return false, err
	}
	broken := false
	err := m.withTicket(ctx, id, func(tx Tx, t Ticket) error {
		s, err := activeSession(tx, t)
		if err != nil || s == nil {
			return err
		}
		if err := may(*s); err != nil {
			return err
		}
		broken = true
		failure := Failure{Kind: FailureBroken, At: tx.Now().Wall, Session: s.Generation, Detail: why}
		return Expire(tx, t, s, failure, by)
	})
	return broken && err == nil, err
}

// BreakTicketIfSilent breaks the session of a ticket if it makes no checkpoint for silence from now on, and
// fails with a *HeldError as soon as it does. It reports false if there is no active session.
func (m *Manager) BreakTicketIfSilent(ctx context.Context, id, why, by string, silence time.Duration) (bool, error) {
	var seen *Session
	view, key := m.ledger.View(ctx), TicketKey(id)
	same := func(s Session) error {
		if s.Generation == seen.Generation && s.Checkpoints == seen.Checkpoints {
			return nil
		}
		st, err := view.Load(key)
		if err != nil {
			return err
		}
		return &HeldError{Key: key, Blocking: st.Current(), Reserved: []Reserved{{id, []Key{key}}}}
	}
	silent, err := m.untilSilent(ctx, key, silence, func() (bool, error) {
		t, err := m.ticket(view, id)
		if err != nil {
			return false, err
		}
		now, err := activeSession(view, t)
		if err != nil || now == nil {
			return false, err
		}
		if seen == nil {
			seen = now
		}
		return true, same(*now)
	})
	if err != nil || !silent {
		return false, err
	}
	return m.breakTicket(ctx, id, why, by, same)
}

// CheckSessionLease refuses a session length that cannot work.
func CheckSessionLease(d time.Duration) error {
	if err := CheckTTL(d); err != nil {
		return &ConfigError{What: "session: " + err.Error(), Hint: "use a length such as 15m"}
	}
	return nil
}
