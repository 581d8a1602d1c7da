package fslease_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fslease/fslease"
)

const wholeTicket = `{"schema":1,"id":"42","title":"Fix the login","status":"BLOCKED","scope":["repo/api","terminal-1"],"session":7,` +
	`"created_at":"2026-01-02T03:04:05.678Z","updated_at":"2026-01-03T03:04:05.678Z",` +
	`"failures":[{"kind":"command_failed","at":"2026-01-03T03:04:05.678Z","session":7,"detail":"exit status 3","exit_code":3,"new":1},{"kind":"lease_expired","at":"2026-01-03T03:04:05.678Z","session":6,"detail":""}],` +
	`"history":[{"at":"2026-01-02T03:04:05.678Z","from":"PROPOSED","to":"READY","by":"ann","reason":"","new":{"x":[]}}],"assignee":"ann"}`

const wholeSession = `{"schema":1,"ticket":"42","generation":7,"status":"active","started_at":"2026-01-02T03:04:05.678Z","lease_until":"2026-01-02T03:19:05.678Z",` +
	`"lease_ms":900000,"boot_id":"7a1d9a43-2c1f-4f0e-9d0b-5b6c7d8e9f00","deadline_mono_ns":8123456789012,` +
	`"holder":{"kind":"ticket","ticket":"42","session":7},"checkpoints":21,"last_checkpoints":[{"at":"2026-01-02T03:10:05.678Z","note":"half way","new":null}],"cost":1.50}`

func TestWholeTicketAndSessionAreWrittenAsTheyWereRead(t *testing.T) {
	var ticket fslease.Ticket
	if err := ticket.UnmarshalJSON([]byte(wholeTicket)); err != nil {
		t.Fatal(err)
	}
	if got := marshal(t, ticket); string(got) != wholeTicket {
		t.Errorf("ticket: got\n%s, want\n%s", got, wholeTicket)
	}
	if ticket.Failures[0].ExitCode == nil || *ticket.Failures[0].ExitCode != 3 || ticket.Failures[1].ExitCode != nil {
		t.Errorf("exit codes: %+v; only a command that failed has one", ticket.Failures)
	}
	var session fslease.Session
	if err := session.UnmarshalJSON([]byte(wholeSession)); err != nil {
		t.Fatal(err)
	}
	if got := marshal(t, session); string(got) != wholeSession {
		t.Errorf("session: got\n%s, want\n%s", got, wholeSession)
	}
}

func TestDamagedTicketsAndSessionsAreRefused(t *testing.T) {
	for _, c := range []struct{ whole, old, new string }{
		{wholeTicket, `"schema":1,`, ``},
		{wholeTicket, `"id":"42"`, `"id":"../42"`},
		{wholeTicket, `"id":"42"`, `"id":"."`},
		{wholeTicket, `"id":"42",`, ``},
		{wholeTicket, `"BLOCKED"`, `"blocked"`},
		{wholeTicket, `"BLOCKED"`, `""`},
		{wholeTicket, `"terminal-1"`, `"a//b"`},
		{wholeTicket, `"terminal-1"`, `null`},
		{wholeTicket, `"session":7,"created`, `"session":-7,"created`},
		{wholeTicket, `"exit_code":3`, `"exit_code":"3"`},
		{wholeTicket, `"history":[`, `"history":[1,`},
		{wholeTicket, `"to":"READY"`, `"to":1`},
		{wholeSession, `"ticket":"42","generation"`, `"ticket":"a/b","generation"`},
		{wholeSession, `"generation":7`, `"generation":0`},
		{wholeSession, `"active"`, `"ACTIVE"`},
		{wholeSession, `"deadline_mono_ns":8123456789012`, `"deadline_mono_ns":9223372036854775808`},
		{wholeSession, `"kind":"ticket"`, `"kind":"person"`},
		{wholeSession, `"holder":{"kind":"ticket","ticket":"42","session":7}`, `"holder":null`},
		{wholeSession, `"note":"half way"`, `"note":["half way"]`},
	} {
		damaged := strings.Replace(c.whole, c.old, c.new, 1)
		if damaged == c.whole {
			t.Fatalf("%s is not in %s", c.old, c.whole)
		}
		var err error
		if c.whole == wholeTicket {
			err = new(fslease.Ticket).UnmarshalJSON([]byte(damaged))
		} else {
			err = new(fslease.Session).UnmarshalJSON([]byte(damaged))
		}
		if err == nil || errors.Is(err, fslease.ErrNewerSchema) {
			t.Errorf("%s for %s: %v, want an error", c.new, c.old, err)
		}
	}
	newer := strings.Replace(wholeTicket, `"schema":1`, `"schema":2`, 1)
	if err := new(fslease.Ticket).UnmarshalJSON([]byte(newer)); !errors.Is(err, fslease.ErrNewerSchema) {
		t.Errorf("a newer ticket: %v, want ErrNewerSchema", err)
	}
}

