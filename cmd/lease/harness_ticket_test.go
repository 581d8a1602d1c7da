package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Ticket reads the record of a ticket.
func (l *Ledger) Ticket(id string) Record {
	l.t.Helper()
	r := l.Record("tickets/" + id + ".json")
	if r == nil {
		l.t.Fatalf("there is no ticket %s", id)
	}
	return r
}

// Session reads the record of a session.
func (l *Ledger) Session(id, generation string) Record {
	l.t.Helper()
	return l.Record("sessions/" + id + "/" + generation + ".json")
}

// Approved adds a ticket with its scope, and approves it.
func (l *Ledger) Approved(id string, scope ...string) {
	l.t.Helper()
	args := []string{"ticket", "add", id}
	for _, key := range scope {
		args = append(args, "--scope", key)
	}
	l.Run(args...).Want(l.t, 0)
	l.Run("ticket", "approve", id).Want(l.t, 0)
}

// Begin starts a ticket and returns its token.
func (l *Ledger) Begin(id string, args ...string) string {
	l.t.Helper()
	r := l.Run(append([]string{"ticket", "start", id}, args...)...).Want(l.t, 0)
	return strings.TrimSpace(r.Stdout)
}

// Bring makes an approved ticket with that scope go to status, and returns the token of its last session.
func (l *Ledger) Bring(id, status string, scope ...string) string {
	l.t.Helper()
	l.Approved(id, scope...)
	if status == "READY" {
		return ""
	}
	token := l.Begin(id)
	verb := map[string]string{"BLOCKED": "block", "REVIEW": "review", "DONE": "done"}[status]
	if verb != "" {
		l.Run("ticket", verb, id, "--token", token).Want(l.t, 0)
	}
	return token
}

// IsBlocked checks that a ticket is BLOCKED, for the reason kind alone, in that session, and returns the failure.
func (l *Ledger) IsBlocked(t testing.TB, id, kind, session string) Record {
	t.Helper()
	ticket := l.Ticket(id)
	failures, _ := ticket["failures"].([]any)
	if ticket.Str("status") != "BLOCKED" || len(failures) != 1 {
		t.Fatalf("ticket %s is %s with failures %v, want BLOCKED with one", id, ticket.Str("status"), failures)
	}
	failure := Record(failures[0].(map[string]any))
	if failure.Str("kind") != kind || failure["session"].(interface{ String() string }).String() != session {
		t.Fatalf("failure %v, want %s of session %s", failure, kind, session)
	}
	return failure
}

// SessionEnd is when the session of a ticket ends without a checkpoint.
func (l *Ledger) SessionEnd(id string) time.Time {
	l.t.Helper()
	until, err := time.Parse(time.RFC3339, l.Session(id, fmt.Sprint(l.Ticket(id)["session"])).Str("lease_until"))
	if err != nil {
		l.t.Fatal(err)
	}
	return until
}

// Lapsed waits until a ticket's session has run out, which only a look tells before the next command that changes something.
func (l *Ledger) Lapsed(id string) {
	l.t.Helper()
	time.Sleep(time.Until(l.SessionEnd(id)))
	l.until("the session has lapsed", func() bool {
		return strings.Contains(l.Run("ticket", "show", id, "--json").Stdout, `"lapsed"`)
	})
}

// conflict is what a refusal says of a ticket's keys, a line of its own.
func conflict(id, keys string) string {
	return "lease: resource scope reserved by " + id + ": " + keys + "\n"
}

// IsReserved checks that nobody else gets a key, which is reserved by a ticket, in just these words, by any way.
func (l *Ledger) IsReserved(t testing.TB, key, id, keys string) {
	t.Helper()
	l.Run("run", "-n", key, "--", "sh", "-c", "echo ran >ran").Want(t, 75).Says(t, conflict(id, keys))
	l.Run("acquire", "-n", "--ttl", "60s", key).Want(t, 75).Says(t, conflict(id, keys))
	if ran := l.File("ran"); ran != "" {
		t.Fatalf("%s: the command ran", key)
	}
}

// IsFree checks that a key can be had, and that nothing stays of it.
func (l *Ledger) IsFree(t testing.TB, keys ...string) {
	t.Helper()
	l.Run(append(append([]string{"run", "-n"}, keys...), "--", "true")...).Want(t, 0)
	for _, key := range keys {
		if r := l.Lease(key); r != nil {
			t.Fatalf("%s: %v", key, r)
		}
	}
}
