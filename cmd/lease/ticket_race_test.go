package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fslease/fslease"
)

// Of eight workers who start one ticket at the same moment one has a session, whether the ticket is new or was
// started before; the others are refused, and the winner's token is the one on record.
func TestEightStartOneTicket(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Approved("42", "repo/api", "terminal-1")
	for round := 1; round <= 20; round++ {
		all := l.Together(slices.Repeat([][]string{{"ticket", "start", "42"}}, contenders)...)
		var tokens []string
		for _, p := range all {
			r := p.Wait()
			switch {
			case r.Code == 0:
				tokens = append(tokens, strings.TrimSpace(r.Stdout))
			case r.Code != 75 && r.Code != 1 || r.Stdout != "" || r.Stderr == "":
				t.Fatalf("round %d: refused in an odd way\n%v", round, r)
			}
		}
		ticket := l.Ticket("42")
		if len(tokens) != 1 || ticket.Str("status") != "IN_PROGRESS" || fmt.Sprint(ticket["session"]) != tokens[0] {
			t.Fatalf("round %d: tokens %v, ticket %v", round, tokens, ticket)
		}
		if tokens[0] != fmt.Sprint(round) || l.Session("42", tokens[0]).Str("status") != "active" {
			t.Fatalf("round %d: token %s, session %v", round, tokens[0], l.Session("42", tokens[0]))
		}
		l.Run("ticket", []string{"block", "review"}[round%2], "42", "--token", tokens[0]).Want(t, 0)
		if round%4 == 0 {
			l.Run("ticket", "reopen", "42").Want(t, 0)
		}
	}
}

// Of eight tickets with overlapping scopes that start at the same moment, those that do never overlap.
func TestOverlappingTicketsRace(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	scopes := [][]string{{"repo"}, {"repo/api"}, {"repo/web", "x"}, {"x/y"}, {"repo/api/v2", "z"}, {"z", "repo/web/css"}, {"a-b", "a/b"}, {"a"}}
	var starts [][]string
	for i, scope := range scopes {
		l.Approved(fmt.Sprint(i), scope...)
		starts = append(starts, []string{"ticket", "start", fmt.Sprint(i)})
	}
	combinations := map[string]int{}
	for round := range 50 {
		var taken []fslease.Key
		var started []string
		tokens := map[string]string{}
		for i, p := range l.Together(starts...) {
			r := p.Wait()
			if r.Code != 0 {
				r.Want(t, 75)
				continue
			}
			id := fmt.Sprint(i)
			started = append(started, id)
			tokens[id] = strings.TrimSpace(r.Stdout)
			for _, key := range scopes[i] {
				if fslease.Key(key).OverlapsAny(taken) {
					t.Fatalf("round %d: %s of ticket %s overlaps %v of tickets %v", round, key, id, taken, started)
				}
			}
			for _, key := range scopes[i] {
				taken = append(taken, fslease.Key(key))
			}
		}
		if len(started) < 2 {
			t.Fatalf("round %d: only %v started, although some do not overlap", round, started)
		}
		combinations[strings.Join(started, " ")]++
		for _, id := range started {
			l.Run("ticket", "block", id, "--token", tokens[id]).Want(t, 0)
			l.Run("ticket", "reopen", id).Want(t, 0)
		}
	}
	t.Logf("started together: %v", combinations)
}

