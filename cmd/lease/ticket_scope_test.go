package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Tickets and plain leases stand in each other's way, by segments and in both directions.
func TestScopesAndLeases(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	for i, c := range []struct {
		scope    []string
		key      string
		overlaps string // those of the scope that overlap the key, as a refusal says it
	}{
		{[]string{"repo/api"}, "repo/api", "repo/api"},
		{[]string{"repo/api"}, "repo", "repo/api"},
		{[]string{"repo/api"}, "repo/api/v2", "repo/api"},
		{[]string{"repo/api"}, "repo/api2", ""},
		{[]string{"repo/api"}, "repo/ap", ""},
		{[]string{"repo/web", "z", "repo/api", "repo/api-2"}, "repo", "repo/api, repo/api-2, repo/web"},
		{[]string{"repo/api/v2", "repo/api"}, "repo/api/v2/x", "repo/api"}, // folded
		{[]string{"with space"}, "with space/a;b", "with space"},
	} {
		l := l.Env("LEASE_LEDGER=" + filepath.Join(l.Work, fmt.Sprint(i)))
		token := l.Bring("42", "IN_PROGRESS", c.scope...)
		if c.overlaps == "" {
			l.Run("run", "-n", c.key, "--", "true").Want(t, 0)
		} else {
			l.IsReserved(t, c.key, "42", c.overlaps)
		}
		l.Run("ticket", "review", "42", "--token", token).Want(t, 0)
		l.Run("ticket", "reopen", "42").Want(t, 0)

		held := l.Run("acquire", "--ttl", "300s", "--note", "by hand", c.key).Want(t, 0)
		start := l.Run("ticket", "start", "42")
		if c.overlaps == "" {
			start.Want(t, 0)
			continue
		}
		start.Want(t, 75).Says(t, "by hand")
		if strings.Contains(start.Stderr, "resource scope reserved") {
			t.Errorf("%v", start)
		}
		l.Run("ticket", "show", "42").Want(t, 0)
		l.Run("release", c.key, "--token", strings.TrimSpace(held.Stdout)).Want(t, 0)
	}
}

// Several tickets in the way are a line each; all or nothing is taken.
func TestSeveralTicketsInTheWay(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Bring("9", "REVIEW", "repo/b", "repo/a")
	l.Bring("10", "BLOCKED", "repo/c/d")
	l.Bring("11", "DONE", "repo/e")
	refused := conflict("10", "repo/c/d") + conflict("9", "repo/a, repo/b")
	l.Run("run", "-n", "repo", "--", "true").Want(t, 75).Says(t, refused)
	l.Run("acquire", "-n", "--ttl", "60s", "free", "repo/c", "repo/a/x").Want(t, 75).Says(t, conflict("10", "repo/c/d")+conflict("9", "repo/a"))
	l.Approved("12", "free", "repo")
	l.Run("ticket", "start", "12").Want(t, 75).Says(t, refused)
	l.IsFree(t, "free", "repo/e")
	e := l.Run("--json", "run", "-n", "repo", "--", "true").Want(t, 75).Error(t)
	if e.Str("kind") != "held" || e.Str("key") != "repo" || e.Sub("holder").Str("kind") != "ticket" || !strings.Contains(e.Str("message"), "resource scope reserved by 9: repo/a, repo/b") {
		t.Errorf("error %v", e)
	}
}

// BLOCKED and REVIEW keep the scope until somebody decides; done, cancel and reopen free it, and no token is needed.
func TestWhoKeepsTheScope(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	for _, status := range []string{"BLOCKED", "REVIEW"} {
		for _, verb := range []string{"done", "cancel", "reopen"} {
			id := strings.ToLower(status + "-" + verb)
			key := "repo/" + id
			l.Bring(id, status, key, "z-"+id)
			l.IsReserved(t, key, id, key)
			row := ""
			for line := range strings.Lines(l.Run("ticket", "ls").Want(t, 0).Stdout) {
				if strings.HasPrefix(line, id+"\t") {
					row = line
				}
			}
			if fields := strings.Split(row, "\t"); len(fields) != 7 || fields[1] != status || fields[2] != l.Ticket(id).Str("updated_at") || fields[4] != key+", z-"+id {
				t.Errorf("ticket ls shows %q", row)
			}
			l.Run("ticket", verb, id).Want(t, 0)
			l.IsFree(t, key, "z-"+id)
		}
	}
}

