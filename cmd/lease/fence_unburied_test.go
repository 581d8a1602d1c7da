package main_test

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// closedFence is a command that has closed the fence it inherited, and works on.
const closedFence = `
import os, time
os.closerange(3, 1 << 16)
open("command", "w").write(str(os.getpid()))
while not os.path.exists("done"): time.sleep(.02)`

// A command that closed its fence is waited for although its wrapper was killed and nobody has buried that holder yet, by all
// who work under its token, who hand the key on, and who only look.
func TestCommandOfAnUnburiedHolder(t *testing.T) {
	needs(t, "python3")
	killed := func(argv ...string) func(l *Ledger) string {
		return func(l *Ledger) string {
			run := l.Start(append(argv, "--", "python3", "-c", closedFence)...)
			l.UntilPid("command")
			untilNoted(l)
			run.Kill()
			return "1"
		}
	}
	exec := func(l *Ledger) string {
		l.Start("run", "--exec", "k", "--", "python3", "-c", closedFence)
		return "1"
	}
	inScope := func(l *Ledger) string {
		l.Run("ticket", "add", "7", "--scope", "k").Want(l.t, 0)
		l.Run("ticket", "approve", "7").Want(l.t, 0)
		l.Run("ticket", "start", "7").Want(l.t, 0)
		l.Env("LEASE_TICKET=7", "LEASE_TOKEN=1").Start("run", "--exec", "k", "--", "python3", "-c", closedFence)
		return "1"
	}
	joinedExec := func(l *Ledger) string {
		l.Run("acquire", "--ttl", "300s", "k").Want(l.t, 0)
		l.Env("LEASE_KEYS=k=1").Start("run", "--exec", "--reentrant", "k", "--", "python3", "-c", closedFence)
		return "1"
	}
	const work = noneOf + "echo ran >ran"
	for name, c := range map[string]struct {
		stage func(l *Ledger) (token string)
		next  []string // TOKEN and PID stand for those
		env   []string
	}{
		"killed, fenced":   {killed("run", "k"), []string{"fenced", "k", "--token", "TOKEN", "--", "sh", "-c", work, "sh", "PID"}, nil},
		"killed, transfer": {killed("run", "k"), []string{"transfer", "k", "--token", "TOKEN", "--to-pid", "1"}, nil},
		"killed, wait":     {killed("run", "k"), []string{"wait", "k"}, nil},
		"exec, fenced":     {exec, []string{"fenced", "k", "--token", "TOKEN", "--", "sh", "-c", work, "sh", "PID"}, nil},
		"exec, transfer":   {exec, []string{"transfer", "k", "--token", "TOKEN", "--to-pid", "1"}, nil},
		"exec in a scope":  {inScope, []string{"run", "k", "--", "sh", "-c", work, "sh", "PID"}, []string{"LEASE_TICKET=7", "LEASE_TOKEN=1"}},
		"exec, joined":     {joinedExec, []string{"fenced", "k", "--token", "TOKEN", "--", "sh", "-c", work, "sh", "PID"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			token := c.stage(l)
			command := l.UntilPid("command")
			var args []string
			for _, a := range c.next {
				switch a {
				case "TOKEN":
					a = token
				case "PID":
					a = strconv.Itoa(command)
				}
				args = append(args, a)
			}
			next := l.Env(c.env...).Start(args...)
			next.UntilStderr(fmt.Sprintf("pid %d", command))
			if !alive(command) || l.File("ran") != "" {
				t.Fatalf("it did not wait; ran: %q", l.File("ran"))
			}
			l.Sh("echo >done").Want(t, 0)
			next.Wait().Want(t, 0)
			if l.File("overlap") != "" {
				t.Errorf("it ran beside %s", l.File("overlap"))
			}
		})
	}
}

// A command that closed its fence and waits for what it has left behind: that is named in LEASE_KEYS, and waits for nobody.
func TestNamedNeverWaits(t *testing.T) {
	needs(t, "python3")
	const waits = `
import os, subprocess, time
os.closerange(3, 1 << 16)
open("command", "w").write(str(os.getpid()))
while not os.path.exists("go"): time.sleep(.02)
subprocess.run(["setsid", "-f", *os.environ["INNER"].split(), "sh", "-c", "echo ran >ran"], stderr=open("said", "w"))
while not os.path.exists("ran"): time.sleep(.02)`
	for name, kill := range map[string]bool{"exec": false, "killed": true} {
		for _, inner := range []string{"lease fenced k --token 1 --", "lease run --reentrant k --", "lease run --reentrant k o --"} {
			t.Run(name+", "+inner, func(t *testing.T) {
				t.Parallel()
				l := NewLedger(t)
				args := []string{"run", "--exec", "k", "--", "python3", "-c", waits}
				if kill {
					args = append(args[:1], args[2:]...)
				}
				run := l.Env("INNER=" + inner).Start(args...)
				command := l.UntilPid("command")
				if kill {
					untilNoted(l)
					run.Kill()
				}
				l.Sh("echo >go").Want(t, 0)
				l.UntilFile("ran")
				l.until("the command has ended", func() bool { return !alive(command) })
			})
		}
	}
}

// What looks says the same as what a try meets.
func TestShowOfAnUnburiedHolder(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	l := NewLedger(t)
	run := l.Start("run", "k", "--", "python3", "-c", closedFence)
	command := l.UntilPid("command")
	untilNoted(l)
	run.Kill()
	l.Run("wait", "-n", "k").Want(t, 75).Says(t, strconv.Itoa(command))
	show := l.Run("show", "k").Want(t, 0)
	if out := show.Stdout; !strings.Contains(out, "dead") || !strings.Contains(out, strconv.Itoa(command)) || strings.Contains(out, "at once") {
		t.Errorf("show does not say who is in the way:\n%s", out)
	}
	l.Run("acquire", "-n", "--ttl", "1h", "k").Want(t, 75).Says(t, strconv.Itoa(command))
	if err := syscall.Kill(command, 0); err != nil {
		t.Fatal("the command was ended")
	}
	l.Sh("echo >done").Want(t, 0)
	l.until("it has ended", func() bool { return !alive(command) })
	l.Run("wait", "-n", "k").Want(t, 0)
}

// A fence that is in the way is that of the key it is of, not of the first one asked for.
func TestKeptFenceIsNamed(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Run("acquire", "--ttl", "1h", "b").Want(t, 0)
	l.Start("fenced", "b", "--token", "1", "--", "sh", "-c", "echo $$ >command; exec sleep 300")
	l.UntilPid("command")
	l.Run("break", "b", "--reason", "test").Want(t, 0)
	for _, args := range [][]string{{"run", "-n", "a", "b", "c", "--", "true"}, {"acquire", "-n", "--ttl", "1h", "a", "b"}} {
		l.Run(args...).Want(t, 75).Says(t, "the fence of b is still kept").Says(t, "lease show b")
	}
	if e := l.Run("acquire", "--json", "-n", "--ttl", "1h", "a", "b").Want(t, 75).Error(t); e.Str("key") != "b" {
		t.Errorf("%v", e)
	}
	l.Run("ticket", "add", "1", "--scope", "b").Want(t, 0)
	l.Run("ticket", "approve", "1").Want(t, 0)
	l.Run("ticket", "start", "-n", "1").Want(t, 75).Says(t, "the fence of b is still kept")
}
