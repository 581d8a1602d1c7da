package main_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A lock file that goes in the middle of a change to several keys is made again and the change goes on: it
// meets neither what it wrote itself nor what it gave up itself.
func TestLockFilesRemovedAmongSeveralKeys(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	for range 40 {
		p := l.Start("run", "a", "b", "c", "d", "e", "f", "--", "true")
		for p.Running() {
			for _, key := range []string{"b", "c", "d", "e", "f"} {
				_ = os.Remove(filepath.Join(l.Dir, "locks", key+".lock"))
			}
			time.Sleep(time.Duration(rand.IntN(3)) * time.Millisecond)
		}
		p.Wait().Want(t, 0)
		if left, _ := filepath.Glob(filepath.Join(l.Dir, "leases", "*.json")); len(left) > 0 {
			t.Fatalf("left over: %v", left)
		}
	}
}

// Whoever releases a key while a hand removes its lock file takes away its own lease only, not that of a successor who came in
// between: after the tombstone was written, or just before the lease is unlinked.
func TestLockFileRemovedDuringRelease(t *testing.T) {
	t.Parallel()
	needs(t, "strace")
	for _, delay := range []string{"renameat:delay_exit=1s", "unlinkat:delay_enter=1s"} {
		call, _, _ := strings.Cut(delay, ":")
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			wantGrant(t, l.Run("acquire", "--ttl", "1h", "k"), "1")
			releasing := l.In("strace", "-f", "-qqq", "-o", "/dev/null", "-e", "trace="+call, "-e", "inject="+delay).Start("release", "k", "--token", "1")
			l.until("the tombstone is written", func() bool {
				_, err := os.Stat(filepath.Join(l.Dir, "tombstones/k.json"))
				return err == nil
			})
			time.Sleep(100 * time.Millisecond) // it goes on to its delay
			if err := os.Remove(filepath.Join(l.Dir, "locks/k.lock")); err != nil {
				t.Fatal(err)
			}
			wantGrant(t, l.Run("acquire", "-n", "--ttl", "1h", "k"), "2")
			releasing.Wait().Want(t, 0)
			l.Run("check", "k", "--token", "2").Want(t, 0)
		})
	}
}

// A ledger whose configuration cannot be understood is not an empty one to anybody who looks.
func TestReadingABrokenLedger(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Run("run", "k", "--", "true").Want(t, 0)
	for content, code := range map[string]int{"": 74, "{}": 74, `{"schema": 2}`: 75} {
		if err := os.WriteFile(filepath.Join(l.Dir, "ledger.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"wait", "-n", "free"}, {"show", "free"}, {"ls"}} {
			l.Run(args...).Want(t, code).Says(t, "ledger.json")
		}
		if check := l.Run("check", "free"); check.Code == 1 {
			t.Errorf("check says that nobody holds the key\n%s", check)
		}
	}
}