// Whoever works on a ticket works in its scope under the fence of the key alone; the record stays the ticket's.
func TestRunInsideAScope(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	token := l.Bring("42", "IN_PROGRESS", "repo/api", "z")
	mine := l.Env("LEASE_TICKET=42", "LEASE_TOKEN="+token)
	before := l.Lease("repo/api")
	for _, key := range []string{"repo/api", "repo/api/v2"} {
		r := mine.Run("run", "-n", key, "--", "sh", "-c", `echo "$LEASE_KEY $LEASE_TOKEN $LEASE_TICKET $LEASE_KEYS"; lease ticket checkpoint 42`).Want(t, 0)
		if want := key + " 1 42 ticket:42=1 " + key + "=1\n"; r.Stdout != want {
			t.Errorf("the command finds %q, want %q", r.Stdout, want)
		}
	}
	if after := l.Lease("repo/api"); after.Int("revision") != before.Int("revision") || l.Lease("repo/api/v2") != nil {
		t.Errorf("the record was changed from %v to %v", before, after)
	}

	// LEASE_TOKEN alone will do; one that is another's claims nothing.
	l.Env("LEASE_TOKEN="+token).Run("run", "-n", "repo/api", "--", "true").Want(t, 0)
	l.Env("LEASE_TOKEN=99").Run("run", "-n", "repo/api", "--", "true").Want(t, 75).Says(t, conflict("42", "repo/api"))
	l.Env("LEASE_TICKET=42", "LEASE_TOKEN=99").Run("run", "-n", "repo/api", "--", "true").Want(t, 76)
	l.Env("LEASE_KEYS=ticket:42=99").Run("run", "-n", "repo/api", "--", "true").Want(t, 76)
	l.Env("LEASE_KEYS=ticket:42="+token, "LEASE_TOKEN=99").Run("run", "-n", "repo/api", "--", "true").Want(t, 0)
	l.Env("LEASE_KEYS=other=1", "LEASE_KEY=other", "LEASE_TOKEN=1").Run("run", "-n", "repo/api", "--", "true").Want(t, 75)

	// Two of them on overlapping keys wait for each other's fence, on others they do not.
	first := mine.Start("run", "repo/api/v2", "--", "sh", "-c", "echo $$ >first; exec sleep 300")
	pid := mine.UntilPid("first")
	mine.Run("run", "-n", "repo/api", "--", "true").Want(t, 75)
	mine.Run("run", "-n", "-E", "9", "repo/api/v2", "--", "true").Want(t, 9)
	mine.Run("run", "--wait", "50ms", "repo/api/v2/x", "--", "true").Want(t, 75)
	mine.Run("run", "-n", "repo/api/v3", "z", "--", "true").Want(t, 0)
	second := mine.Start("run", "repo/api/v2", "--", "sh", "-c", "echo ran >ran")
	l.Run("ticket", "block", "42", "--token", token).Want(t, 0)
	l.End(pid)
	first.Wait().Want(t, 76) // the session was over before its end
	second.Wait().Want(t, 76)
	if l.File("ran") != "" {
		t.Error("a command ran after the session's end")
	}
	mine.Run("run", "-n", "repo/api", "--", "true").Want(t, 76)
	mine.Run("run", "-n", "elsewhere", "--", "true").Want(t, 0)
}

