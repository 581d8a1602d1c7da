package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// untilToldScript is a command that says when it was told to end, and then does.
const untilToldScript = `trap 'echo yes >told; exit 0' TERM; echo yes >started; while :; do sleep 0.05; done`

// A removed lock file is made again and the lease goes on.
func TestRemovedLockFile(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	p := l.Start("run", "--ttl", "8s", "--heartbeat", "100ms", "repo/api", "--", "sh", "-c", "echo yes >started; until test -e stop; do sleep 0.05; done")
	l.UntilFile("started")
	revision := l.Lease("repo/api").Int("revision")
	for _, lock := range []string{"locks/repo/api.lock", "locks/repo.lock"} {
		if err := os.Remove(filepath.Join(l.Dir, lock)); err != nil {
			t.Fatal(err)
		}
	}
	l.until("the lease is renewed", func() bool { return l.Lease("repo/api").Int("revision") > revision+2 })
	l.Run("run", "-n", "repo/api", "--", "touch", "ran").Want(t, 75)
	l.Run("run", "-n", "repo", "--", "touch", "ran").Want(t, 75)
	for _, lock := range []string{"locks/repo/api.lock", "locks/repo.lock"} {
		if _, err := os.Stat(filepath.Join(l.Dir, lock)); err != nil {
			t.Errorf("the lock file was not made again: %v", err)
		}
	}
	l.Sh("echo yes >stop").Want(t, 0)
	p.Wait().Want(t, 0)
	l.Run("run", "-n", "repo", "--", "true").Want(t, 0)
}

// Somebody who removes lock files all the time makes nobody share a key. In the moment between the last look at the lock and the write
// one may overwrite another's grant; who lost it is told, 76, and its command does not start beside the other's.
func TestRemovedLockFileUnderContention(t *testing.T) {
	t.Parallel()
	l := made(t)
	const loops, rounds = 8, 12
	if err := os.WriteFile(filepath.Join(l.Work, "count"), []byte("0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := `for i in $(seq ` + fmt.Sprint(rounds) + `); do
		lease run repo/api -- sh -c 'mkdir inside || echo clash >>clash; n=$(cat count); sleep 0.002; echo $((n+1)) >count; echo x >>done; rmdir inside'
		code=$?; test $code = 0 || test $code = 76 || exit $code
	done`
	var all []*Process
	for range loops {
		all = append(all, l.StartSh(script))
	}
	removed, start := 0, time.Now()
	for running := loops; running > 0; time.Sleep(3 * time.Millisecond) {
		for _, lock := range []string{"locks/repo/api.lock", "locks/repo.lock"} {
			if os.Remove(filepath.Join(l.Dir, lock)) == nil {
				removed++
			}
		}
		running = 0
		for _, p := range all {
			if p.Running() {
				running++
			}
		}
		if time.Since(start) > 5*hangGuard {
			t.Fatalf("%d of %d loops still run", running, loops)
		}
	}
	for _, p := range all {
		if r := p.Wait(); r.Code != 0 {
			t.Errorf("want exit 0 or 76 of every run\n%v", r)
		}
	}
	if removed < 20 {
		t.Fatalf("only %d lock files were removed", removed)
	}
	done := strings.Count(l.File("done"), "x")
	if got := l.File("count"); got != fmt.Sprint(done) || l.File("clash") != "" || done < loops*rounds/2 {
		t.Errorf("count is %s after %d commands; clashes: %q", got, done, l.File("clash"))
	}
}

// A holder whose lease, or whose whole ledger, is taken away notices at its next renewal and tells its command.
func TestRemovedLease(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(l *Ledger) error{
		"lease":  func(l *Ledger) error { return os.Remove(filepath.Join(l.Dir, "leases/task:42.json")) },
		"leases": func(l *Ledger) error { return os.RemoveAll(filepath.Join(l.Dir, "leases")) },
		"ledger": func(l *Ledger) error {
			var err error
			for range 20 { // against a holder that is just writing
				if err = os.RemoveAll(l.Dir); err == nil {
					break
				}
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			p := l.Start("run", "--ttl", "4s", "--heartbeat", "500ms", "task:42", "--", "sh", "-c", untilToldScript)
			l.UntilFile("started")
			if err := remove(l); err != nil {
				t.Fatal(err)
			}
			r := p.Wait().Want(t, 76)
			if !strings.Contains(r.Stderr, "lease: ") || !strings.Contains(r.Stderr, "task:42") {
				t.Errorf("want a message that names the key\n%v", r)
			}
			if l.File("told") == "" {
				t.Errorf("the command was not told\n%v", r)
			}
			if name == "ledger" {
				return
			}
			// The holder wrote the tombstone of its generation, so nobody gets that generation again.
			if r := l.Run("acquire", "-n", "--ttl", "1h", "task:42").Want(t, 0); strings.TrimSpace(r.Stdout) != "2" {
				t.Errorf("want generation 2\n%v", r)
			}
		})
	}
}

// Without its tombstone a key starts again, but above the floor.
func TestRemovedTombstone(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Run("run", "task:42", "--", "true").Want(t, 0)
	l.Edit("ledger.json", func(r Record) {
		if _, ok := r["floor"]; !ok {
			t.Fatalf("ledger.json has no floor: %v", r)
		}
		r["floor"], r["ceiling"] = 500, 2000
	})
	if err := os.Remove(filepath.Join(l.Dir, "tombstones/task:42.json")); err != nil {
		t.Fatal(err)
	}
	if r := l.Run("acquire", "-n", "--ttl", "1h", "task:42").Want(t, 0); strings.TrimSpace(r.Stdout) != "501" {
		t.Errorf("want generation 501\n%v", r)
	}
	if r := l.Run("acquire", "-n", "--ttl", "1h", "other").Want(t, 0); strings.TrimSpace(r.Stdout) != "501" {
		t.Errorf("want generation 501\n%v", r)
	}
}

// What a hand removes beside the records is made again, or not missed: a key with a tombstone keeps its generation.
func TestRemovedFolders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"leases", "locks", "holders", "sightings", "orphans", "queue", "journal", "README", "ledger.lock"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			l.Run("run", "repo/api", "--", "true").Want(t, 0)
			if err := os.RemoveAll(filepath.Join(l.Dir, name)); err != nil {
				t.Fatal(err)
			}
			l.Run("ls").Want(t, 0)
			if r := l.Run("acquire", "-n", "--ttl", "1h", "repo/api").Want(t, 0); strings.TrimSpace(r.Stdout) != "2" {
				t.Errorf("want generation 2\n%v", r)
			}
		})
	}
}