// A session without a checkpoint is ended by the next command of anybody, by eight at once only once. The scope stays
// reserved, a start goes on with a higher generation, and the old token is refused everywhere.
func TestSessionRunsOut(t *testing.T) {
	t.Parallel()
	for what, next := range map[string][]string{
		"reconcile": {"reconcile"}, "run": {"run", "other", "--", "true"}, "acquire": {"acquire", "-n", "--ttl", "60s", "other"},
		"add": {"ticket", "add", "other"}, "renew": {"renew", "k", "--token", "1"}, "gc": {"gc"}, "release": {"release", "k", "--token", "1"},
		"fenced": {"fenced", "k", "--token", "1", "--", "true"}, "break": {"break", "k", "--reason", "test"},
		"transfer": {"transfer", "k", "--token", "1", "--to-pid", "1"}, "repair": {"doctor", "--repair"}, "checkpoint": {"ticket", "checkpoint", "42", "--token", "1"},
	} {
		t.Run(what, func(t *testing.T) {
			l := NewLedger(t)
			l.Run("acquire", "--ttl", "60s", "k").Want(t, 0)
			l.Approved("42", "repo/api")
			l.Begin("42", "--lease", "1s")
			l.Run("check", "repo/api", "--token", "1").Want(t, 0)
			l.Lapsed("42")
			l.Run("ticket", "ls").Want(t, 0)
			if status := l.Ticket("42").Str("status"); status != "IN_PROGRESS" {
				t.Fatalf("looking made it %s", status)
			}
			l.Run("check", "repo/api", "--token", "1").Want(t, 1)

			for _, p := range l.Together(slices.Repeat([][]string{next}, contenders)...) {
				if r := p.Wait(); strings.Contains(r.Stderr, "goroutine") || what == "reconcile" && r.Code != 0 || what == "checkpoint" && r.Code != 76 && r.Code != 0 {
					t.Fatalf("%v", r)
				}
			}
			if what == "checkpoint" && l.Ticket("42").Str("status") == "IN_PROGRESS" {
				return // one of them came first, before anybody had looked
			}
			l.IsBlocked(t, "42", "lease_expired", "1")
			if status := l.Session("42", "1").Str("status"); status != "expired" {
				t.Fatalf("the session is %s", status)
			}
			l.IsReserved(t, "repo/api/v2", "42", "repo/api")

			token := l.Begin("42")
			if what != "repair" && token != "2" || token == "1" { // a repair moves the floor
				t.Fatalf("started again with token %s", token)
			}
			for _, verb := range []string{"checkpoint", "review", "block", "done", "reopen", "cancel"} {
				l.Run("ticket", verb, "42", "--token", "1").Want(t, 76)
			}
			for _, key := range []string{"repo/api", "ticket:42"} {
				l.Run("check", key, "--token", "1").Want(t, 1)
				l.Run("fenced", key, "--token", "1", "--", "sh", "-c", "echo ran >ran").Want(t, 76)
				l.Run("check", key, "--token", token).Want(t, 0)
			}
			for _, args := range [][]string{{"renew"}, {"release"}, {"transfer", "--to-pid", "1"}} {
				l.Run(append(args, "repo/api", "--token", "1")...).Want(t, 76)
			}
			l.Env("LEASE_TICKET=42", "LEASE_TOKEN=1").Run("run", "repo/api", "--", "sh", "-c", "echo ran >ran").Want(t, 76)
			if l.File("ran") != "" {
				t.Fatal("something ran under the old token")
			}
		})
	}
}

// A checkpoint, or done, at the very moment of expiry counts or comes too late, never both, whoever wins against the
// pass of others.
func TestLastMoment(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	outcomes := map[string]int{}
	for round := range 20 {
		verb := []string{"checkpoint", "done"}[round%2]
		id := fmt.Sprint(round)
		l.Approved(id, "repo/"+id)
		l.Begin(id, "--lease", "400ms")
		until := l.SessionEnd(id)
		time.Sleep(time.Until(until) - time.Duration(round)*5*time.Millisecond)
		// Its own pass comes before it, so only what ends in between is judged by the command itself.
		args := slices.Repeat([][]string{{"reconcile"}}, contenders-1)
		args = append(args, []string{"ticket", verb, id, "--token", "1"})
		all := l.Together(args...)
		for _, p := range all[:contenders-1] {
			p.Wait().Want(t, 0)
		}
		r := all[contenders-1].Wait()
		ticket := l.Ticket(id)
		failures, _ := ticket["failures"].([]any)
		outcomes[fmt.Sprintf("%s: exit %d, %s", verb, r.Code, ticket.Str("status"))]++
		switch r.Code {
		case 0:
			if want := map[string]string{"checkpoint": "IN_PROGRESS", "done": "DONE"}[verb]; ticket.Str("status") != want || len(failures) > 0 {
				t.Fatalf("%s succeeded, and the ticket is %v\n%v", verb, ticket, r)
			}
		case 76:
			l.IsBlocked(t, id, "lease_expired", "1")
		default:
			t.Fatalf("%v", r)
		}
	}
	t.Logf("%v", outcomes)
}
