package main_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// countSignals is a program that writes a line to the file got for each signal it gets, and exits with 7 after the one
// named last. With a second argument it first leaves the process group that it was started in. It takes the signals
// one by one as they come: a handler would run once for two of a kind.
const countSignals = `
import os, signal, sys
signals = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
if sys.argv[2:]:
    os.setpgid(0, 0)
with open("counter", "w") as f:
    f.write("%d\n" % os.getpid())
while True:
    name = signal.Signals(signal.sigwaitinfo(signals).si_signo).name[3:]
    with open("got", "a") as f:
        f.write(name + "\n")
    if name == sys.argv[1]:
        sys.exit(7)
`

var endSignals = []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// got is what countSignals got so far.
func (l *Ledger) got() string { return strings.Join(strings.Fields(l.File("got")), " ") }

// released wants the lease of a key to have been given back.
func (l *Ledger) released(key string) {
	l.t.Helper()
	if tomb := l.Record("tombstones/" + key + ".json"); l.Lease(key) != nil || tomb.Str("reason") != "released" {
		l.t.Errorf("the lease was not given back: %v, %v", l.Lease(key), tomb)
	}
}

// Each signal that is sent to the wrapper reaches the command exactly once, with a terminal and without, also if it made
// a process group of its own. The wrapper ends after the command, with its exit code, and gives the lease back. It
// prints no stack of Go's.
func TestSignalToWrapperReachesCommandOnce(t *testing.T) {
	needs(t, "python3")
	for _, terminal := range []bool{false, true} {
		for _, own := range []string{"", "own"} {
			t.Run(fmt.Sprintf("terminal=%v,own=%v", terminal, own != ""), func(t *testing.T) {
				t.Parallel()
				l := NewLedger(t)
				args := slices.Concat([]string{"run", "k", "--", "python3", "-c", countSignals, "USR2"}, strings.Fields(own))
				var pid int
				var wait func() string
				if terminal {
					term := l.Terminal(80, append([]string{leaseBinary}, args...)...)
					pid, wait = term.Pid, func() string { term.Want(7); return term.Shown() }
				} else {
					p := l.Start(args...)
					pid, wait = p.Pid, func() string { r := p.Wait().Want(t, 7); return r.Stdout + r.Stderr }
				}
				l.UntilPid("counter")
				var want []string
				for _, sig := range endSignals {
					if err := syscall.Kill(pid, sig); err != nil {
						t.Fatal(err)
					}
					want = append(want, sigName(sig))
					l.until(sigName(sig)+" came", func() bool { return l.lines("got") >= len(want) })
				}
				said := wait()
				if got := l.got(); got != strings.Join(want, " ") || said != "" {
					t.Errorf("the command got %s, want %s; printed: %q", got, want, said)
				}
				l.released("k")
			})
		}
	}
}

// A command that a signal ends is seen to its end: 128 and the signal's number, and the lease is given back.
func TestSignalEndsCommand(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	for _, sig := range slices.Concat(endSignals, []syscall.Signal{syscall.SIGKILL}) {
		p := l.Start("run", "k", "--", "sh", "-c", "ulimit -c 0; echo $$ >command; exec sleep 300")
		command := l.UntilPid("command")
		if sig == syscall.SIGKILL {
			syscall.Kill(command, sig)
		} else {
			p.Signal(sig)
		}
		r := p.Wait().Want(t, 128+int(sig))
		if alive(command) || r.Stderr != "" {
			t.Errorf("%v: the command lives: %v\n%v", sig, alive(command), r)
		}
		l.released("k")
		l.Sh("rm command").Want(t, 0)
	}
}

// A wrapper whose command does not end when it is told waits for it: nobody else may start before its end.
func TestWrapperWaitsForStubbornCommand(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	p := l.Start("run", "k", "--", "sh", "-c", `trap "echo told >>told" TERM; echo $$ >command; until test -e go; do sleep .02; done; exit 5`)
	l.UntilPid("command")
	for i := range 3 {
		p.Signal(syscall.SIGTERM)
		l.until("it is told", func() bool { return l.lines("told") == i+1 })
	}
	l.Run("run", "-n", "k", "--", "true").Want(t, 75)
	l.touch("go")
	p.Wait().Want(t, 5)
	l.released("k")
}

// Signals that were ignored when the wrapper was started are ignored by the command too, as under nohup.
func TestIgnoredSignalsStayIgnored(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	const show = ` grep SigIgn /proc/self/status`
	for _, before := range []string{`nohup `, `trap "" HUP; `, `trap "" INT; `, ``} {
		want := l.Sh(before + "env" + show)
		got := l.Sh(before + "lease run k --" + show)
		if got.Stdout != want.Stdout {
			t.Errorf("%q: %q, with env %q", before, got.Stdout, want.Stdout)
		}
	}
	l.StartSh(`trap "" HUP; exec lease run k -- sh -c 'echo $$ >command; until test -e go; do sleep .02; done'`)
	wrapper := l.parent(l.UntilPid("command"))
	syscall.Kill(wrapper, syscall.SIGHUP)
	l.Run("check", "k").Want(t, 0)
	l.touch("go")
	l.until("it has ended well", func() bool { return l.Lease("k") == nil })
	l.released("k")
}

// parent returns the parent of a process.
func (l *Ledger) parent(pid int) int {
	l.t.Helper()
	r := l.Sh(`sed 's/.*) . //; s/ .*//' /proc/$1/stat`, strconv.Itoa(pid)).Want(l.t, 0)
	parent, err := strconv.Atoi(strings.TrimSpace(r.Stdout))
	if err != nil {
		l.t.Fatal(err)
	}
	return parent
}

// The wrapper returns when the command does, even if what the command left behind keeps its stdout open, and the next
// one may start.
func TestWrapperDoesNotWaitForStdout(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	pipe := l.StartSh(`{ lease run k -- sh -c 'sleep 300 & echo $! >child; echo hi'; echo $? >code; } | cat`)
	if code := l.UntilFile("code"); code != "0" {
		t.Fatalf("exit %s", code)
	}
	child := l.UntilPid("child")
	l.Run("run", "-n", "k", "--", "true").Want(t, 0)
	if !alive(child) || !pipe.Running() {
		t.Error("nothing was left behind: the test shows nothing")
	}
	l.End(child)
	if r := pipe.Wait().Want(t, 0); r.Stdout != "hi\n" {
		t.Errorf("%v", r)
	}
}
