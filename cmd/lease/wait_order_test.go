package main_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// untilGo is a command that writes its pid into the file named $1 and ends when the file named $2 is there.
const untilGo = `echo $$ >"$1"; until test -e "$2"; do sleep .02; done`

// hold starts a run whose command has begun, and ends when the file go is there.
func hold(l *Ledger, keys ...string) *Process {
	l.t.Helper()
	p := l.Start(slices.Concat([]string{"run"}, keys, []string{"--", "sh", "-c", untilGo, "sh", "holding", "go"})...)
	l.UntilFile("holding")
	return p
}

// wait starts a run that has entered the queue of its first key, the n-th in it. Its command appends name to the
// file order.
func wait(l *Ledger, n int, name string, keys ...string) *Process {
	l.t.Helper()
	p := l.Start(slices.Concat([]string{"run", "-q"}, keys, []string{"--", "sh", "-c", `echo "$1" >>order`, "sh", name})...)
	l.until(name+" is queued", func() bool { return queued(l, keys[0]) >= n })
	return p
}

func (l *Ledger) touch(name string) {
	l.t.Helper()
	l.Sh(`echo >"$1"`, name).Want(l.t, 0)
}

// order is what the commands of wait have written so far.
func (l *Ledger) order() string { return strings.Join(strings.Fields(l.File("order")), " ") }

// A stopped first waiter is passed over after 5 s, not before, and gets its turn when it is continued.
func TestStoppedWaiterIsPassedOver(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	holder := hold(l, "k")
	stopped := wait(l, 1, "stopped", "k")
	stopped.Stop()
	next := l.Start("run", "-q", "k", "--", "sh", "-c", `echo next >>order; `+untilGo, "sh", "next", "go2")
	l.until("the next one is queued", func() bool { return queued(l, "k") == 2 })

	start := time.Now()
	l.touch("go")
	holder.Wait().Want(t, 0)
	l.UntilFile("next")
	if passed := time.Since(start); passed < 5*time.Second {
		t.Errorf("the stopped waiter was passed over after %v", passed)
	}

	last := wait(l, 2, "last", "k")
	stopped.Signal(syscall.SIGCONT)
	l.until("it is known to be awake", func() bool {
		marks, _ := filepath.Glob(filepath.Join(l.Dir, "queue/k/*~turn"))
		return len(marks) == 0
	})
	l.touch("go2")
	for _, p := range []*Process{next, stopped, last} {
		p.Wait().Want(t, 0)
	}
	if l.order() != "next stopped last" {
		t.Errorf("they ran in the order %q", l.order())
	}
}

// A killed acquire is skipped at once, although the process that it waited for lives.
func TestKilledAcquireIsSkipped(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	holder := hold(l, "k")
	shell := l.StartSh("exec sleep 300")
	killed := l.Start("acquire", "--pid", strconv.Itoa(shell.Pid), "k")
	l.until("it is queued", func() bool { return queued(l, "k") == 1 })
	next := wait(l, 2, "next", "k")
	killed.Kill()
	l.touch("go")
	holder.Wait().Want(t, 0)
	next.Wait().Want(t, 0)
	if n := queued(l, "k"); l.order() != "next" || n != 0 || !shell.Running() {
		t.Errorf("ran: %q, %d in the queue, the shell runs: %v", l.order(), n, shell.Running())
	}
	wantGrant(t, l.Run("acquire", "-n", "--pid", strconv.Itoa(shell.Pid), "k"), "3")
}

// A try without waiting does not barge in before a living waiter, but does before a dead one.
func TestTryDoesNotBarge(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	holder := hold(l, "repo/a")
	waiting := wait(l, 1, "waiting", "repo")
	waiting.Stop() // so that it does not take its turn
	l.touch("go")
	holder.Wait().Want(t, 0)
	l.Run("run", "-n", "repo/b", "--", "true").Want(t, 75).Says(t, fmt.Sprint(waiting.Pid))
	l.Run("acquire", "-n", "--ttl", "1h", "repo").Want(t, 75).Says(t, fmt.Sprint(waiting.Pid))
	l.Run("run", "-n", "other", "--", "true").Want(t, 0)
	waiting.Kill()
	l.Run("run", "-n", "repo/b", "--", "true").Want(t, 0)
}

// A waiter gets its turn under a steady stream of runs on keys above it or below it.
func TestStreamDoesNotStarve(t *testing.T) {
	for name, test := range map[string]struct {
		waiter string
		stream []string
	}{
		"below": {"repo", []string{"repo/a", "repo/b", "repo/c"}},
		"above": {"repo/a", []string{"repo"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			var stream []*Process
			for i := range contenders {
				stream = append(stream, l.StartSh(`until test -e stop; do lease run -q "$1" -- sh -c 'echo >>count' || exit; done`, test.stream[i%len(test.stream)]))
			}
			l.until("the stream flows", func() bool { return l.lines("count") > 2*contenders })
			for range 5 {
				waiter := l.Start("run", "-q", test.waiter, "--", "sh", "-c", "wc -l <count")
				l.until("it is queued or has run", func() bool { return waiting(l, waiter.Pid) || !waiter.Running() })
				before := l.lines("count")
				at, err := strconv.Atoi(strings.TrimSpace(waiter.Wait().Want(t, 0).Stdout))
				if err != nil {
					t.Fatal(err)
				}
				if at-before > contenders {
					t.Errorf("%d runs of the stream went first, although no more than %d can have been there before it", at-before, contenders)
				}
			}
			l.touch("stop")
			for _, p := range stream {
				p.Wait().Want(t, 0)
			}
		})
	}
}

