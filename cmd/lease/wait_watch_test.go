package main_test

import (
	"strings"
	"syscall"
	"testing"
)

// watch tells each change under a key as it comes, a line each, and goes on until it is interrupted. What was before is
// not told, nor what is elsewhere.
func TestWatch(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Run("run", "repo/api", "--", "true").Want(t, 0)
	words := l.watch("watch", "repo")
	values := l.watch("watch", "--json", "repo")
	for _, script := range []string{
		"lease run repo2 -- true; lease run repo/api -- true",
		"lease acquire --ttl 1h repo; lease break repo --reason test",
	} {
		l.Sh(script).Want(t, 0)
	}
	want := []string{"granted repo/api", "released repo/api", "granted repo", "broken repo"}
	l.until("all is told", func() bool {
		return strings.Count(words.Stdout(), "\n") >= len(want) && strings.Count(values.Stdout(), "\n") >= len(want)
	})
	words.Signal(syscall.SIGINT)
	values.Signal(syscall.SIGINT)
	for i, line := range strings.Split(strings.TrimSuffix(words.Wait().Want(t, 130).Stdout, "\n"), "\n") {
		fields := strings.Split(line, "\t")
		if i >= len(want) || len(fields) < 4 || fields[1]+" "+fields[2] != want[i] {
			t.Errorf("line %d: %q", i, line)
		}
	}
	for i, line := range strings.Split(strings.TrimSuffix(values.Wait().Want(t, 130).Stdout, "\n"), "\n") {
		r := parseRecord(t, "a line of watch", []byte(line))
		if i >= len(want) || r.Str("event")+" "+r.Str("key") != want[i] || r.Sub("by").Int("pid") == 0 || r.Int("generation") == 0 {
			t.Errorf("line %d: %q", i, line)
		}
	}
}

// watch starts a command that follows the history, and returns once it does.
func (l *Ledger) watch(args ...string) *Process {
	l.t.Helper()
	p := l.Start(args...)
	l.until("it follows", func() bool { return watching(p.Pid) })
	return p
}

// Changes that many make at once are all told, each once, and those of one key in their order.
func TestWatchMissesNothing(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Run("run", "k", "--", "true").Want(t, 0)
	watch := l.watch("watch", "--json")
	var all []*Process
	for range contenders {
		all = append(all, l.StartSh(`for i in 1 2 3 4 5 6 7 8; do lease run k -- true || exit; done`))
	}
	for _, p := range all {
		p.Wait().Want(t, 0)
	}
	const changes = 2 * 8 * contenders
	l.until("all is told", func() bool { return strings.Count(watch.Stdout(), "\n") >= changes })
	watch.Signal(syscall.SIGINT)
	lines := strings.Split(strings.TrimSuffix(watch.Wait().Want(t, 130).Stdout, "\n"), "\n")
	if len(lines) != changes {
		t.Fatalf("%d lines, want %d", len(lines), changes)
	}
	for i, line := range lines {
		r := parseRecord(t, "a line of watch", []byte(line))
		if event := []string{"granted", "released"}[i%2]; r.Str("event") != event || r.Int("generation") != int64(2+i/2) {
			t.Errorf("line %d: %s", i, line)
		}
	}
}

// A ledger that does not exist yet can be watched; one that is moved away is told.
func TestWatchedLedgerComesAndGoes(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	watch := l.Start("watch", "--json")
	l.until("it follows", func() bool { return watching(watch.Pid) })
	l.Run("run", "k", "--", "true").Want(t, 0)
	l.until("it is told", func() bool { return strings.Count(watch.Stdout(), "\n") == 2 })
	l.Sh(`mv "$LEASE_LEDGER" "$LEASE_LEDGER.old"`).Want(t, 0)
	watch.Wait().Want(t, 74).Says(t, "moved or replaced")
}