// In run --ticket everything nested joins the fence that is held around it, also where a program closed the inherited
// descriptors; what is outside the scope is taken as usual; who asks for the scope as if he were somebody else is refused
// in the words of any conflict with a ticket.
func TestRunInsideRunTicket(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	l := NewLedger(t)
	l.Approved("42", "repo/api", "z")
	r := l.Sh(`lease run --ticket 42 beside -- sh -c '
		echo "$LEASE_KEY=$LEASE_TOKEN $LEASE_TICKET $LEASE_KEYS"
		test "$(jq -r .holder.id "$LEASE_LEDGER/sessions/42/1.json")" = "$LEASE_HOLDER" || echo "another holder"
		lease run -n repo/api -- echo 1
		lease run -n repo/api/v2 z -- sh -c "lease run -n repo/api/v2/x -- lease fenced ticket:42 --token 1 -- echo 2"
		lease fenced repo/api --token 1 -- echo 3
		lease fenced "$LEASE_KEY" --token "$LEASE_TOKEN" -- echo 4
		lease run -n other beside2 -- echo 5
		python3 -c "import subprocess; subprocess.run([\"lease\", \"run\", \"-n\", \"repo/api/v2\", \"--\", \"echo\", \"6\"], close_fds=True)"
		lease run -n --reentrant beside -- echo 7
		lease run -n --exec z -- echo 8
		env -u LEASE_TICKET -u LEASE_KEYS -u LEASE_KEY lease run --wait 300s repo -- echo never || echo "refused $?"
		lease acquire --ttl 60s z || echo "refused $?"
		lease run -n z other -- echo never || echo "refused $?"
		lease run --ticket 42 -- echo never || echo "refused $?"
	'`).Want(t, 0)
	want := "ticket:42=1 42 ticket:42=1 repo/api=1 z=1 beside=1\n1\n2\n3\n4\n5\n6\n7\n8\nrefused 75\nrefused 75\nrefused 125\nrefused 125\n"
	if r.Stdout != want {
		t.Errorf("it prints %q, want %q\n%s", r.Stdout, want, r.Stderr)
	}
	r.Says(t, conflict("42", "repo/api")).Says(t, conflict("42", "z")).Says(t, "lease: ticket 42 is IN_PROGRESS")
	if status := l.Ticket("42").Str("status"); status != "REVIEW" {
		t.Errorf("the ticket is %s", status)
	}
	l.IsFree(t, "beside")
}

// Any id goes all the way, whatever the name of its files.
func TestAnyTicketID(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	ids := []string{"x.json", ".hidden", "é", "a b", "%2F", "A", "a", "~", "42.lock", strings.Repeat("i", 300), strings.Repeat("ü", 500)}
	for _, id := range ids {
		l.Approved(id, "scope/"+id)
		if token := l.Begin(id, "--lease", "300ms"); token != "1" {
			t.Errorf("%q: token %s", id, token)
		}
		l.Run("run", "-n", "scope/"+id+"/x", "--", "true").Want(t, 75)
	}
	l.until("the passes have ended all sessions", func() bool {
		l.Run("reconcile").Want(t, 0)
		return strings.Count(l.Run("ticket", "ls").Want(t, 0).Stdout, "BLOCKED") == len(ids)
	})
	for _, id := range ids {
		r := parseRecord(t, id, []byte(l.Run("ticket", "show", id, "--json").Want(t, 0).Stdout))
		if r.Str("id") != id || r.Str("status") != "BLOCKED" {
			t.Errorf("%q: %v", id, r)
		}
		l.Run("ticket", "done", id).Want(t, 0)
		l.Run("run", "-n", "scope/"+id, "--", "true").Want(t, 0)
	}
	for _, id := range []string{"", ".", "..", "a/b", "a\nb", "\xff", strings.Repeat("i", 1018)} {
		l.Run("ticket", "add", id).Want(t, 64)
	}
}

