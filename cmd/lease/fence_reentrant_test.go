package main_test

import (
	"strconv"
	"strings"
	"testing"
)

// A lease that is joined, and others that are taken beside it: the work runs under the fences of all.
func TestReentrantBesideOthers(t *testing.T) {
	hold := func(l *Ledger) *Ledger {
		l.Run("acquire", "--ttl", "300s", "a").Want(l.t, 0)
		return l.Env("LEASE_KEYS=a=1")
	}
	t.Run("some with other keys", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		l.Sh(`lease acquire --pid $$ a; for i in $(seq $1); do lease run --reentrant a o$i -- sh -c "$2" & done; wait`, strconv.Itoa(contenders), alone).Want(t, 0)
		if l.lines("count") != contenders || l.File("overlap") != "" {
			t.Errorf("%d ran; %s", l.lines("count"), l.File("overlap"))
		}
	})
	for name, exec := range map[string][]string{"wrapper": nil, "exec": {"--exec"}} {
		for lost, lose := range map[string]func(l *Ledger, run *Process){
			"released": func(*Ledger, *Process) {},
			"killed": func(l *Ledger, run *Process) {
				if exec == nil {
					run.Kill()
				}
			},
		} {
			t.Run("successor, "+name+", "+lost, func(t *testing.T) {
				t.Parallel()
				needs(t, "python3")
				l := NewLedger(t)
				run := hold(l).Start(append(append([]string{"run", "--reentrant"}, exec...), "b", "a", "--", "python3", "-c", closedFence)...)
				command := l.UntilPid("command")
				l.until("it is noted", func() bool { return orphans(l) > 0 })
				lose(l, run)
				l.Run("release", "a", "--token", "1").Want(t, 0)
				next := startRun(l, "a", command)
				next.UntilStderr(strconv.Itoa(command))
				notYet(t, l)
				l.Sh("echo >done").Want(t, 0)
				ranAlone(t, l, next)
			})
		}
	}
	t.Run("crosswise", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		l.Sh(`lease acquire --pid $$ a b; for i in $(seq $1); do
			lease run -q --reentrant a b -- sh -c "$2" & lease run -q --reentrant b a -- sh -c "$2" &
		done; wait`, strconv.Itoa(contenders), alone).Want(t, 0)
		if l.lines("count") != 2*contenders || l.File("overlap") != "" {
			t.Errorf("%d ran; %s", l.lines("count"), l.File("overlap"))
		}
	})
	t.Run("environment", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		r := hold(l).Run("run", "--reentrant", "a", "b", "--", "sh", "-c", `echo "$LEASE_KEY $LEASE_TOKEN $LEASE_KEYS"`).Want(t, 0)
		if strings.TrimSpace(r.Stdout) != "a 1 a=1 b=1" {
			t.Errorf("%v", r)
		}
	})
	for _, keys := range [][]string{{"a"}, {"a", "b"}, {"b", "a"}} {
		t.Run("lost meanwhile, "+strings.Join(keys, " "), func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			in := hold(l)
			run := append([]string{"run", "--reentrant"}, keys...)
			in.Run(append(run, "--", "sh", "-c", "lease break a --reason test; exit 3")...).Want(t, 76)
			if l.Lease("b") != nil {
				t.Error("b is held still")
			}
		})
	}
	for _, keys := range [][]string{{"a"}, {"a", "b"}} {
		t.Run("limits, "+strings.Join(keys, " "), func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			for _, limit := range []string{"-n", "--wait 200ms", "--fence-wait 200ms"} {
				r := l.Sh(`lease acquire --pid $$ a >/dev/null; (exec lease fenced a --token "$(lease show --json a | jq .generation)" -- sh -c 'echo $$ >command; exec sleep 300') &
					until test -s command; do sleep .02; done
					lease run --reentrant -E 33 $1 $2 -- touch ran; code=$?; kill $(cat command); wait; rm command; exit $code`, limit, strings.Join(keys, " "))
				r.Want(t, 33).Says(t, "the fence of a")
			}
			if l.File("ran") != "" || l.Lease("b") != nil {
				t.Error("it ran, or b is held still")
			}
		})
	}
	t.Run("exec takes the wrapper's place", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		p := hold(l).Start("run", "--exec", "--reentrant", "a", "--", "sh", "-c", "echo $$ >command")
		p.Wait().Want(t, 0)
		if got := l.UntilPid("command"); got != p.Pid {
			t.Errorf("the command is %d, lease was %d", got, p.Pid)
		}
	})
}

// Who is named in LEASE_KEYS joins, also at the very moment at which another one takes the fence that nobody kept.
func TestNamedJoinAtOnce(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Run("acquire", "--ttl", "300s", "k").Want(t, 0)
	in := l.Env("LEASE_KEYS=k=1")
	for range 20 {
		var all [][]string
		for range contenders {
			all = append(all, []string{"run", "-n", "--reentrant", "k", "--", "sleep", ".05"})
		}
		for _, p := range in.Together(all...) {
			p.Wait().Want(t, 0)
		}
	}
}

// A command that could not take lease's place leaves no note of it.
func TestFailedExecLeavesNoNote(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	for _, args := range [][]string{{"run", "--exec", "k"}, {"run", "--exec", "--reentrant", "a"}, {"run", "--exec", "--reentrant", "k", "a"}} {
		r := l.Sh(`lease acquire --pid $$ a; "$@"; exit $?`, append(append([]string{"lease"}, args...), "--", "./missing")...)
		r.Want(t, 127)
		if n := orphans(l); n != 0 {
			t.Errorf("%v: %d notes are left", args, n)
		}
	}
}

// The ledger may be named by another path inside: the fence that was inherited is the same file.
func TestInheritedFenceByAnotherPath(t *testing.T) {
	t.Parallel()
	needs(t, "root", "unshare")
	l := NewLedger(t)
	r := l.In("unshare", "--mount").Sh(`mkdir other && lease init >/dev/null && mount --bind "$LEASE_LEDGER" other &&
		lease run k -- sh -c 'unset LEASE_KEYS; exec lease --ledger other fenced k --token "$LEASE_TOKEN" -- echo joined'`).Want(t, 0)
	if strings.TrimSpace(r.Stdout) != "joined" {
		t.Errorf("%v", r)
	}
}