// waiting reports whether a process stands in the queue of some key.
func waiting(l *Ledger, pid int) bool {
	l.t.Helper()
	found := false
	filepath.WalkDir(filepath.Join(l.Dir, "queue"), func(name string, _ fs.DirEntry, _ error) error {
		found = found || strings.HasSuffix(name, ".json") && strings.Contains(readFile(name), fmt.Sprintf(`"pid": %d,`, pid))
		return nil
	})
	return found
}

// Waiters for overlapping sets of keys all get their turn, in whatever order they come, and never two at once.
func TestCrossedSetsOfKeys(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	sets := [][]string{{"x/b", "c"}, {"x", "c"}, {"c", "x/b"}, {"c", "x"}, {"c/d", "x/b/e"}}
	var all [][]string
	for i := range 4 * contenders {
		n := fmt.Sprint(i)
		all = append(all, slices.Concat([]string{"run", "-q"}, sets[i%len(sets)], []string{"--", "sh", "-c", `echo "$1 in" >>order; sleep .005; echo "$1 out" >>order`, "sh", n}))
	}
	holder := hold(l, "x")
	started := l.Together(all...)
	l.until("all are queued", func() bool {
		return queued(l, "x")+queued(l, "x/b")+queued(l, "x/b/e") == len(all)
	})
	l.touch("go")
	holder.Wait().Want(t, 0)
	for _, p := range started {
		p.Wait().Want(t, 0)
	}
	lines := strings.Split(l.File("order"), "\n")
	if len(lines) != 2*len(all) {
		t.Fatalf("%d lines of %d commands", len(lines), len(all))
	}
	for i := 0; i < len(lines); i += 2 {
		if n, _, _ := strings.Cut(lines[i], " "); lines[i] != n+" in" || lines[i+1] != n+" out" {
			t.Fatalf("two at once: %q, %q", lines[i], lines[i+1])
		}
	}
}

// A command that holds a/b and asks for a/c, while somebody waits for a, gets it: that one waits for the holder of a/b.
func TestHolderPassesTheQueue(t *testing.T) {
	for name, script := range map[string]string{
		"under run":                `lease run a/b -- sh -c 'echo >holding; until test -e go; do sleep .02; done; lease run -q a/c -- sh -c "echo inner >>order"'`,
		"under run, without wait":  `lease run a/b -- sh -c 'echo >holding; until test -e go; do sleep .02; done; lease run -n a/c -- sh -c "echo inner >>order"'`,
		"after acquire":            `lease acquire --pid $$ a/b; echo >holding; until test -e go; do sleep .02; done; lease run -q a/c -- sh -c "echo inner >>order"`,
		"after acquire, no wait":   `lease acquire --pid $$ a/b; echo >holding; until test -e go; do sleep .02; done; lease run -n a/c -- sh -c "echo inner >>order"`,
		"acquire after acquire":    `lease acquire --pid $$ a/b; echo >holding; until test -e go; do sleep .02; done; lease acquire --pid $$ a/c && echo inner >>order`,
		"with the environment cut": `lease run a/b -- sh -c 'echo >holding; until test -e go; do sleep .02; done; env -u LEASE_KEYS lease run -q a/c -- sh -c "echo inner >>order"'`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			outer := l.StartSh(script)
			l.until("the holder holds", func() bool { return l.lines("holding") > 0 })
			waiting := wait(l, 1, "waiting", "a")
			l.touch("go")
			outer.Wait().Want(t, 0)
			waiting.Wait().Want(t, 0)
			if l.order() != "inner waiting" {
				t.Errorf("they ran in the order %q", l.order())
			}
		})
	}
}

// Commands that ask in a circle for each other's keys: the one that closes it is refused with the reason, and the
// others go on.
func TestCircleIsRefused(t *testing.T) {
	for name, script := range map[string]string{
		// $1 is held, $2 asked for under it once all hold theirs.
		"run":     `lease run "$1" -- sh -c 'echo >>holding; until test -e go; do sleep .02; done; lease run "$2" -- true; echo "$2 $?" >>codes' sh "$1" "$2"`,
		"acquire": `lease acquire --pid $$ "$1"; echo >>holding; until test -e go; do sleep .02; done; lease acquire --pid $$ "$2"; echo "$2 $?" >>codes; exit 0`,
	} {
		for _, n := range []int{2, 3, contenders} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				t.Parallel()
				l := NewLedger(t)
				var all []*Process
				for i := range n {
					all = append(all, l.StartSh(script, fmt.Sprintf("k%d", i), fmt.Sprintf("k%d", (i+1)%n)))
				}
				l.until("all hold", func() bool { return l.lines("holding") == n })
				l.touch("go")
				refused := ""
				for _, p := range all {
					r := p.Wait().Want(t, 0)
					if strings.Contains(r.Stderr, "wait for each other for ever") {
						refused += "x"
					}
				}
				codes := strings.Split(l.File("codes"), "\n")
				got := map[string]int{}
				for _, line := range codes {
					_, code, _ := strings.Cut(line, " ")
					got[code]++
				}
				if len(codes) != n || got["75"] != 1 || got["0"] != n-1 || refused != "x" {
					t.Errorf("exit codes of the inner ones: %q, refused with the reason: %d", codes, len(refused))
				}
			})
		}
	}
}
