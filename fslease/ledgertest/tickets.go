package ledgertest

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"fslease/fslease"
)

var ticketCases = []testCase{
	{"read back", "tickets and sessions are read as they were written, with the fields of newer versions", func(s *suite) {
		l := s.Open()
		at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
		extra := map[string]json.RawMessage{"new": json.RawMessage(`[1,2.50]`)}
		code := int64(3)
		h := s.announce(l)
		ticket := fslease.Ticket{
			ID: "42", Title: "Fix the login", Status: fslease.Blocked, Scope: keys("repo/api", "terminal-1"), Session: 7, CreatedAt: at, UpdatedAt: at,
			Failures: []fslease.Failure{{Kind: fslease.FailureCommand, At: at, Session: 7, Detail: "exit status 3", ExitCode: &code, Extra: extra}},
			History:  []fslease.Move{{At: at, From: fslease.Ready, To: fslease.InProgress, By: "ann", Reason: "go", Extra: extra}}, Extra: extra,
		}
		session := fslease.Session{
			Ticket: "42", Generation: 7, Status: fslease.SessionActive, StartedAt: at, LeaseUntil: at.Add(fslease.DefaultSession), Lease: fslease.DefaultSession,
			BootID: "b", Deadline: 5, Holder: &h, Checkpoints: 1, LastCheckpoints: []fslease.Checkpoint{{At: at, Note: "half", Extra: extra}}, Extra: extra,
		}
		s.update(l, func(tx fslease.Tx) error { return errors.Join(tx.PutSession(session), tx.PutTicket(ticket)) }, "ticket:42")
		v := s.Open().View(s.Context())
		gotTicket, err := v.Ticket("42")
		s.ok(err)
		gotSession, err := v.Session("42", 7)
		s.ok(err)
		if gotTicket == nil || text(s, *gotTicket) != text(s, ticket) {
			s.Errorf("ticket: %+v, want %+v", gotTicket, ticket)
		}
		if gotSession == nil || text(s, *gotSession) != text(s, session) {
			s.Errorf("session: %+v, want %+v", gotSession, session)
		}
		for _, none := range []int64{1, 6, 8} {
			if got, err := v.Session("42", none); err != nil || got != nil {
				s.Errorf("session %d: %+v, %v", none, got, err)
			}
		}
	}},

	{"sessions", "the sessions of a ticket are listed by their generations, in order", func(s *suite) {
		l := s.Open()
		for _, g := range []int64{10, 9, 100} {
			session := fslease.Session{Ticket: "42", Generation: g, Status: fslease.SessionEnded}
			s.update(l, func(tx fslease.Tx) error { return tx.PutSession(session) }, "ticket:42")
		}
		v := s.Open().View(s.Context())
		if got, err := v.Sessions("42"); err != nil || !slices.Equal(got, []int64{9, 10, 100}) {
			s.Errorf("sessions of 42: %v, %v", got, err)
		}
		if got, err := v.Sessions("4"); err != nil || len(got) != 0 {
			s.Errorf("sessions of 4: %v, %v", got, err)
		}
	}},

	{"list", "tickets are listed in the order of their ids, and the list ends at an error of visit", func(s *suite) {
		l := s.Open()
		ids := []string{"10", "9", "fix-login", "fix", "é", "x.json", "A", ".hidden"}
		for _, id := range ids {
			t := fslease.Ticket{ID: id, Status: fslease.Proposed}
			s.update(l, func(tx fslease.Tx) error { return tx.PutTicket(t) }, fslease.TicketKey(id))
		}
		var got []string
		s.ok(s.Open().View(s.Context()).Tickets(func(id string, t *fslease.Ticket, err error) error {
			if err != nil || t == nil || t.ID != id {
				s.Errorf("visited %q with %+v, %v", id, t, err)
			}
			got = append(got, id)
			return nil
		}))
		slices.Sort(ids)
		if !slices.Equal(got, ids) {
			s.Errorf("listed %q, want %q", got, ids)
		}
		enough := errors.New("enough")
		s.is(l.View(s.Context()).Tickets(func(string, *fslease.Ticket, error) error { return enough }), enough)
	}},

	{"active", "who may have an active session is listed until it is said that he has none; saying it again is no error", func(s *suite) {
		l := s.Open()
		for _, id := range []string{"9", "10", "é", "x.json"} {
			s.setActive(l, id, true)
		}
		s.setActive(l, "9", true)
		s.setActive(l, "10", false)
		s.setActive(l, "10", false)
		s.setActive(l, "never", false)
		got, err := s.Open().View(s.Context()).Active()
		s.ok(err)
		if want := []string{"9", "x.json", "é"}; !slices.Equal(got, want) {
			s.Errorf("active: %q, want %q", got, want)
		}
	}},
}

func (s *suite) setActive(l fslease.Ledger, id string, active bool) {
	s.Helper()
	s.update(l, func(tx fslease.Tx) error { return tx.SetActive(id, active) }, fslease.TicketKey(id))
}
