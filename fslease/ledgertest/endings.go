package ledgertest

import (
	"errors"
	"fmt"
	"time"

	"fslease/fslease"
	"fslease/reconcile"
)

var endingCases = []testCase{
	{"expiry", "a session without a checkpoint in time is expired by whoever looks, once: BLOCKED, lease_expired, the scope reserved, the token refused; no wall clock matters", func(s *suite) {
		s.need(s.Advance != nil && s.StepWall != nil, "Advance and StepWall")
		m, _ := s.manager()
		s.ticketFor(m, "42", "repo")
		_, err := m.StartTicket(s.Context(), fslease.Start{Ticket: "42", Lease: time.Minute})
		s.ok(err)
		s.Advance(30 * time.Second)
		s.act(m, "42", fslease.Act{Verb: fslease.VerbCheckpoint, Token: 1}, fslease.InProgress)
		s.Advance(time.Minute - time.Nanosecond)
		s.StepWall(time.Hour)
		s.reconcile(0)
		s.StepWall(-3 * time.Hour)
		s.Advance(time.Nanosecond)
		handles := s.handles(8)
		s.race(8, func(i int) {
			_, troubles, err := reconcile.Run(s.Context(), handles[i], by, false)
			for _, t := range troubles {
				if !t.IsBusy() { // another one of the eight has it
					s.Errorf("reconcile: %v", t)
				}
			}
			if err != nil {
				s.Error(err)
			}
		})
		t := s.ticket("42")
		if t.Status != fslease.Blocked || len(t.Failures) != 1 || t.Failures[0].Kind != fslease.FailureExpired || t.Failures[0].Session != 1 {
			s.Errorf("ticket %+v", t)
		}
		s.settled("42", 1, fslease.SessionExpired)
		s.refused(m, "repo")
		_, err = m.TicketAct(s.Context(), "42", fslease.Act{Verb: fslease.VerbCheckpoint, Token: 1})
		s.lost("checkpoint after the expiry", err)
		_, err = m.Fenced(s.Context(), "repo", 1, false, nil)
		s.lost("fenced after the expiry", err)
		if yes, err := m.Check(s.Context(), "ticket:42", 1); yes || err != nil {
			s.Errorf("check after the expiry: %v, %v", yes, err)
		}
		if again := s.start(m, "42"); again.Generation != 2 {
			s.Errorf("started again at generation %d", again.Generation)
		}
	}},

	{"last moment", "a checkpoint, or done, at the moment of expiry counts or comes too late, never both, whoever wins", func(s *suite) {
		s.need(s.Advance != nil, "Advance")
		for round := range 10 {
			verb := []fslease.Verb{fslease.VerbCheckpoint, fslease.VerbDone}[round%2]
			id := fmt.Sprint(round)
			m, l := s.manager()
			s.ticketFor(m, id, "repo"+id)
			_, err := m.StartTicket(s.Context(), fslease.Start{Ticket: id, Lease: time.Minute})
			s.ok(err)
			s.Advance(time.Minute)
			var acted error
			s.race(2, func(i int) {
				if i == 0 {
					_, acted = m.TicketAct(s.Context(), id, fslease.Act{Verb: verb, Token: 1})
				} else if _, _, err := reconcile.Run(s.Context(), l, by, false); err != nil {
					s.Error(err)
				}
			})
			t := s.ticket(id)
			switch {
			case acted == nil && (len(t.Failures) > 0 || t.Status == fslease.Blocked):
				s.Errorf("%s succeeded, and the ticket is %s with %+v", verb, t.Status, t.Failures)
			case acted != nil && (!errors.Is(acted, fslease.ErrLost) || t.Status != fslease.Blocked || len(t.Failures) != 1):
				s.Errorf("%s failed with %v, and the ticket is %s with %+v", verb, acted, t.Status, t.Failures)
			}
			if t.Status == fslease.InProgress {
				s.act(m, id, fslease.Act{Verb: fslease.VerbDone, Token: 1}, fslease.Done)
			}
		}
	}},

	{"holder", "a session bound to a process ends with it: BLOCKED, holder_dead, at the next look; one that lives does not extend it", func(s *suite) {
		s.need(s.Kill != nil, "Kill")
		m, l := s.manager()
		s.ticketFor(m, "42", "repo")
		work, err := m.WorkOn(s.Context(), fslease.Start{Ticket: "42", Lease: time.Hour}, []string{"worker"})
		s.ok(err)
		s.Cleanup(func() { _ = work.End(nil) })
		s.reconcile(0)
		s.Kill(l)
		s.reconcile(1)
		if t := s.ticket("42"); t.Status != fslease.Blocked || len(t.Failures) != 1 || t.Failures[0].Kind != fslease.FailureDead {
			s.Errorf("ticket %+v", t)
		}
		other, _ := s.manager()
		s.refused(other, "repo")
	}},

	{"work", "who works on a ticket holds the fence of its scope, checkpoints by renewing, and ends it as it says", func(s *suite) {
		m, l := s.manager()
		code := int64(3)
		for i, c := range []struct {
			act    *fslease.Act
			status fslease.Status
			free   bool
		}{
			{&fslease.Act{Verb: fslease.VerbReview}, fslease.Review, false},
			{&fslease.Act{Verb: fslease.VerbBlock, Fail: &fslease.Failure{Kind: fslease.FailureCommand, ExitCode: &code}}, fslease.Blocked, false},
			{&fslease.Act{Verb: fslease.VerbDone}, fslease.Done, true},
			{nil, fslease.InProgress, false},
		} {
			id := fmt.Sprint(i)
			scope := "repo" + id
			s.ticketFor(m, id, scope, "other"+id)
			work, err := m.WorkOn(s.Context(), fslease.Start{Ticket: id}, []string{"worker"})
			s.ok(err)
			if work.Token() != 1 {
				s.Errorf("token %d", work.Token())
			}
			if f, _, err := l.TryFence(s.Context(), keys(scope)); f != nil || err != nil {
				s.Errorf("the fence of the scope is free: %v", err)
			}
			s.ok(work.Renew(s.Context()))
			if now, err := l.View(s.Context()).Session(id, 1); err != nil || now.Checkpoints == 0 {
				s.Errorf("after a renewal: %+v, %v", now, err)
			}
			s.ok(work.End(c.act))
			t := s.ticket(id)
			if t.Status != c.status {
				s.Errorf("ended as %+v: the ticket is %s, want %s", c.act, t.Status, c.status)
			}
			if c.status == fslease.Blocked && (len(t.Failures) != 1 || t.Failures[0].Kind != fslease.FailureCommand || *t.Failures[0].ExitCode != 3 || t.Failures[0].Session != 1) {
				s.Errorf("failures %+v", t.Failures)
			}
			if c.free {
				s.free(m, scope, "other"+id, "ticket:"+id)
			} else {
				s.refused(m, scope)
			}
			s.ok(s.fence(l, fslease.Key(scope)).Unlock())
		}
	}},

	{"broken", "breaking a ticket's session blocks it with the reason and keeps the scope; who worked in it is told", func(s *suite) {
		m, _ := s.manager()
		other, _ := s.manager()
		s.ticketFor(m, "42", "repo")
		work, err := m.WorkOn(s.Context(), fslease.Start{Ticket: "42"}, nil)
		s.ok(err)
		broken, err := other.BreakTicket(s.Context(), "42", "stuck", "bob")
		s.ok(err)
		if t := s.ticket("42"); !broken || t.Status != fslease.Blocked || len(t.Failures) != 1 || t.Failures[0].Kind != fslease.FailureBroken || t.Failures[0].Detail != "stuck" {
			s.Errorf("broken %v: %+v", broken, t)
		}
		s.lost("renewal", work.Renew(s.Context()))
		wait(s, work.Lost(), "the loss to be told")
		s.lost("end", work.End(&fslease.Act{Verb: fslease.VerbReview}))
		s.settled("42", 1, fslease.SessionEnded)
		s.refused(other, "repo")
		if again, err := other.BreakTicket(s.Context(), "42", "stuck", "bob"); again || err != nil {
			s.Errorf("broken again: %v, %v", again, err)
		}
	}},
}