func TestCheckTicketID(t *testing.T) {
	longest := strings.Repeat("i", fslease.MaxKeyBytes-len(fslease.TicketPrefix))
	for _, id := range []string{"42", "fix-login", "é", "a b", "...", longest} {
		if err := fslease.CheckTicketID(id); err != nil {
			t.Errorf("ticket id %.20q: %v", id, err)
		}
	}
	for _, id := range []string{"", ".", "..", "a/b", "/", "a\nb", "\xff", longest + "i"} {
		if err := fslease.CheckTicketID(id); !errors.Is(err, fslease.ErrConfig) {
			t.Errorf("ticket id %.20q: %v, want a *ConfigError", id, err)
		}
	}
}

func TestLiveTicketsKeepTheirScope(t *testing.T) {
	for status, live := range map[fslease.Status]bool{
		fslease.Proposed: false, fslease.Ready: false, fslease.InProgress: true, fslease.Blocked: true,
		fslease.Review: true, fslease.Done: false, fslease.Cancelled: false,
	} {
		if status.Live() != live {
			t.Errorf("%s is live: %v", status, status.Live())
		}
	}
}

func TestPropertyTicketsAndSessionsAreReadAsTheyWereWritten(t *testing.T) {
	text := rapid.String()
	t.Run("ticket", rapid.MakeCheck(func(t *rapid.T) {
		failure := rapid.Custom(func(t *rapid.T) fslease.Failure {
			f := fslease.Failure{Kind: text.Draw(t, "kind"), At: anyTime().Draw(t, "at"), Session: count().Draw(t, "session"), Detail: text.Draw(t, "detail"), Extra: anyExtra().Draw(t, "extra")}
			if rapid.Bool().Draw(t, "has exit code") {
				code := count().Draw(t, "exit code")
				f.ExitCode = &code
			}
			return f
		})
		status := rapid.SampledFrom([]fslease.Status{fslease.Proposed, fslease.Ready, fslease.InProgress, fslease.Blocked, fslease.Review, fslease.Done, fslease.Cancelled})
		move := rapid.Custom(func(t *rapid.T) fslease.Move {
			return fslease.Move{At: anyTime().Draw(t, "at"), From: status.Draw(t, "from"), To: status.Draw(t, "to"), By: text.Draw(t, "by"), Reason: text.Draw(t, "reason"), Extra: anyExtra().Draw(t, "extra")}
		})
		checkInverse(t, fslease.Ticket{
			ID: anyTicketID().Draw(t, "id"), Title: text.Draw(t, "title"), Status: status.Draw(t, "status"),
			Scope: rapid.SliceOfN(anyKey(), 0, 3).Draw(t, "scope"), Session: count().Draw(t, "session"),
			CreatedAt: anyTime().Draw(t, "created"), UpdatedAt: anyTime().Draw(t, "updated"),
			Failures: rapid.SliceOfN(failure, 0, 2).Draw(t, "failures"), History: rapid.SliceOfN(move, 0, 2).Draw(t, "history"),
			Extra: anyExtra().Draw(t, "extra"),
		})
	}))
	t.Run("session", rapid.MakeCheck(func(t *rapid.T) {
		checkpoint := rapid.Custom(func(t *rapid.T) fslease.Checkpoint {
			return fslease.Checkpoint{At: anyTime().Draw(t, "at"), Note: text.Draw(t, "note"), Extra: anyExtra().Draw(t, "extra")}
		})
		s := fslease.Session{
			Ticket: anyTicketID().Draw(t, "ticket"), Generation: positive().Draw(t, "generation"),
			Status:    rapid.SampledFrom([]fslease.SessionStatus{fslease.SessionActive, fslease.SessionEnded, fslease.SessionExpired}).Draw(t, "status"),
			StartedAt: anyTime().Draw(t, "started"), LeaseUntil: anyTime().Draw(t, "until"), Lease: milliseconds().Draw(t, "lease"),
			BootID: text.Draw(t, "boot"), Deadline: inode().Draw(t, "deadline"),
			Checkpoints: count().Draw(t, "checkpoints"), LastCheckpoints: rapid.SliceOfN(checkpoint, 0, 3).Draw(t, "last"), Extra: anyExtra().Draw(t, "extra"),
		}
		if rapid.Bool().Draw(t, "bound") {
			h := anyHolder().Draw(t, "holder")
			s.Holder = &h
		}
		checkInverse(t, s)
	}))
}

func FuzzTicket(f *testing.F) {
	f.Add([]byte(wholeTicket))
	fuzzStable(f, func() *fslease.Ticket { return new(fslease.Ticket) })
}

func FuzzSession(f *testing.F) {
	f.Add([]byte(wholeSession))
	fuzzStable(f, func() *fslease.Session { return new(fslease.Session) })
}
