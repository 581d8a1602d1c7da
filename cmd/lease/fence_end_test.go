package main_test

import (
	"slices"
	"strconv"
	"syscall"
	"testing"
)

// stubborn starts a child that ignores TERM and would go on for minutes, notes its pid in the file child and its own in command.
const stubborn = `(trap "" TERM; exec sleep 300) & echo $! >child; echo $$ >command; `

// A daemon left behind by a command that ended by itself keeps nothing, unless the whole tree was asked for.
func TestDaemonLeftBehind(t *testing.T) {
	t.Parallel()
	daemon := []string{"k", "--", "sh", "-c", `setsid sleep 300 & echo $! >child; exit 7`}
	t.Run("command", func(t *testing.T) {
		for _, option := range [][]string{nil, {"--fence", "command"}, {"--fence=command"}} {
			l := NewLedger(t)
			l.Run(append(append([]string{"run"}, option...), daemon...)...).Want(t, 7)
			child := l.UntilPid("child")
			l.Run("run", "-n", "k", "--", "true").Want(t, 0)
			wantGrant(t, l.Run("acquire", "-n", "--ttl", "300s", "k"), "3")
			if !alive(child) {
				t.Fatal("the daemon was ended")
			}
		}
	})
	t.Run("tree", func(t *testing.T) {
		l := NewLedger(t)
		l.Run(append([]string{"run", "--fence=tree"}, daemon...)...).Want(t, 7)
		child := l.UntilPid("child")
		if l.Lease("k") != nil {
			t.Fatal("the lease outlived its run")
		}
		l.Run("run", "-n", "k", "--", "sh", "-c", "echo ran >ran").Want(t, 75).Says(t, strconv.Itoa(child))
		notYet(t, l)
		next := startRun(l, "k", child)
		next.UntilStderr(strconv.Itoa(child))
		notYet(t, l)
		l.End(child)
		ranAlone(t, l, next)
	})
}

// The command does not end by itself, and what it started goes on: the next run waits for that too.
func TestWhatASignalledCommandStartedIsWaitedFor(t *testing.T) {
	waitedFor := func(t *testing.T, l *Ledger) {
		t.Helper()
		child := l.UntilPid("child")
		if !alive(child) {
			t.Fatal("the child was ended: nothing is ever killed for the fence")
		}
		l.Run("run", "-n", "k", "--", "sh", "-c", "echo ran >ran").Want(t, 75).Says(t, strconv.Itoa(child))
		next := startRun(l, "k", l.UntilPid("command"), child)
		next.UntilStderr(strconv.Itoa(child))
		notYet(t, l)
		l.End(child)
		ranAlone(t, l, next)
	}
	t.Run("TERM to the wrapper", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		run := l.Start("run", "--ttl", "300s", "k", "--", "sh", "-c", stubborn+"wait")
		l.UntilFile("command")
		run.Signal(syscall.SIGTERM)
		run.Wait().Want(t, 128+15)
		waitedFor(t, l)
	})
	t.Run("TERM to the wrapper, the command answers with a status", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		run := l.Start("run", "--ttl", "300s", "k", "--", "sh", "-c", `trap "exit 3" TERM; `+stubborn+"wait")
		l.UntilFile("command")
		run.Signal(syscall.SIGTERM)
		run.Wait().Want(t, 3)
		waitedFor(t, l)
	})
	t.Run("a signal to the command", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		run := l.Start("run", "--ttl", "300s", "k", "--", "sh", "-c", stubborn+"wait")
		l.End(l.UntilPid("command"))
		run.Wait().Want(t, 128+9)
		waitedFor(t, l)
	})
	t.Run("the lease is lost", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		run := l.Start("run", "--ttl", "2s", "k", "--", "sh", "-c", `trap "exit 0" TERM; `+stubborn+"wait")
		l.UntilFile("command")
		l.Run("break", "k", "--reason", "test").Want(t, 0)
		run.Wait().Want(t, 76)
		waitedFor(t, l)
	})
	t.Run("the lease is lost and the command is not told", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		run := l.Start("run", "--ttl", "2s", "--on-lost", "ignore", "k", "--", "sh", "-c",
			`trap "echo told >told" TERM; `+stubborn+"while ! test -e done; do sleep .05; done")
		l.UntilFile("command")
		l.Run("break", "k", "--reason", "test").Want(t, 0)
		run.UntilStderr("broken")
		l.Sh("echo >done").Want(t, 0)
		run.Wait().Want(t, 76)
		if l.File("told") != "" {
			t.Fatal("the command was signalled")
		}
		waitedFor(t, l)
	})
	t.Run("the lease is taken over", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		run := l.Start("run", "--ttl", "2s", "k", "--", "sh", "-c", stubborn+"wait")
		command, child := l.UntilPid("command"), l.UntilPid("child")
		stopAfterRenewal(l, run, "k")
		next := startRun(l, "k", command, child)
		l.until("the successor has the lease", func() bool { return l.Lease("k").Int("generation") == 2 })
		run.Signal(syscall.SIGCONT)
		run.Wait().Want(t, 76).Says(t, "taken over by generation 2")
		if alive(command) || !alive(child) {
			t.Fatalf("command alive %v, child alive %v", alive(command), alive(child))
		}
		next.UntilStderr(strconv.Itoa(child))
		notYet(t, l)
		l.End(child)
		ranAlone(t, l, next)
	})
}

