package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"fslease/fslease"
)

var scopeCases = []testCase{
	{"restart", "a start that waits for the fence of a BLOCKED ticket writes nothing once the ticket was changed meanwhile, and ends its wait", func(s *suite) {
		m, l := s.manager()
		other, _ := s.manager()
		forever := fslease.Forever
		for i, change := range []func(id string){
			func(id string) { // somebody else has the scope by now
				s.act(m, id, fslease.Act{Verb: fslease.VerbReopen}, fslease.Ready)
				_, err := s.keep(other.Acquire(s.Context(), "scope-"+id))
				s.ok(err)
			},
			func(id string) {
				s.act(m, id, fslease.Act{Verb: fslease.VerbCancel}, fslease.Cancelled)
			},
			func(id string) { // somebody else worked on it, in vain too
				t := s.ticket(id)
				t.Session = 2
				s.update(l, func(tx fslease.Tx) error { return tx.PutTicket(t) }, fslease.TicketKey(id))
			},
			func(id string) { // it was reopened and started again
				s.act(m, id, fslease.Act{Verb: fslease.VerbReopen}, fslease.Ready)
				t := s.ticket(id)
				t.Status, t.Session = fslease.InProgress, 2
				s.update(l, func(tx fslease.Tx) error { return tx.PutTicket(t) }, fslease.TicketKey(id))
			},
		} {
			id := fmt.Sprint(i)
			s.bring(m, id, fslease.Blocked)
			key := fslease.Key("scope-" + id)
			f := s.fence(s.Open(), key)
			done := async(func() error {
				_, err := m.StartTicket(s.hang(), fslease.Start{Ticket: id, FenceWait: &forever})
				return err
			})
			stays(s, done, "a start that waits for the fence")
			change(id)
			before, ticket := s.load(l, key), text(s, s.ticket(id))
			if i%2 == 0 {
				s.ok(f.Unlock()) // the fence comes, but the ticket is another one
			}
			s.is(wait(s, done, "the start"), fslease.ErrConflict)
			if i%2 == 1 {
				s.ok(f.Unlock())
			}
			after := s.load(l, key)
			if after.Revision() != before.Revision() || text(s, s.ticket(id)) != ticket {
				s.Errorf("the start changed %+v into %+v", before, after)
			}
		}
	}},

	{"given up", "a restart that is given up leaves the reservation as it was", func(s *suite) {
		m, _ := s.manager()
		other, _ := s.manager()
		for _, status := range []fslease.Status{fslease.Blocked, fslease.Review} {
			id := strings.ToLower(string(status))
			s.bring(m, id, status)
			f := s.fence(s.Open(), fslease.Key("scope-"+id))
			_, err := m.StartTicket(s.Context(), fslease.Start{Ticket: id})
			s.is(err, fslease.ErrHeld)
			s.ok(f.Unlock())
			if t := s.ticket(id); t.Status != status {
				s.Errorf("the ticket is %s", t.Status)
			}
			s.refused(other, "scope-"+id)
			if again := s.start(m, id); again.Generation != 2 {
				s.Errorf("started at generation %d", again.Generation)
			}
		}
	}},

	{"void", "a reservation of a ticket that is not live, or does not list the key, is in nobody's way; a restart takes such a key anew", func(s *suite) {
		m, l := s.manager()
		other, _ := s.manager()
		s.bring(m, "42", fslease.Review)
		change := func(edit func(*fslease.Ticket)) {
			t := s.ticket("42")
			edit(&t)
			s.update(l, func(tx fslease.Tx) error { return tx.PutTicket(t) }, "ticket:42")
		}
		change(func(t *fslease.Ticket) { t.Scope = keys("elsewhere") })
		s.ok(s.acquire(other, "scope-42").Release())
		s.refused(other, "ticket:42")
		change(func(t *fslease.Ticket) { t.Scope = keys("scope-42"); t.Status = fslease.Ready })
		s.ok(s.acquire(other, "ticket:42").Release())
		change(func(t *fslease.Ticket) { t.Status = fslease.Review }) // live, but its leases are gone
		session := s.start(m, "42")
		for _, k := range keys("ticket:42", "scope-42") {
			if cur := s.load(l, k).Current(); cur == nil || cur.Holder.Session != session.Generation || cur.Generation < 3 {
				s.Errorf("%s: %+v, want a reservation of session %d above the generations before", k, cur, session.Generation)
			}
		}
	}},

	{"no token of its own", "a ticket's reservation is neither renewed, released, transferred nor broken like a lease, with the right token or not", func(s *suite) {
		m, l := s.manager()
		s.ticketFor(m, "42", "repo")
		s.start(m, "42")
		try := map[string]func(k fslease.Key) error{
			"renew":   func(k fslease.Key) error { _, err := m.RenewToken(s.Context(), k, 1); return err },
			"release": func(k fslease.Key) error { return m.ReleaseToken(s.Context(), k, 1) },
			"transfer": func(k fslease.Key) error {
				_, err := m.Transfer(s.Context(), k, 1, fslease.Handover{Holder: stranger(), TTL: time.Minute}, 0, nil)
				return err
			},
		}
		for _, k := range keys("ticket:42", "repo") {
			for what, do := range try {
				var held *fslease.HeldError
				if err := do(k); !errors.As(err, &held) || held.Error() != "resource scope reserved by 42: "+string(k) {
					s.Errorf("%s of %s: %v", what, k, err)
				}
			}
			_, err := m.Break(s.Context(), k, "test", nil)
			s.is(err, fslease.ErrHeld)
		}
		s.act(m, "42", fslease.Act{Verb: fslease.VerbBlock, Token: 1}, fslease.Blocked)
		for what, do := range try {
			s.lost(what+" after the end of the session", do("repo"))
		}
		for _, k := range keys("ticket:42", "repo") {
			if cur := s.load(l, k).Current(); cur == nil || cur.Generation != 1 {
				s.Errorf("%s: %+v", k, cur)
			}
			for _, token := range []int64{0, 1} {
				if yes, err := m.Check(s.Context(), k, token); yes || err != nil {
					s.Errorf("check of %s while nobody works on the ticket: %v, %v", k, yes, err)
				}
			}
		}
	}},

	{"part of a scope", "who has the token of a ticket works anywhere in its scope under the fence of the key alone, and in no other; an old token is refused", func(s *suite) {
		m, l := s.manager()
		s.ticketFor(m, "42", "repo/api", "z")
		s.start(m, "42")
		have := func(token int64) func(string) int64 {
			return func(id string) int64 {
				if id == "42" {
					return token
				}
				return 0
			}
		}
		own, rest, err := m.InScope(s.Context(), keys("repo/api/v2", "repo/web", "z", "repo"), have(1))
		s.ok(err)
		if want := keys("z"); len(own) != 1 || own[0].Key != want[0] || own[0].Generation != 1 || own[0].Holder.Ticket != "42" {
			s.Errorf("own: %+v", own)
		}
		if !slices.Equal(rest, keys("repo")) { // which covers the others
			s.Errorf("rest: %v", rest)
		}
		own, _, err = m.InScope(s.Context(), keys("repo/api/v2"), have(1))
		s.ok(err)
		fence, err := m.FenceUnder(s.Context(), own, keys("repo/api/v2"), 0, nil)
		s.ok(err)
		_, err = m.FenceUnder(s.Context(), own, keys("repo/api/v2"), 0, nil)
		s.is(err, fslease.ErrHeld)
		_, err = m.FenceUnder(s.Context(), own, nil, 0, nil) // joined
		s.ok(err)
		s.ok(s.fence(l, "repo/api/v3").Unlock())
		if cur := s.load(l, "repo/api/v2").Current(); cur != nil {
			s.Errorf("a lease was written: %+v", cur)
		}
		if rec, err := m.Current(s.Context(), "repo/api/v2", 1); err != nil || rec.Key != "repo/api" {
			s.Errorf("current: %+v, %v", rec, err)
		}
		_, _, err = m.InScope(s.Context(), keys("z"), have(7))
		s.lost("a token that was never given out", err)
		s.act(m, "42", fslease.Act{Verb: fslease.VerbReview, Token: 1}, fslease.Review)
		_, err = m.FenceUnder(s.Context(), own, nil, 0, nil)
		s.lost("work in a session that has ended", err)
		s.ok(fence.Unlock())
		_, _, err = m.InScope(s.Context(), keys("z"), have(1))
		s.lost("the token of an ended session", err)
		if own, rest, err := m.InScope(s.Context(), keys("z"), have(0)); err != nil || len(own) > 0 || len(rest) != 1 {
			s.Errorf("without a token: %+v, %v, %v", own, rest, err)
		}
	}},

	{"beside", "work on a ticket may hold further keys, all or nothing with the scope, which go with it; not one that covers the scope", func(s *suite) {
		m, l := s.manager()
		other, _ := s.manager()
		s.ticketFor(m, "42", "repo/api")
		start := fslease.Start{Ticket: "42", Also: keys("x", "repo/api/v2", "y")}
		lease := s.acquire(other, "y")
		_, err := m.WorkOn(s.Context(), start, nil)
		s.is(err, fslease.ErrHeld)
		if t := s.ticket("42"); t.Status != fslease.Ready {
			s.Errorf("the ticket is %s", t.Status)
		}
		s.free(other, "x", "repo/api")
		s.ok(lease.Release())
		_, err = m.WorkOn(s.Context(), fslease.Start{Ticket: "42", Also: keys("repo")}, nil)
		s.misconfigured("a key that covers the scope", err)
		work, err := m.WorkOn(s.Context(), start, nil)
		s.ok(err)
		if got := work.Keys(); !slices.Equal(got, keys("ticket:42", "repo/api", "x", "y")) {
			s.Errorf("keys %v", got)
		}
		s.ok(work.Renew(s.Context()))
		s.refused(other, "x")
		s.ok(work.RunFenced(s.Context(), func(_ context.Context, token int64) error {
			if token != work.Token() {
				s.Errorf("token %d", token)
			}
			return nil
		}))
		_, err = other.Break(s.Context(), "x", "test", nil)
		s.ok(err)
		s.lost("renewal after a key beside the scope was broken", work.Renew(s.Context()))
		s.lost("end", work.End(&fslease.Act{Verb: fslease.VerbReview}))
		s.free(other, "x", "y")
		if cur := s.load(l, "repo/api").Current(); cur == nil || !cur.Holder.IsTicket() {
			s.Errorf("repo/api: %+v", cur)
		}
	}},

	{"kept", "a session that is kept goes on without its process, for whoever has the token; its heartbeats push no note out", func(s *suite) {
		m, l := s.manager()
		s.ticketFor(m, "42", "repo")
		work, err := m.WorkOn(s.Context(), fslease.Start{Ticket: "42"}, nil)
		s.ok(err)
		s.act(m, "42", fslease.Act{Verb: fslease.VerbCheckpoint, Token: 1, Note: "half way"}, fslease.InProgress)
		for range fslease.MaxCheckpoints + 1 {
			s.ok(work.Renew(s.Context()))
		}
		s.ok(work.End(nil))
		now, err := l.View(s.Context()).Session("42", 1)
		s.ok(err)
		if now.Status != fslease.SessionActive || now.Holder != nil || now.Checkpoints != fslease.MaxCheckpoints+3 || len(now.LastCheckpoints) != 1 || now.LastCheckpoints[0].Note != "half way" {
			s.Errorf("session %+v", now)
		}
		if s.Kill != nil {
			s.Kill(l)
		}
		s.reconcile(0)
		again, _ := s.manager()
		s.act(again, "42", fslease.Act{Verb: fslease.VerbDone, Token: 1}, fslease.Done)
	}},

	{"folded", "a ticket's own scope keys may overlap: those that another one covers appear nowhere", func(s *suite) {
		m, l := s.manager()
		other, _ := s.manager()
		s.ticketFor(m, "42", "repo/api", "repo", "repo/web", "x", "repo")
		if got := s.ticket("42").Scope; !slices.Equal(got, keys("repo", "x")) {
			s.Errorf("scope %v", got)
		}
		s.start(m, "42")
		if held := s.refused(other, "repo/api/v2"); held.Error() != "resource scope reserved by 42: repo" {
			s.Errorf("refused with %q", held)
		}
		if st := s.load(l, "repo/api"); st.Lease != nil {
			s.Errorf("repo/api: %+v", st)
		}
	}},
}
