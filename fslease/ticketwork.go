package fslease

import (
	"cmp"
	"context"
)

// Work is a session of a ticket that this process works in. The lease is the session's: its token is that
// of the ticket's key, its renewals are checkpoints, and its fence is that of the whole scope.
type Work struct {
	*Lease
	tenure *sessionTenure
}

// WorkOn starts a session that is bound to this process, which runs command, and keeps it until End. The
// fence of the ticket's key, its scope and req.Also is held. The end of ctx ends the work, and leaves the
// session to its own end.
func (m *Manager) WorkOn(ctx context.Context, req Start, command []string) (*Work, error) {
	ttl, heartbeat, err := m.pace(cmp.Or(req.Lease, DefaultSession), req.Heartbeat)
	if err != nil {
		return nil, err
	}
	ownsMe := req.Presence == nil
	if ownsMe {
		if req.Presence, err = m.ledger.Announce(ctx, command); err != nil {
			return nil, err
		}
	}
	me := req.Presence
	holder := me.Holder()
	req.Bound = &holder
	st, err := m.starting(ctx, req)
	if err == nil {
		if err = st.obtain(ctx); err != nil {
			st.abandon()
		}
	}
	if err != nil {
		if ownsMe {
			_ = me.Close()
		}
		return nil, err
	}
	n := len(st.reserved)
	tenure := &sessionTenure{session: st.session, held: st.keys, scope: n, also: processTenure{st.keys[n:], holder.ID, map[Key]bool{}}, by: req.By}
	l := &Lease{
		m: m, me: me, ownsMe: ownsMe, keys: st.keys, ttl: ttl, heartbeat: heartbeat, waker: st.waker,
		records: append(st.reserved, st.records[len(st.records)-len(tenure.also.held):]...), fence: st.fence, tenure: tenure,
	}
	l.hold(ctx)
	return &Work{Lease: l, tenure: tenure}, nil
}

// Session returns the session as it was opened.
func (w *Work) Session() Session { return w.tenure.session }

// End ends the session as act says: review, done, or block with a failure. With act nil the session goes on
// without this process, for whoever has its token, as after a checkpoint. The token of act is filled in. It
// fails with a *LostError if the session was over before. Whatever it returns, this process works on the
// ticket no more.
func (w *Work) End(act *Act) error {
	w.mu.Lock()
	if !w.released {
		w.tenure.ending, w.tenure.act = true, act
	}
	w.mu.Unlock()
	return w.Release()
}

// sessionTenure is that of a ticket's session: the first records are its reservations, and stay as they
// are; the others are of this process.
type sessionTenure struct {
	session Session
	held    []Key
	scope   int // how many of them are the ticket's
	also    processTenure
	by      string

	ending bool // by End
	act    *Act
}

func (s *sessionTenure) keys() []Key { return s.held }

// active returns the ticket and its session if that is still the one of this tenure.
func (s *sessionTenure) active(tx Tx) (Ticket, Session, error) {
	id := s.session.Ticket
	t, err := tx.Ticket(id)
	if err != nil {
		return Ticket{}, Session{}, err
	}
	if t == nil {
		return Ticket{}, Session{}, &LostError{Key: TicketKey(id), Generation: s.session.Generation, Reason: "the ticket is gone"}
	}
	now, err := activeSession(tx, *t)
	if err == nil {
		err = checkSession(tx, *t, now, s.session.Generation)
	}
	if err != nil {
		return Ticket{}, Session{}, err
	}
	return *t, *now, nil
}

// renew is a checkpoint. The lease's base is when the session was written.
func (s *sessionTenure) renew(tx Tx, records []Record) ([]Record, error) {
	also, err := s.also.renew(tx, records[s.scope:])
	if err != nil {
		return nil, err
	}
	_, cur, err := s.active(tx)
	if err != nil {
		return nil, err
	}
	now := tx.Now()
	if err := tx.PutSession(cur.Renewed(now)); err != nil {
		return nil, err
	}
	fresh := append([]Record(nil), records[:s.scope]...)
	for i := range fresh {
		fresh[i].RenewedMono = now.Mono
	}
	return append(fresh, also...), nil
}

func (s *sessionTenure) check(tx Tx, records []Record) error {
	if _, _, err := s.active(tx); err != nil {
		return err
	}
	return s.also.check(tx, records[s.scope:])
}

func (s *sessionTenure) end(tx Tx, records []Record) error {
	err := s.endSession(tx)
	return graver(err, s.also.end(tx, records[s.scope:]))
}

func (s *sessionTenure) endSession(tx Tx) error {
	t, cur, err := s.active(tx)
	if err != nil || !s.ending {
		return err
	}
	if s.act == nil {
		cur.Holder = nil
		return tx.PutSession(cur.Renewed(tx.Now()))
	}
	to, err := t.Target(s.act.Verb)
	if err != nil {
		return err
	}
	fail := s.act.Fail
	if fail != nil {
		failed := *fail
		failed.At, failed.Session = tx.Now().Wall, cur.Generation
		fail = &failed
	}
	after := t.Moved(to, s.by, s.act.Reason, fail, tx.Now())
	if err := EndSession(tx, after, &cur, SessionEnded); err != nil {
		return err
	}
	logMove(tx, after, s.act.Reason)
	return nil
}