// A run within a run, and whatever else hands on by its exit code that a signal ended what it ran, keeps the fences around
// it too, as does a run within a run that has lost its lease.
func TestEndOfARunWithinARun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		around []string // ["run", "outer"], if nothing else
		argv   []string
		end    func(t *testing.T, l *Ledger)
		code   int
		keys   []string // that are still fenced
	}{
		"run": {
			argv: []string{"lease", "run", "inner", "--", "sh", "-c", stubborn + "wait"},
			code: 128 + 9, keys: []string{"outer", "inner"},
		},
		"run, by its token": {
			argv: []string{"sh", "-c", `exec lease fenced outer --token "$LEASE_TOKEN" -- sh -c '` + stubborn + `wait'`},
			code: 128 + 9, keys: []string{"outer"},
		},
		"reentrant": {
			argv: []string{"lease", "run", "--reentrant", "outer", "--", "sh", "-c", stubborn + "wait"},
			code: 128 + 9, keys: []string{"outer"},
		},
		"shell": {
			argv: []string{"sh", "-c", `sh -c '` + stubborn + `wait'; exit $?`},
			code: 128 + 9, keys: []string{"outer"},
		},
		"shell in fenced": {
			around: []string{"fenced", "outer", "--token", "1"},
			argv:   []string{"sh", "-c", `sh -c '` + stubborn + `wait'; exit $?`},
			code:   128 + 9, keys: []string{"outer"},
		},
		"three deep": {
			argv: []string{"lease", "run", "middle", "--", "lease", "run", "inner", "--", "sh", "-c", stubborn + "wait"},
			code: 128 + 9, keys: []string{"outer", "middle", "inner"},
		},
		"lost": {
			argv: []string{"lease", "run", "--ttl", "2s", "inner", "--", "sh", "-c", stubborn + "wait"},
			end:  func(t *testing.T, l *Ledger) { l.Run("break", "inner", "--reason", "test").Want(t, 0) },
			code: 76, keys: []string{"outer", "inner"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			around := []string{"run", "outer"}
			if c.around != nil {
				around = c.around
				wantGrant(t, l.Run("acquire", "--ttl", "300s", "outer"), "1")
			}
			run := l.Start(slices.Concat(around, []string{"--"}, c.argv)...)
			child := l.UntilPid("child")
			if command := l.UntilPid("command"); c.end == nil {
				l.End(command)
			} else {
				c.end(t, l)
			}
			run.Wait().Want(t, c.code)
			if !alive(child) {
				t.Fatal("the child was ended")
			}
			if c.around != nil {
				l.Run("release", "outer", "--token", "1").Want(t, 0)
			}
			for _, key := range c.keys {
				l.Run("run", "-n", key, "--", "sh", "-c", "echo ran >ran").Want(t, 75).Says(t, strconv.Itoa(child))
			}
			notYet(t, l)
			l.End(child)
			for _, key := range c.keys {
				l.Run("run", "-n", key, "--", "true").Want(t, 0)
			}
		})
	}
	// What only looks like it: an exit code above those of signals, and one that is no signal's.
	for _, code := range []int{1, 75, 128, 193, 255} {
		l := NewLedger(t)
		l.Run("run", "k", "--", "sh", "-c", `setsid sleep 300 & echo $! >child; exit `+strconv.Itoa(code)).Want(t, code)
		l.UntilPid("child")
		l.Run("run", "-n", "k", "--", "true").Want(t, 0)
	}
}
