package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A command is killed at its first change of a file, its second, and so on: whatever is left, after the next command's
// pass the ticket is in its old or its new state, keeps its scope just as that says, no key is reserved for good, and
// work can go on. (ledgermem does the same at every write of every transition; this is the files' side of it.)
func TestCommandsKilledBetweenWrites(t *testing.T) {
	t.Parallel()
	needs(t, "strace")
	for _, c := range []struct {
		name, from string
		args       []string
		states     []string
		kills      int // at least
	}{
		{"start", "READY", []string{"ticket", "start", "42"}, []string{"READY", "IN_PROGRESS"}, 6},
		{"start again", "REVIEW", []string{"ticket", "start", "42"}, []string{"REVIEW", "IN_PROGRESS"}, 4},
		{"review", "IN_PROGRESS", []string{"ticket", "review", "42", "--token", "1"}, []string{"IN_PROGRESS", "REVIEW"}, 3},
		{"done", "IN_PROGRESS", []string{"ticket", "done", "42", "--token", "1"}, []string{"IN_PROGRESS", "DONE"}, 6},
		{"reopen", "BLOCKED", []string{"ticket", "reopen", "42"}, []string{"BLOCKED", "READY"}, 4},
		{"expiry", "LAPSED", []string{"reconcile"}, []string{"BLOCKED"}, 3},
		{"work", "READY", []string{"run", "--ticket", "42", "--then", "done", "--", "true"}, []string{"READY", "BLOCKED", "DONE"}, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			if c.from == "LAPSED" {
				l.Approved("42", "repo/api", "z")
				l.Begin("42", "--lease", "200ms")
				l.Lapsed("42")
			} else {
				l.Bring("42", c.from, "repo/api", "z")
			}
			before := filepath.Join(filepath.Dir(l.Dir), "before")
			l.Sh(`cp -a "$LEASE_LEDGER" "$1"`, before).Want(t, 0)
			seen := map[string]int{}
			kills := 0
			// strace counts in each thread for itself, so that one count for all files would miss most of them.
			for _, folder := range []string{"active", "sessions/42", "tickets", "leases", "leases/repo", "tombstones", "tombstones/repo", "holders"} {
				for _, call := range []string{"renameat", "unlinkat", "linkat"} {
					for n := 1; ; n++ {
						l.Sh(`rm -rf "$LEASE_LEDGER"; cp -a "$1" "$LEASE_LEDGER"`, before).Want(t, 0)
						r := l.Env("GOMAXPROCS=1").In("strace", "-f", "-qqq", "-o", "/dev/null", "-P", filepath.Join(l.Dir, folder),
							"-e", "trace="+call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n)).Run(c.args...)
						if r.Code == 0 {
							break
						}
						r.Want(t, -9)
						kills++
						seen[afterKill(t, l, fmt.Sprintf("%s killed at %s %d in %s", c.name, call, n, folder), c.states)]++
					}
				}
			}
			if kills < c.kills {
				t.Errorf("only %d kills", kills)
			}
			t.Logf("%d kills left the ticket %v", kills, seen)
		})
	}
}

// afterKill is what the next commands find. It returns the ticket's status.
func afterKill(t *testing.T, l *Ledger, when string, states []string) string {
	t.Helper()
	l.Run("reconcile").Want(t, 0)
	if again := l.Run("reconcile").Want(t, 0); again.Stdout != "" {
		t.Errorf("%s: a second pass does something\n%v", when, again)
	}
	status := l.Ticket("42").Str("status")
	if !slices.Contains(states, status) {
		t.Errorf("%s: the ticket is %s", when, status)
	}
	live := slices.Contains([]string{"IN_PROGRESS", "BLOCKED", "REVIEW"}, status)
	for _, key := range []string{"repo/api", "z"} {
		r := l.Run("run", "-n", key, "--", "true")
		if want := map[bool]int{true: 75, false: 0}[live]; r.Code != want {
			t.Errorf("%s: the ticket is %s\n%v", when, status, r)
		}
	}
	sessions, _ := filepath.Glob(l.Dir + "/sessions/42/*.json")
	for _, path := range sessions {
		name := strings.TrimPrefix(path, l.Dir+"/")
		generation := strings.TrimSuffix(filepath.Base(path), ".json")
		current := status == "IN_PROGRESS" && generation == fmt.Sprint(l.Ticket("42")["session"])
		if active := l.Record(name).Str("status") == "active"; active != current {
			t.Errorf("%s: the ticket is %s in session %v, and %s is active: %v", when, status, l.Ticket("42")["session"], name, active)
		}
	}
	if status == "READY" || status == "BLOCKED" || status == "REVIEW" {
		l.Run("ticket", "start", "42").Want(t, 0)
	}
	if status != "DONE" {
		l.Run("ticket", "cancel", "42", "--force", "--reason", "test").Want(t, 0)
	}
	l.Run("run", "-n", "repo", "z", "--", "true").Want(t, 0)
	if left, _ := os.ReadDir(l.Dir + "/active"); len(left) > 0 {
		t.Errorf("%s: active/ still has %v", when, left)
	}
	return status
}
