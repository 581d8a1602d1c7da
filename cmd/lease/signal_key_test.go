package main_test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A key of the terminal reaches the command exactly once: from the terminal while both are in its foreground group, and
// else from the wrapper. So does it under a shell with job control.
func TestKeyReachesCommandOnce(t *testing.T) {
	needs(t, "python3", "bash")
	for key, name := range map[string]string{"\x03": "INT", "\x1c": "QUIT"} {
		for _, own := range []string{"", "own"} {
			t.Run(fmt.Sprintf("%s,own=%v", name, own != ""), func(t *testing.T) {
				t.Parallel()
				l := NewLedger(t)
				term := l.Terminal(80, slices.Concat([]string{leaseBinary, "run", "k", "--", "python3", "-c", countSignals, "USR2"}, strings.Fields(own))...)
				l.UntilPid("counter")
				pressThrice(l, term, key)
				if err := syscall.Kill(term.Pid, syscall.SIGUSR2); err != nil {
					t.Fatal(err)
				}
				term.Want(7)
				if want := fmt.Sprintf("%s %[1]s %[1]s USR2", name); l.got() != want {
					t.Errorf("the command got %s, want %s", l.got(), want)
				}
				l.released("k")
			})
		}
		t.Run(name+",job of a shell", func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			shell := l.Env("PROGRAM=" + countSignals).shell()
			shell.Type(`lease run k -- python3 -c "$PROGRAM" USR2; echo "exit=$?"` + "\r")
			wrapper := l.parent(l.UntilPid("counter"))
			pressThrice(l, shell, key)
			if err := syscall.Kill(wrapper, syscall.SIGUSR2); err != nil {
				t.Fatal(err)
			}
			shell.Until("exit=7")
			if want := fmt.Sprintf("%s %[1]s %[1]s USR2", name); l.got() != want {
				t.Errorf("the command got %s, want %s", l.got(), want)
			}
			l.released("k")
		})
	}
}

// pressThrice presses a key three times, each when the one before it has been noticed.
func pressThrice(l *Ledger, term *Terminal, key string) {
	l.t.Helper()
	for i := range 3 {
		term.Type(key)
		l.until("the key is noticed", func() bool { return l.lines("got") > i })
	}
}

// A program that catches the first ^C and ends at the second needs two.
func TestSecondKeyEnds(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	l := NewLedger(t)
	term := l.Terminal(80, leaseBinary, "run", "k", "--", "python3", "-c", `
import signal, sys
def first(*_):
    signal.signal(signal.SIGINT, lambda *_: sys.exit(9))
    print("first", flush=True)
signal.signal(signal.SIGINT, first)
print("ready", flush=True)
while True:
    signal.pause()`)
	term.Until("ready")
	term.Type("\x03")
	term.Until("first")
	l.Run("check", "k").Want(t, 0)
	term.Type("\x03")
	term.Want(9)
	l.released("k")
}

// A terminal that hangs up ends what ran in it, and the lease is given back.
func TestHangup(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	term := l.Terminal(80, leaseBinary, "run", "k", "--", "sh", "-c", "echo $$ >command; exec sleep 300")
	command := l.UntilPid("command")
	term.tty.Close()
	term.Want(129)
	if alive(command) {
		t.Error("the command lives")
	}
	l.released("k")
}
