package ledgertest

import (
	"errors"
	"fmt"
	"slices"

	"fslease/fslease"
)

var startCases = []testCase{
	{"plain leases", "a ticket does not start over a plain lease, and takes nothing then; it waits for it if asked to", func(s *suite) {
		m, l := s.manager()
		other, _ := s.manager()
		s.ticketFor(m, "42", "a", "repo/api")
		for _, k := range []string{"repo", "repo/api", "repo/api/v2"} {
			lease := s.acquire(other, k)
			_, err := m.StartTicket(s.Context(), fslease.Start{Ticket: "42"})
			var held *fslease.HeldError
			if !errors.As(err, &held) || held.Blocking == nil || held.Blocking.Key != fslease.Key(k) {
				s.Errorf("started over a lease on %s: %v (%T)", k, err, err)
			}
			if st := s.load(l, "a"); st.Current() != nil {
				s.Errorf("it took a: %+v", st)
			}
			if t := s.ticket("42"); t.Status != fslease.Ready {
				s.Errorf("the ticket is %s", t.Status)
			}
			s.ok(lease.Release())
		}
		lease := s.acquire(other, "repo")
		done := async(func() error {
			_, err := m.StartTicket(s.hang(), fslease.Start{Ticket: "42", Wait: fslease.Forever})
			return err
		})
		stays(s, done, "a start that waits")
		s.ok(lease.Release())
		s.ok(wait(s, done, "the start"))
	}},

	{"fence", "a ticket starts only when no command of an earlier holder is left under its scope", func(s *suite) {
		m, l := s.manager()
		s.ticketFor(m, "42", "repo")
		f := s.fence(s.Open(), "repo/api")
		_, err := m.StartTicket(s.Context(), fslease.Start{Ticket: "42"})
		s.is(err, fslease.ErrHeld)
		if st := s.load(l, "repo"); st.Current() != nil || s.ticket("42").Status != fslease.Ready {
			s.Errorf("refused, but on record is %+v", st)
		}
		forever := fslease.Forever
		done := async(func() error {
			_, err := m.StartTicket(s.hang(), fslease.Start{Ticket: "42", FenceWait: &forever})
			return err
		})
		stays(s, done, "a start that waits for the fence")
		s.ok(f.Unlock())
		s.ok(wait(s, done, "the start"))
		s.ok(s.fence(l, "repo").Unlock()) // dropped again
	}},

	{"waiters", "who waits for the scope of a blocked ticket does not keep it from being started again", func(s *suite) {
		m, _ := s.manager()
		s.ticketFor(m, "42", "a", "repo/api")
		token := s.start(m, "42").Generation
		s.act(m, "42", fslease.Act{Verb: fslease.VerbBlock, Token: token}, fslease.Blocked)
		s.enqueue("repo")
		again := s.start(m, "42").Generation
		s.act(m, "42", fslease.Act{Verb: fslease.VerbBlock, Token: again}, fslease.Blocked)
		s.act(m, "42", fslease.Act{Verb: fslease.VerbReopen}, fslease.Ready)
		_, err := m.StartTicket(s.Context(), fslease.Start{Ticket: "42"})
		var held *fslease.HeldError
		if !errors.As(err, &held) || held.Waiter == nil || held.Key != "repo/api" {
			s.Errorf("a try passed who waits for a scope that is not reserved: %v (%T)", err, err)
		}
	}},

	{"one session", "of eight who start one ticket at once one has a session, and the others are refused", func(s *suite) {
		for round := range 3 {
			id := fmt.Sprint(round)
			m, _ := s.manager()
			s.ticketFor(m, id, "repo"+id)
			started := s.startAll(slices.Repeat([]string{id}, 8))
			if len(started) != 1 {
				s.Errorf("%d sessions", len(started))
			}
			if t := s.ticket(id); t.Status != fslease.InProgress || t.Session != 1 {
				s.Errorf("ticket %+v", t)
			}
		}
	}},

	{"no overlap", "of eight tickets with overlapping scopes that start at once, those that do never overlap", func(s *suite) {
		scopes := [][]string{{"repo"}, {"repo/api"}, {"repo/web", "x"}, {"x/y"}, {"repo/api/v2", "z"}, {"z"}, {"a-b", "a/b"}, {"a"}}
		for round := range 4 {
			m, _ := s.manager()
			ids := make([]string, len(scopes))
			for i, scope := range scopes {
				ids[i] = fmt.Sprintf("%d-%d", round, i)
				s.ticketFor(m, ids[i], scope...)
			}
			started := s.startAll(ids)
			var taken []fslease.Key
			for _, id := range started {
				for _, k := range s.ticket(id).Scope {
					if k.OverlapsAny(taken) {
						s.Errorf("%s of ticket %s overlaps what %v took", k, id, taken)
					}
				}
				taken = append(taken, s.ticket(id).Scope...)
			}
			if len(started) < 2 {
				s.Errorf("only %v started", started)
			}
			for _, id := range started {
				s.act(m, id, fslease.Act{Verb: fslease.VerbCancel, Force: true, Reason: "test"}, fslease.Cancelled)
			}
		}
	}},
}