// A ticket that cannot be read stops no command on other keys, and its own scope is not free. Trouble is told once.
func TestTroubleWithOneTicket(t *testing.T) {
	t.Parallel()
	for what, trouble := range map[string]func(l *Ledger) (undo func()){
		"damaged ticket": func(l *Ledger) func() {
			path := filepath.Join(l.Dir, "tickets/42.json")
			good, _ := os.ReadFile(path)
			os.WriteFile(path, good[:len(good)/2], 0o600)
			return func() { os.WriteFile(path, good, 0o600) }
		},
		"newer ticket": func(l *Ledger) func() {
			l.Edit("tickets/42.json", func(r Record) { r["schema"] = 2 })
			return func() { l.Edit("tickets/42.json", func(r Record) { r["schema"] = 1 }) }
		},
		"damaged session": func(l *Ledger) func() {
			path := filepath.Join(l.Dir, "sessions/42/1.json")
			good, _ := os.ReadFile(path)
			os.WriteFile(path, nil, 0o600)
			return func() { os.WriteFile(path, good, 0o600) }
		},
		"a FIFO": func(l *Ledger) func() {
			path := filepath.Join(l.Dir, "tickets/42.json")
			os.Rename(path, path+".aside")
			l.Sh("mkfifo "+path).Want(l.t, 0)
			return func() { os.Rename(path+".aside", path) }
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			l.Bring("42", "IN_PROGRESS", "repo/api")
			l.Bring("43", "REVIEW", "z")
			undo := trouble(l)
			file := "tickets/42.json"
			if what == "damaged session" {
				file = "sessions/42/1.json"
			}
			for _, args := range [][]string{{"run", "-n", "other", "--", "true"}, {"acquire", "--ttl", "60s", "other2"}, {"release", "other2", "--token", "1"}, {"ticket", "add", "44"}, {"ticket", "done", "43"}} {
				r := l.Run(args...).Want(t, 0)
				if n := strings.Count(r.Stderr, file); n != 1 {
					t.Errorf("%v\ntells the trouble %d times", r, n)
				}
				if strings.Count(l.Run("--json", "gc").Want(t, 0).Stderr, `{"error":`) != 1 {
					t.Errorf("%v", r)
				}
			}
			for _, key := range []string{"repo", "repo/api", "repo/api/v2"} {
				if r := l.Run("run", "-n", key, "--", "sh", "-c", "echo ran >ran"); r.Code == 0 || l.File("ran") != "" {
					t.Errorf("%s is free\n%v", key, r)
				}
			}
			if r := l.Run("ticket", "checkpoint", "42", "--token", "1"); r.Code != 74 && r.Code != 75 || strings.Count(r.Stderr, file) != 1 {
				t.Errorf("checkpoint\n%v", r)
			}
			if r := l.Run("reconcile"); r.Code == 0 || !strings.Contains(r.Stderr, file) {
				t.Errorf("reconcile\n%v", r)
			}
			if r := l.Run("ticket", "ls"); !strings.Contains(r.Stdout, "43\tDONE") {
				t.Errorf("ticket ls hides another ticket\n%v", r)
			}
			undo()
			l.Run("ticket", "checkpoint", "42", "--token", "1").Want(t, 0)
			l.Run("ticket", "done", "42", "--token", "1").Want(t, 0)
			l.IsFree(t, "repo/api")
		})
	}
}

// A process that stands still while it changes a ticket keeps nobody from anything else; the ticket is left to later.
func TestPassWaitsForNobody(t *testing.T) {
	t.Parallel()
	needs(t, "flock")
	l := NewLedger(t)
	l.Approved("42", "repo/api")
	l.Begin("42", "--lease", "200ms")
	l.Lapsed("42")
	keeper := l.StartSh(`exec flock "$LEASE_LEDGER/locks/repo/api.lock" sh -c 'echo $$ >keeper; exec sleep 300'`)
	l.UntilPid("keeper")
	l.Run("run", "-n", "other", "--", "true").Want(t, 0).Says(t, "ticket 42")
	l.Run("reconcile").Want(t, 0).Says(t, "ticket 42")
	if status := l.Ticket("42").Str("status"); status != "IN_PROGRESS" {
		t.Fatalf("the ticket is %s", status)
	}
	l.End(l.UntilPid("keeper"))
	keeper.Wait()
	l.Run("reconcile").Want(t, 0)
	l.IsBlocked(t, "42", "lease_expired", "1")
}
