package main_test

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// What becomes of a ticket when the command of run --ticket ends.
func TestWorkEnds(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	for i, c := range []struct {
		args, command []string
		code          int
		status        string
		failure       int64 // exit code of failure command_failed; 0: none
	}{
		{nil, []string{"true"}, 0, "REVIEW", 0},
		{[]string{"--then", "review"}, []string{"true"}, 0, "REVIEW", 0},
		{[]string{"--then", "done"}, []string{"true"}, 0, "DONE", 0},
		{[]string{"--then", "keep"}, []string{"true"}, 0, "IN_PROGRESS", 0},
		{nil, []string{"sh", "-c", "exit 3"}, 3, "BLOCKED", 3},
		{[]string{"--then", "done"}, []string{"sh", "-c", "exit 3"}, 3, "BLOCKED", 3},
		{[]string{"--then", "keep"}, []string{"sh", "-c", "exit 200"}, 200, "BLOCKED", 200},
		{nil, []string{"sh", "-c", "kill -KILL $$"}, 137, "BLOCKED", 137},
		{nil, []string{"/no/such/command"}, 127, "BLOCKED", 127},
		{nil, []string{"/"}, 126, "BLOCKED", 126},
	} {
		id := fmt.Sprint(i)
		l.Approved(id, "repo/"+id)
		args := append([]string{"run", "--ticket", id}, c.args...)
		r := l.Run(append(append(args, "--"), c.command...)...).Want(t, c.code)
		if r.Stdout != "" {
			t.Errorf("run writes %q", r.Stdout)
		}
		if status := l.Ticket(id).Str("status"); status != c.status {
			t.Errorf("%v: the ticket is %s, want %s", r.Argv, status, c.status)
			continue
		}
		l.Run("reconcile").Want(t, 0)
		switch c.status {
		case "BLOCKED":
			if got := l.IsBlocked(t, id, "command_failed", "1").Int("exit_code"); got != c.failure {
				t.Errorf("%v: exit code %d is on record, want %d", r.Argv, got, c.failure)
			}
			l.IsReserved(t, "repo/"+id, id, "repo/"+id)
		case "DONE":
			l.IsFree(t, "repo/"+id)
		case "IN_PROGRESS": // the session goes on for whoever has the token
			l.Run("check", "repo/"+id, "--token", "1").Want(t, 0)
			l.Run("ticket", "done", id, "--token", "1").Want(t, 0)
		default:
			l.IsReserved(t, "repo/"+id, id, "repo/"+id)
		}
	}
}

// A worker that is killed with its wrapper leaves the ticket BLOCKED at the next command, and the scope reserved; the next
// session has a higher token.
func TestWorkerIsKilled(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Approved("42", "repo/api")
	for round := 1; round <= 3; round++ {
		work := l.Start("run", "--ticket", "42", "--", "sh", "-c", "echo $$ >worker; exec sleep 300")
		worker := l.UntilPid("worker")
		l.Run("reconcile").Want(t, 0)
		if status := l.Ticket("42").Str("status"); status != "IN_PROGRESS" {
			t.Fatalf("while the worker lives the ticket is %s", status)
		}
		l.Sh("rm worker")
		work.Kill()
		l.End(worker)
		l.Run("run", "other", "--", "true").Want(t, 0)
		ticket := l.Ticket("42")
		failures := ticket["failures"].([]any)
		if last := Record(failures[len(failures)-1].(map[string]any)); ticket.Str("status") != "BLOCKED" || len(failures) != round || last.Str("kind") != "holder_dead" || last.Int("session") != int64(round) {
			t.Fatalf("round %d: ticket %v", round, ticket)
		}
		l.IsReserved(t, "repo", "42", "repo/api")
	}
}

