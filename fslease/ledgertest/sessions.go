package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fslease/fslease"
)

var sessionCases = []testCase{
	{"life", "a ticket goes from PROPOSED to DONE; its token is the generation of its own key, and it reserves its scope from start to end", func(s *suite) {
		m, l := s.manager()
		other, _ := s.manager()
		s.ticketFor(m, "42", "repo/web", "repo/api")
		s.ok(s.acquire(other, "repo").Release()) // READY reserves nothing
		session := s.start(m, "42")
		if session.Generation != 1 || session.Status != fslease.SessionActive || session.Ticket != "42" {
			s.Errorf("session %+v", session)
		}
		if active, err := l.View(s.Context()).Active(); err != nil || !slices.Equal(active, []string{"42"}) {
			s.Errorf("active: %v, %v", active, err)
		}
		for k, text := range map[string]string{
			"repo":            "resource scope reserved by 42: repo/api, repo/web",
			"repo/api/v2":     "resource scope reserved by 42: repo/api",
			"repo/web":        "resource scope reserved by 42: repo/web",
			"ticket:42/below": "resource scope reserved by 42: ticket:42",
		} {
			if held := s.refused(other, k); held.Error() != text {
				s.Errorf("%s is refused with %q, want %q", k, held, text)
			}
		}
		s.ok(s.acquire(other, "repo/api2").Release())
		for _, k := range keys("ticket:42", "repo/api", "repo/web") {
			if yes, err := m.Check(s.Context(), k, 1); err != nil || !yes {
				s.Errorf("check %s at 1: %v, %v", k, yes, err)
			}
		}
		s.act(m, "42", fslease.Act{Verb: fslease.VerbCheckpoint, Token: 1, Note: "half way"}, fslease.InProgress)
		if now, err := l.View(s.Context()).Session("42", 1); err != nil || now.Checkpoints != 1 || now.LastCheckpoints[0].Note != "half way" {
			s.Errorf("after a checkpoint: %+v, %v", now, err)
		}
		s.act(m, "42", fslease.Act{Verb: fslease.VerbReview, Token: 1}, fslease.Review)
		s.refused(other, "repo/api")
		s.act(m, "42", fslease.Act{Verb: fslease.VerbDone}, fslease.Done)
		s.free(other, "repo", "ticket:42")
		s.settled("42", 1, fslease.SessionEnded)
		t := s.ticket("42")
		var way []fslease.Status
		for _, move := range t.History {
			way = append(way, move.To)
		}
		if want := []fslease.Status{fslease.Proposed, fslease.Ready, fslease.InProgress, fslease.Review, fslease.Done}; !slices.Equal(way, want) {
			s.Errorf("history %v, want %v", way, want)
		}
	}},

	{"verbs", "what a status does not allow is refused with the status and what it allows, and changes nothing", func(s *suite) {
		allowed := map[fslease.Status][]fslease.Verb{
			fslease.Proposed:   {fslease.VerbApprove, fslease.VerbCancel},
			fslease.Ready:      {fslease.VerbStart, fslease.VerbCancel},
			fslease.InProgress: {fslease.VerbCheckpoint, fslease.VerbReview, fslease.VerbBlock, fslease.VerbDone, fslease.VerbCancel},
			fslease.Blocked:    {fslease.VerbStart, fslease.VerbDone, fslease.VerbReopen, fslease.VerbCancel},
			fslease.Review:     {fslease.VerbStart, fslease.VerbDone, fslease.VerbReopen, fslease.VerbCancel},
			fslease.Done:       nil,
			fslease.Cancelled:  nil,
		}
		m, _ := s.manager()
		for status, verbs := range allowed {
			for _, verb := range []fslease.Verb{fslease.VerbApprove, fslease.VerbStart, fslease.VerbCheckpoint, fslease.VerbReview, fslease.VerbBlock, fslease.VerbDone, fslease.VerbReopen, fslease.VerbCancel} {
				id := strings.ToLower(string(status) + "-" + string(verb))
				token := s.bring(m, id, status)
				before := text(s, s.ticket(id))
				var err error
				if verb == fslease.VerbStart {
					_, err = m.StartTicket(s.Context(), fslease.Start{Ticket: id})
				} else {
					_, err = m.TicketAct(s.Context(), id, fslease.Act{Verb: verb, Token: token})
				}
				if slices.Contains(verbs, verb) {
					s.ok(err)
					continue
				}
				var conflict *fslease.ConflictError
				switch {
				case status == fslease.InProgress && verb == fslease.VerbStart && errors.Is(err, fslease.ErrHeld):
					// its own session is in the way, which may be said as well
				case !errors.As(err, &conflict) || !errors.Is(err, fslease.ErrConflict) || conflict.Status != status || !strings.Contains(conflict.What, string(status)):
					s.Errorf("%s of a ticket that is %s: %v (%T), want a *ConflictError that names the status", verb, status, err, err)
				default:
					for _, v := range verbs {
						if !strings.Contains(conflict.Hint, string(v)) {
							s.Errorf("%s of a ticket that is %s: hint %q does not name %s", verb, status, conflict.Hint, v)
						}
					}
				}
				if after := text(s, s.ticket(id)); after != before {
					s.Errorf("%s of a ticket that is %s changed it from %s to %s", verb, status, before, after)
				}
			}
		}
		if _, err := m.TicketAct(s.Context(), "unknown", fslease.Act{Verb: fslease.VerbApprove}); !errors.Is(err, fslease.ErrConflict) {
			s.Errorf("an unknown ticket: %v", err)
		}
	}},

	{"add", "a ticket is added once; its scope holds keys, not tickets, which may overlap each other", func(s *suite) {
		m, _ := s.manager()
		s.ticketFor(m, "42", "repo", "repo/api", "repo")
		_, err := m.AddTicket(s.Context(), "42", "again", nil, "ann")
		s.is(err, fslease.ErrConflict)
		for _, scope := range [][]fslease.Key{keys("ticket:7"), keys("a", "ticket:42")} {
			_, err = m.AddTicket(s.Context(), "43", "", scope, "ann")
			s.misconfigured(fmt.Sprint(scope), err)
		}
		for _, id := range []string{"", "a/b", "..", "a\n"} {
			_, err = m.AddTicket(s.Context(), id, "", nil, "ann")
			s.misconfigured(fmt.Sprintf("id %q", id), err)
		}
		s.start(m, "42")
		s.act(m, "42", fslease.Act{Verb: fslease.VerbDone, Token: 1}, fslease.Done)
		s.free(m, "repo", "repo/api", "ticket:42")
	}},

	{"tokens", "checkpoint, review, block, done and cancel need the current token or an operator's force; the token is judged before the status", func(s *suite) {
		m, _ := s.manager()
		s.ticketFor(m, "42", "k")
		s.start(m, "42")
		verbs := []fslease.Verb{fslease.VerbCheckpoint, fslease.VerbReview, fslease.VerbBlock, fslease.VerbDone, fslease.VerbCancel}
		for _, verb := range verbs {
			_, err := m.TicketAct(s.Context(), "42", fslease.Act{Verb: verb, Token: 7})
			s.lost(string(verb)+" with a token that was never given out", err)
			_, err = m.TicketAct(s.Context(), "42", fslease.Act{Verb: verb})
			s.misconfigured(string(verb)+" without a token", err)
		}
		s.act(m, "42", fslease.Act{Verb: fslease.VerbBlock, Force: true, Reason: "wrong branch"}, fslease.Blocked)
		for _, verb := range verbs {
			_, err := m.TicketAct(s.Context(), "42", fslease.Act{Verb: verb, Token: 1})
			s.lost(string(verb)+" with the token of a session that has ended", err)
		}
		if again := s.start(m, "42"); again.Generation != 2 {
			s.Errorf("started again at generation %d", again.Generation)
		}
		_, err := m.TicketAct(s.Context(), "42", fslease.Act{Verb: fslease.VerbDone, Token: 1})
		if lost := s.lost("done with the token of an earlier session", err); lost.Current != 2 {
			s.Errorf("told %+v", lost)
		}
		for _, k := range keys("ticket:42", "k") {
			if yes, err := m.Check(s.Context(), k, 1); yes || err != nil {
				s.Errorf("check %s at 1: %v, %v", k, yes, err)
			}
			_, err := m.RenewToken(s.Context(), k, 1)
			s.lost("renewal of "+string(k), err)
			_, err = m.Fenced(s.Context(), k, 1, false, nil)
			s.lost("fenced on "+string(k), err)
		}
		s.act(m, "42", fslease.Act{Verb: fslease.VerbDone, Token: 2}, fslease.Done)
	}},

	{"reserved", "BLOCKED and REVIEW keep the scope and need no token to end; reopen, done and cancel free it", func(s *suite) {
		m, _ := s.manager()
		other, _ := s.manager()
		for _, status := range []fslease.Status{fslease.Blocked, fslease.Review} {
			for verb, to := range map[fslease.Verb]fslease.Status{fslease.VerbReopen: fslease.Ready, fslease.VerbDone: fslease.Done, fslease.VerbCancel: fslease.Cancelled} {
				id := strings.ToLower(string(status) + "-" + string(verb))
				s.bring(m, id, status)
				scope := "scope-" + id
				s.refused(other, scope)
				if held := s.refused(other, scope+"/below"); len(held.Reserved) != 1 || held.Reserved[0].Ticket != id {
					s.Errorf("refused with %+v", held)
				}
				s.act(m, id, fslease.Act{Verb: verb}, to)
				s.free(other, scope, "ticket:"+id)
			}
		}
	}},
}
