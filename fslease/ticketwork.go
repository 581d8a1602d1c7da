package fslease

import (
	"context"
	"time"
)

// Work is a session of a ticket that this process works in. The lease is the session's: its token is that
// of the ticket's key, its renewals are checkpoints, and its fence is that of the whole scope.
type Work struct {
	*Lease
	Session Session
	tenure  *sessionTenure
}

// WorkOn starts a session that is bound to this process, which runs command, and keeps it until End or
// the end of ctx. The fence of the ticket's key and its scope is held.
func (m *Manager) WorkOn(ctx context.Context, req Start, command []string) (*Work, error) {
	me, err := m.ledger.Announce(ctx, command)
	if err != nil {
		return nil, err
	}
	holder := me.Holder()
	req.Bound = &holder
	s, fence, keys, err := m.startFenced(ctx, req, me)
	if err != nil {
		_ = me.Close()
		return nil, err
	}
	tenure := &sessionTenure{session: s, held: keys, by: req.By}
	l := &Lease{m: m, me: me, ownsMe: true, keys: keys, ttl: s.Lease, heartbeat: s.Lease / HeartbeatsPerTTL, fence: fence, tenure: tenure}
	stamp := s.Deadline - int64(s.Lease)
	for _, k := range keys {
		l.records = append(l.records, Record{Key: k, Generation: s.Generation, AcquiredAt: s.StartedAt, RenewedAt: s.StartedAt, RenewedMono: stamp, TTL: s.Lease, Holder: holder})
	}
	l.hold(ctx)
	return &Work{Lease: l, Session: s, tenure: tenure}, nil
}

// End ends the session as act says (review, done, block with a failure), gives up the fence's part of this
// process, and with act nil leaves the ticket as it is. The token of act is filled in.
func (w *Work) End(act *Act) error {
	w.tenure.act = act
	return w.Release()
}

// sessionTenure is that of a ticket's session: records are not its own, the session is.
type sessionTenure struct {
	session Session
	held    []Key
	act     *Act
	by      string
}

func (s *sessionTenure) keys() []Key { return s.held }

// current returns the ticket and its session if that is still the one of this tenure.
func (s *sessionTenure) current(tx Tx) (Ticket, Session, error) {
	lost := &LostError{Key: TicketKey(s.session.Ticket), Generation: s.session.Generation, Reason: "the session has ended"}
	t, err := tx.Ticket(s.session.Ticket)
	if err != nil || t == nil {
		return Ticket{}, Session{}, orLost(err, lost)
	}
	now, err := tx.Session(t.ID, s.session.Generation)
	if err != nil {
		return Ticket{}, Session{}, err
	}
	if t.Session > s.session.Generation {
		lost.Current = t.Session
		lost.Reason = takenOver(t.Session)
		return Ticket{}, Session{}, lost
	}
	if now == nil || now.Status != SessionActive || t.Status != InProgress || t.Session != now.Generation {
		lost.Reason += ", the ticket is " + string(t.Status)
		return Ticket{}, Session{}, lost
	}
	return *t, *now, nil
}

func orLost(err error, lost *LostError) error {
	if err != nil {
		return err
	}
	return lost
}

func (s *sessionTenure) renew(tx Tx, records []Record) ([]Record, error) {
	_, cur, err := s.current(tx)
	if err != nil {
		return nil, err
	}
	now := tx.Now()
	if err := tx.PutSession(cur.Checkpointed("", now)); err != nil {
		return nil, err
	}
	fresh := append([]Record(nil), records...)
	for i := range fresh {
		fresh[i].RenewedAt, fresh[i].RenewedMono = now.Wall, now.Mono
	}
	return fresh, nil
}

func (s *sessionTenure) check(tx Tx, _ []Record) error {
	_, _, err := s.current(tx)
	return err
}

func (s *sessionTenure) end(tx Tx, _ []Record) error {
	t, cur, err := s.current(tx)
	if err != nil || s.act == nil {
		return err
	}
	to, err := t.Target(s.act.Verb)
	if err != nil {
		return err
	}
	if s.act.Fail != nil {
		s.act.Fail.At, s.act.Fail.Session = tx.Now().Wall, cur.Generation
	}
	after := t.Moved(to, s.by, s.act.Reason, s.act.Fail, tx.Now())
	if err := EndSession(tx, after, &cur, SessionEnded); err != nil {
		return err
	}
	logMove(tx, after, s.act.Reason)
	return nil
}

// Until returns how long a session lasts from now on, on the clock of now; never for one that ran out.
func (s Session) Until(now Instant) time.Duration {
	if s.RanOut(now) {
		return 0
	}
	if s.BootID == now.BootID && s.TimeNS == now.TimeNS {
		return time.Duration(s.Deadline - now.Mono)
	}
	return s.LeaseUntil.Sub(now.Wall)
}