// A session bound to a process ends with that process; one that lives does not extend it.
func TestSessionOfAProcess(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Approved("42", "repo/api")
	script := l.StartSh(`lease ticket start 42 --pid $$ >token; exec sleep 300`)
	l.UntilFile("token")
	l.Run("reconcile").Want(t, 0)
	l.Run("check", "ticket:42", "--token", l.File("token")).Want(t, 0)
	script.Kill()
	l.Run("check", "ticket:42", "--token", l.File("token")).Want(t, 1)
	l.Run("reconcile").Want(t, 0)
	l.IsBlocked(t, "42", "holder_dead", "1")

	l.Approved("43", "z")
	l.StartSh(`lease ticket start 43 --pid $$ --lease 500ms >token2; exec sleep 300`)
	l.UntilFile("token2")
	l.Lapsed("43")
	l.Run("reconcile").Want(t, 0)
	l.IsBlocked(t, "43", "lease_expired", "1")
	l.Run("ticket", "start", "43", "--pid", "4194304").Want(t, 64)
}

// The command of a killed wrapper works on: the ticket is BLOCKED, but nobody starts in its scope before it has ended,
// also if it gave up the fence that it inherited, and also once the scope is free.
func TestWorkOutlivesItsWrapper(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"fence", "descriptors closed"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			l.Approved("42", "repo/api")
			command := []string{"sh", "-c", "echo $$ >command; exec sleep 300"}
			if how != "fence" {
				needs(t, "python3")
				command = []string{"python3", "-c", `
import os, time
os.closerange(3, 1 << 16)
open("command", "w").write(str(os.getpid()))
time.sleep(300)`}
			}
			work := l.Start(append([]string{"run", "--ticket", "42", "--"}, command...)...)
			pid := l.UntilPid("command")
			untilNoted(l)
			work.Kill()
			l.Run("reconcile").Want(t, 0)
			l.IsBlocked(t, "42", "holder_dead", "1")

			l.Run("ticket", "start", "42", "-n").Want(t, 75).Says(t, strconv.Itoa(pid))
			l.Run("ticket", "start", "42", "--wait", "100ms").Want(t, 75).Says(t, strconv.Itoa(pid))
			if status := l.Ticket("42").Str("status"); status != "BLOCKED" {
				t.Fatalf("after a start in vain the ticket is %s", status)
			}
			l.IsReserved(t, "repo/api", "42", "repo/api")
			next := l.Start("ticket", "start", "42")
			next.UntilStderr(strconv.Itoa(pid))
			next.Kill()
			interrupted := l.Start("ticket", "start", "42")
			interrupted.UntilStderr(strconv.Itoa(pid))
			interrupted.Signal(syscall.SIGINT)
			interrupted.Wait().Want(t, 130)
			l.IsReserved(t, "repo/api", "42", "repo/api")

			l.Run("ticket", "reopen", "42").Want(t, 0)
			l.Run("run", "-n", "repo", "--", "sh", "-c", "echo ran >ran").Want(t, 75).Says(t, strconv.Itoa(pid))
			again := l.Start("run", "--ticket", "42", "--", "sh", "-c", "echo ran >ran")
			again.UntilStderr(strconv.Itoa(pid))
			if l.File("ran") != "" {
				t.Fatal("the next command started while the last one ran")
			}
			l.End(pid)
			again.Wait().Want(t, 0)
			if l.File("ran") == "" {
				t.Fatal("the next command did not run")
			}
		})
	}
}

// A session that is broken, or ended by an operator, is told to its worker, which is asked to end.
func TestWorkIsTakenAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args            []string
		status, failure string
	}{
		{[]string{"break", "ticket:42", "--reason", "stuck"}, "BLOCKED", "broken"},
		{[]string{"break", "repo/api", "--reason", "stuck"}, "BLOCKED", "broken"},
		{[]string{"ticket", "cancel", "42", "--force", "--reason", "stuck"}, "CANCELLED", ""},
		{[]string{"ticket", "block", "42", "--force", "--reason", "stuck"}, "BLOCKED", ""},
	} {
		t.Run(strings.Join(c.args[:2], " "), func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			l.Approved("42", "repo/api")
			work := l.Start("run", "--ticket", "42", "--ttl", "2s", "--heartbeat", "100ms", "--", "sh", "-c", `trap 'echo told >told; exit 0' TERM; echo $$ >command; while :; do sleep 0.1; done`)
			l.UntilPid("command")
			l.Run(c.args...).Want(t, 0)
			work.Wait().Want(t, 76)
			if l.File("told") != "told" {
				t.Errorf("the command was not told")
			}
			ticket := l.Ticket("42")
			failures, _ := ticket["failures"].([]any)
			if ticket.Str("status") != c.status || len(failures) != len(strings.Fields(c.failure)) {
				t.Errorf("the ticket is %v", ticket)
			}
			if c.failure != "" && l.IsBlocked(t, "42", c.failure, "1").Str("detail") != "stuck" {
				t.Errorf("failures %v", failures)
			}
		})
	}
}

