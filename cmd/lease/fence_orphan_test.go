package main_test

import (
	"strconv"
	"testing"
)

// startUnfenced starts a run whose command gives up the fence that it inherited, and returns its wrapper and pid.
func startUnfenced(l *Ledger, ttl string, keys ...string) (*Process, int) {
	l.t.Helper()
	needs(l.t, "python3")
	args := append([]string{"run", "--ttl", ttl}, keys...)
	run := l.Start(append(args, "--", "python3", "-c", `
import os, time
os.closerange(3, 1 << 16)
open("command", "w").write(str(os.getpid()))
time.sleep(300)`)...)
	pid := l.UntilPid("command")
	untilNoted(l)
	return run, pid
}

// A command that gave up its fence is waited for however its lease was taken from the wrapper, and only on what
// overlaps its keys.
func TestOrphanIsWaitedFor(t *testing.T) {
	waitedFor := func(t *testing.T, l *Ledger, key string, command int) {
		t.Helper()
		l.Run("run", "-n", key, "--", "sh", "-c", "echo ran >ran").Want(t, 75).Says(t, strconv.Itoa(command))
		next := startRun(l, key, command)
		next.UntilStderr(strconv.Itoa(command))
		notYet(t, l)
		l.End(command)
		ranAlone(t, l, next)
	}
	t.Run("killed after it was taken over", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		wrapper, command := startUnfenced(l, "2s", "k")
		stopAfterRenewal(l, wrapper, "k")
		next := l.Start("run", "k", "--", "true")
		l.until("the successor has the lease", func() bool { return l.Lease("k").Int("generation") == 2 })
		wrapper.Kill()
		next.UntilStderr(strconv.Itoa(command))
		next.Kill()
		waitedFor(t, l, "k", command)
	})
	t.Run("killed after it was broken", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		wrapper, command := startUnfenced(l, "300s", "k")
		l.Run("break", "k", "--reason", "test").Want(t, 0)
		wrapper.Kill()
		waitedFor(t, l, "k", command)
	})
	t.Run("killed after somebody released its token", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		wrapper, command := startUnfenced(l, "300s", "k")
		l.Run("release", "k", "--token", "1").Want(t, 0)
		wrapper.Kill()
		waitedFor(t, l, "k", command)
	})
	t.Run("of several keys", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		wrapper, command := startUnfenced(l, "300s", "a", "repo")
		wrapper.Kill()
		l.Run("run", "-n", "b", "--", "true").Want(t, 0)
		l.Run("run", "-n", "a", "--", "true").Want(t, 75).Says(t, strconv.Itoa(command))
		waitedFor(t, l, "repo/api", command)
		l.Run("run", "-n", "a", "--", "true").Want(t, 0)
	})
	t.Run("buried from a place that cannot judge it", func(t *testing.T) {
		t.Parallel()
		needs(t, "root", "unshare")
		l := NewLedger(t)
		wrapper, command := startUnfenced(l, "300s", "k")
		wrapper.Kill()
		// From there only the fence counts, and that is free. Who comes after it, and can judge, still waits.
		places[0].in(l).Run("run", "-n", "k", "--", "true").Want(t, 0)
		waitedFor(t, l, "k", command)
	})
}
