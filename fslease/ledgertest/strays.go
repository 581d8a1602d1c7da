package ledgertest

import (
	"context"
	"fmt"
	"time"

	"fslease/fslease"
	"fslease/reconcile"
)

var strayCases = []testCase{
	{"crash of a start", "a session that its ticket does not name is closed by the pass, and by the next start if no pass comes before", func(s *suite) {
		for _, passes := range []bool{true, false} {
			id := fmt.Sprint(passes)
			m, l := s.manager()
			s.bring(m, id, fslease.Blocked)
			stray := fslease.Session{Ticket: id, Generation: 5, Status: fslease.SessionActive, Lease: time.Hour, LeaseUntil: time.Now().Add(time.Hour)}
			s.update(l, func(tx fslease.Tx) error {
				if err := tx.SetActive(id, true); err != nil {
					return err
				}
				return tx.PutSession(stray)
			}, fslease.TicketKey(id))
			want := fslease.SessionEnded
			if passes {
				s.reconcile(2) // closed, and nobody has to look any more
				s.settled(id, 5, want)
			} else {
				token := s.start(m, id).Generation
				s.act(m, id, fslease.Act{Verb: fslease.VerbDone, Token: token}, fslease.Done)
			}
			got, err := l.View(s.Context()).Session(id, 5)
			s.ok(err)
			if got.Status != want {
				s.Errorf("the stray is %s", got.Status)
			}
			s.reconcile(0)
		}
	}},

	{"crash of an end", "what a crash left after the ticket was written is finished by the pass: the session as the ticket's failure says, reservations that do not count", func(s *suite) {
		m, l := s.manager()
		for _, failure := range []string{"", fslease.FailureExpired, fslease.FailureBroken} {
			id := "x" + failure
			s.bring(m, id, fslease.InProgress)
			t := s.ticket(id)
			t.Status = fslease.Done
			want := fslease.SessionEnded
			if failure != "" {
				t.Status = fslease.Blocked
				t.Failures = []fslease.Failure{{Kind: failure, Session: 1}}
			}
			if failure == fslease.FailureExpired {
				want = fslease.SessionExpired
			}
			s.update(l, func(tx fslease.Tx) error { return tx.PutTicket(t) }, fslease.TicketKey(id))
			if yes, err := m.Check(s.Context(), fslease.TicketKey(id), 1); yes || err != nil {
				s.Errorf("the ticket is %s, and its token is current: %v, %v", t.Status, yes, err)
			}
			_, err := m.TicketAct(s.Context(), id, fslease.Act{Verb: fslease.VerbCheckpoint, Token: 1})
			s.lost("checkpoint", err)
			s.reconcile(2)
			s.settled(id, 1, want)
			if cur := s.load(l, fslease.Key("scope-"+id)).Current(); (cur != nil) != t.Status.Live() {
				s.Errorf("the ticket is %s, its scope %+v", t.Status, cur)
			}
			s.reconcile(0)
		}
	}},

	{"missing session", "a ticket whose session is gone from the record is BLOCKED by the pass, not IN_PROGRESS for ever", func(s *suite) {
		m, l := s.manager()
		s.bring(m, "42", fslease.Ready)
		t := s.ticket("42")
		t.Status, t.Session = fslease.InProgress, 7
		s.update(l, func(tx fslease.Tx) error {
			if err := tx.SetActive("42", true); err != nil {
				return err
			}
			return tx.PutTicket(t)
		}, "ticket:42")
		_, err := m.TicketAct(s.Context(), "42", fslease.Act{Verb: fslease.VerbCheckpoint, Force: true, Reason: "test"})
		s.lost("a checkpoint of no session", err)
		s.reconcile(1)
		if t := s.ticket("42"); t.Status != fslease.Blocked || len(t.Failures) != 1 || t.Failures[0].Kind != fslease.FailureExpired || t.Failures[0].Session != 7 {
			s.Errorf("ticket %+v", t)
		}
		s.reconcile(0)
		if again := s.start(m, "42"); again.Status != fslease.SessionActive {
			s.Errorf("started %+v", again)
		}
	}},

	{"lapsed", "a session that ran out is not active any more, also if nobody has passed by yet", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		m, _ := s.manager()
		s.ticketFor(m, "42", "repo")
		_, err := m.StartTicket(s.Context(), fslease.Start{Ticket: "42", Lease: time.Minute})
		s.ok(err)
		s.Advance(time.Minute - 1)
		for _, yes := range []bool{true, false} {
			for _, k := range keys("ticket:42", "repo") {
				if got, err := m.Check(s.Context(), k, 1); err != nil || got != yes {
					s.Errorf("check %s: %v, %v, want %v", k, got, err, yes)
				}
				f, err := m.Fenced(s.Context(), k, 1, false, nil)
				if yes {
					s.ok(err)
					s.ok(f.Unlock())
				} else {
					s.lost("fenced", err)
				}
			}
			s.Advance(1)
		}
	}},

	{"busy", "the pass waits for nobody: a ticket whose locks are held is left to the next one, and said to be busy", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		m, l := s.manager()
		for _, id := range []string{"1", "2"} {
			s.ticketFor(m, id, "repo"+id)
			_, err := m.StartTicket(s.Context(), fslease.Start{Ticket: id, Lease: time.Minute})
			s.ok(err)
		}
		s.Advance(time.Minute)
		s.update(s.Open(), func(fslease.Tx) error {
			acts, troubles, err := reconcile.Run(s.Context(), impatient{l, s}, by, false)
			if err != nil || len(acts) != 1 || acts[0].Ticket != "2" || len(troubles) != 1 || troubles[0].Ticket != "1" || !troubles[0].IsBusy() {
				s.Errorf("did %+v, trouble %+v, %v", acts, troubles, err)
			}
			return nil
		}, "repo1")
		s.reconcile(1)
	}},

	{"second look", "the pass decides by what it reads under the lock: what came before it there counts", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		m, l := s.manager()
		for i, c := range []struct {
			before   func(id string)
			status   fslease.Status
			failures int
		}{
			{func(id string) {
				s.act(m, id, fslease.Act{Verb: fslease.VerbCheckpoint, Token: 1}, fslease.InProgress)
			}, fslease.InProgress, 0},
			{func(id string) { s.act(m, id, fslease.Act{Verb: fslease.VerbDone, Token: 1}, fslease.Done) }, fslease.Done, 0},
			{func(string) { s.reconcile(1) }, fslease.Blocked, 1},
			{func(id string) {
				s.reconcile(1)
				s.start(m, id)
			}, fslease.InProgress, 1},
		} {
			id := fmt.Sprint(i)
			s.ticketFor(m, id, "repo"+id)
			_, err := m.StartTicket(s.Context(), fslease.Start{Ticket: id, Lease: time.Minute})
			s.ok(err)
			s.Advance(time.Minute)
			_, troubles, err := reconcile.Run(s.Context(), overtaken{l, func() { c.before(id) }}, by, false)
			if err != nil || len(troubles) > 0 {
				s.Errorf("trouble %+v, %v", troubles, err)
			}
			if t := s.ticket(id); t.Status != c.status || len(t.Failures) != c.failures {
				s.Errorf("case %d: the ticket is %s with %+v", i, t.Status, t.Failures)
			}
			if c.status != fslease.Done {
				s.act(m, id, fslease.Act{Verb: fslease.VerbCancel, Force: true, Reason: "test"}, fslease.Cancelled)
			}
		}
	}},

	{"silent", "a session is broken for its silence only if it is silent still under the lock", func(s *suite) {
		m, l := s.manager()
		s.ticketFor(m, "42", "repo")
		s.start(m, "42")
		late, err := fslease.NewManager(overtaken{l, func() {
			s.act(m, "42", fslease.Act{Verb: fslease.VerbCheckpoint, Token: 1}, fslease.InProgress)
		}}, fslease.Options{})
		s.ok(err)
		breakBy := func(m *fslease.Manager) (broken bool, err error) {
			err = wait(s, async(func() (err error) {
				broken, err = m.BreakTicketIfSilent(s.hang(), "42", "silent", "bob", time.Millisecond)
				return err
			}), "the silence")
			return broken, err
		}
		broken, err := breakBy(late)
		s.is(err, fslease.ErrHeld)
		if broken || s.ticket("42").Status != fslease.InProgress {
			s.Errorf("broken %v: %+v", broken, s.ticket("42"))
		}
		broken, err = breakBy(m)
		s.ok(err)
		if t := s.ticket("42"); !broken || t.Status != fslease.Blocked || t.Failures[0].Detail != "silent" {
			s.Errorf("broken %v: %+v", broken, t)
		}
	}},

	{"dry", "a dry pass says what a real one would do, and writes nothing", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		m, l := s.manager()
		s.ticketFor(m, "42", "repo")
		_, err := m.StartTicket(s.Context(), fslease.Start{Ticket: "42", Lease: time.Minute})
		s.ok(err)
		s.Advance(time.Minute)
		would, troubles, err := reconcile.Run(s.Context(), l, by, true)
		if err != nil || len(troubles) > 0 || len(would) != 1 || s.ticket("42").Status != fslease.InProgress {
			s.Errorf("would do %+v, trouble %+v, %v; the ticket is %s", would, troubles, err, s.ticket("42").Status)
		}
		did, _, err := reconcile.Run(s.Context(), l, by, false)
		if err != nil || len(did) != 1 || did[0] != would[0] || did[0].What != reconcile.ActExpired {
			s.Errorf("did %+v, %v; said before %+v", did, err, would)
		}
	}},
}

// overtaken is a ledger on which somebody else always gets the locks first.
type overtaken struct {
	fslease.Ledger
	by func()
}

func (o overtaken) TryUpdate(ctx context.Context, keys []fslease.Key, fn func(fslease.Tx) error) error {
	o.by()
	return o.Ledger.TryUpdate(ctx, keys, fn)
}

func (o overtaken) Update(ctx context.Context, keys []fslease.Key, fn func(fslease.Tx) error) error {
	o.by()
	return o.Ledger.Update(ctx, keys, fn)
}

// impatient is a ledger for which nobody may wait.
type impatient struct {
	fslease.Ledger
	s *suite
}

func (i impatient) Update(context.Context, []fslease.Key, func(fslease.Tx) error) error {
	i.s.Error("the pass waits for a lock")
	return nil
}