// break --if-silent breaks a session that makes no checkpoint, and no other.
func TestBreakSilentSession(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Approved("42", "repo/api")
	token := l.Begin("42")
	watch := l.Start("break", "ticket:42", "--reason", "silent", "--if-silent", "300s")
	l.until("it watches", func() bool { // a checkpoint made before it looked counts for nothing
		l.Run("ticket", "checkpoint", "42", "--token", token).Want(t, 0)
		return !watch.Running()
	})
	watch.Wait().Want(t, 75)
	l.Run("break", "repo/api", "--reason", "silent", "--if-silent", "300ms").Want(t, 0)
	l.IsBlocked(t, "42", "broken", token)
	l.Run("break", "ticket:42", "--reason", "silent", "--if-silent", "300ms").Want(t, 1)
	l.Run("break", "ticket:42", "--reason", "silent").Want(t, 1)
	l.IsReserved(t, "repo/api", "42", "repo/api")
}

// The heartbeat of run --ticket is a checkpoint; a wrapper that stands still for too long loses the session.
func TestHeartbeatIsACheckpoint(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Approved("42", "repo/api")
	work := l.Start("run", "--ticket", "42", "--ttl", "2s", "--heartbeat", "100ms", "--", "sh", "-c", "lease ticket checkpoint 42 --note half; echo $$ >command; exec sleep 300")
	l.UntilPid("command")
	first := l.SessionEnd("42")
	l.until("it has gone on for longer than the session", func() bool { return l.SessionEnd("42").Sub(first) > 3e9 })
	session := l.Session("42", "1")
	if last := fmt.Sprint(session["last_checkpoints"]); session.Int("checkpoints") < 3 || !strings.Contains(last, "half") {
		t.Errorf("session %v", session)
	}
	work.Stop()
	l.Lapsed("42")
	l.Run("reconcile").Want(t, 0)
	l.IsBlocked(t, "42", "lease_expired", "1")
	work.Signal(syscall.SIGCONT)
	work.Wait().Want(t, 76)
}

// Who waits for a ticket's scope gets it when the ticket is done; who asks with -n is told at once, and with --wait in time.
func TestWaitingForAScope(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	token := l.Bring("42", "IN_PROGRESS", "repo/api", "y", "z")
	run := l.Start("run", "repo", "--", "sh", "-c", "echo ran >ran")
	run.UntilStderr("resource scope reserved by 42: repo/api")
	other := l.Start("wait", "y")
	l.Approved("43", "z/1")
	l.Run("ticket", "start", "43").Want(t, 75).Says(t, conflict("42", "z"))
	ticket := l.Start("ticket", "start", "43", "--wait", "300s")
	work := l.Start("run", "--ticket", "43", "--", "true")
	l.Run("run", "repo/api/v2", "--wait", "50ms", "--", "true").Want(t, 75).Says(t, conflict("42", "repo/api"))
	work.UntilStderr("resource scope reserved by 42: z")
	if l.File("ran") != "" || !other.Running() || !ticket.Running() {
		t.Fatal("somebody did not wait")
	}
	l.Run("ticket", "done", "42", "--token", token).Want(t, 0)
	run.Wait().Want(t, 0)
	other.Wait().Want(t, 0)
	// One of the two works on 43; the other is told that somebody does, or did.
	started, worked := ticket.Wait(), work.Wait()
	if started.Code == 0 {
		worked.Want(t, 125).Says(t, "lease: ticket 43 ")
		return
	}
	started.Want(t, 1).Says(t, "lease: ticket 43 ")
	worked.Want(t, 0)
}
