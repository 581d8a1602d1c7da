package ledgertest

import (
	"errors"
	"slices"
	"sync"

	"fslease/fslease"
	"fslease/reconcile"
)

// What a person at a desk does with tickets.

// ticketFor adds and approves a ticket.
func (s *suite) ticketFor(m *fslease.Manager, id string, scope ...string) {
	s.Helper()
	_, err := m.AddTicket(s.Context(), id, "Work on "+id, keys(scope...), "ann")
	s.ok(err)
	s.act(m, id, fslease.Act{Verb: fslease.VerbApprove, By: "ann"}, fslease.Ready)
}

// bring makes a ticket of that status, and returns the token of its session if one is active.
func (s *suite) bring(m *fslease.Manager, id string, status fslease.Status) (token int64) {
	s.Helper()
	_, err := m.AddTicket(s.Context(), id, "", keys("scope-"+id), "ann")
	s.ok(err)
	switch status {
	case fslease.Proposed:
		return 0
	case fslease.Cancelled:
		s.act(m, id, fslease.Act{Verb: fslease.VerbCancel}, status)
		return 0
	}
	s.act(m, id, fslease.Act{Verb: fslease.VerbApprove}, fslease.Ready)
	if status == fslease.Ready {
		return 0
	}
	token = s.start(m, id).Generation
	for verb, to := range map[fslease.Verb]fslease.Status{fslease.VerbBlock: fslease.Blocked, fslease.VerbReview: fslease.Review, fslease.VerbDone: fslease.Done} {
		if to == status {
			s.act(m, id, fslease.Act{Verb: verb, Token: token}, to)
			return 0
		}
	}
	return token
}

func (s *suite) start(m *fslease.Manager, id string) fslease.Session {
	s.Helper()
	session, err := m.StartTicket(s.Context(), fslease.Start{Ticket: id, By: "ann"})
	s.ok(err)
	return session
}

// startAll starts tickets at once and returns those that did.
func (s *suite) startAll(ids []string) []string {
	s.Helper()
	managers := make([]*fslease.Manager, len(ids))
	for i := range managers {
		managers[i], _ = s.manager()
	}
	var mu sync.Mutex
	var started []string
	s.race(len(ids), func(i int) {
		_, err := managers[i].StartTicket(s.Context(), fslease.Start{Ticket: ids[i]})
		switch {
		case err == nil:
			mu.Lock()
			started = append(started, ids[i])
			mu.Unlock()
		case !errors.Is(err, fslease.ErrHeld) && !errors.Is(err, fslease.ErrConflict):
			s.Errorf("start of %s: %v (%T)", ids[i], err, err)
		}
	})
	return started
}

func (s *suite) act(m *fslease.Manager, id string, act fslease.Act, to fslease.Status) {
	s.Helper()
	t, err := m.TicketAct(s.Context(), id, act)
	s.ok(err)
	if now := s.ticket(id); t.Status != to || now.Status != to {
		s.Fatalf("after %s ticket %s is %s, on record %s; want %s", act.Verb, id, t.Status, now.Status, to)
	}
}

func (s *suite) ticket(id string) fslease.Ticket {
	s.Helper()
	t, err := s.Open().View(s.Context()).Ticket(id)
	s.ok(err)
	if t == nil {
		s.Fatalf("there is no ticket %s", id)
	}
	return *t
}

// settled fails unless the session has that status and nobody needs to look at the ticket any more.
func (s *suite) settled(id string, generation int64, status fslease.SessionStatus) {
	s.Helper()
	v := s.Open().View(s.Context())
	session, err := v.Session(id, generation)
	s.ok(err)
	active, err := v.Active()
	s.ok(err)
	if session == nil || session.Status != status || slices.Contains(active, id) {
		s.Errorf("session %+v, active %v; want it %s and not listed", session, active, status)
	}
}

// free fails unless keys have no lease on record and can be had.
func (s *suite) free(m *fslease.Manager, names ...string) {
	s.Helper()
	for _, name := range names {
		if st := s.load(s.Open(), fslease.Key(name)); st.Lease != nil {
			s.Errorf("on record for %s: %+v", name, st.Lease)
		}
		s.ok(s.acquire(m, name).Release())
	}
}

// by is who reconciles.
func by() string { return "test" }

// reconcile makes the pass and counts what it did.
func (s *suite) reconcile(want int) {
	s.Helper()
	acts, troubles, err := reconcile.Run(s.Context(), s.Open(), by, false)
	s.ok(err)
	if len(acts) != want || len(troubles) > 0 {
		s.Errorf("reconcile did %+v with trouble %v, want %d acts", acts, troubles, want)
	}
}
