package main_test

import (
	"slices"
	"strconv"
	"testing"
)

// killedWrapper leaves the command of a killed run of the key behind, and returns its pid.
func killedWrapper(l *Ledger, key string) int {
	l.t.Helper()
	run := l.Start("run", "--ttl", "300s", key, "--", "sh", "-c", `echo $$ >command; exec sleep 300`)
	command := l.UntilPid("command")
	untilNoted(l)
	run.Kill()
	return command
}

// killedTree leaves only what the command of a killed run started, and returns its pid. That one has nothing but the fence.
func killedTree(l *Ledger, key string) int {
	l.t.Helper()
	run := l.Start("run", "--ttl", "300s", key, "--", "sh", "-c", `sleep 300 & echo $! >child; echo $$ >command; wait`)
	command, child := l.UntilPid("command"), l.UntilPid("child")
	run.Kill()
	l.End(command)
	return child
}

// acquire waits for the command of a killed wrapper as run does; one that gives up or is killed holds nothing.
func TestAcquireWaitsForTheFence(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	command := killedWrapper(l, "k")
	pid := strconv.Itoa(command)
	holdsNothing := func() {
		t.Helper()
		l.Run("check", "k").Want(t, 1)
		l.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, 75).Says(t, pid)
	}
	holdsNothing()
	l.Run("acquire", "--wait", "300ms", "--ttl", "300s", "k").Want(t, 75).Says(t, pid)
	holdsNothing()
	if l.Lease("k") != nil {
		t.Fatal("an acquire that gave up did not give the lease back")
	}
	for _, holder := range [][]string{{"--ttl", "300s"}, {"--pid", strconv.Itoa(l.StartSh("exec sleep 300").Pid)}} {
		killed := l.Start(append([]string{"acquire", "k"}, holder...)...)
		killed.UntilStderr(pid)
		killed.Kill()
		holdsNothing()
	}

	waiting := l.Start("acquire", "--ttl", "300s", "k")
	waiting.UntilStderr(pid)
	if waiting.Stdout() != "" {
		t.Fatal("acquire answered before the fence was free")
	}
	l.End(command)
	r := waiting.Wait().Want(t, 0)
	lease := l.Lease("k")
	if holder := lease.Sub("holder"); holder.Str("evidence") != "none" || r.Stdout != strconv.FormatInt(lease.Int("generation"), 10)+"\n" {
		t.Fatalf("record %v\n%v", lease, r)
	}
	l.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, 75)
}

// A fenced inside the run of its key joins: it never waits for what it is part of.
func TestFencedInsideRunJoins(t *testing.T) {
	needs(t, "python3")
	for name, inside := range map[string]string{
		"inherits the fence": `lease fenced k --token $LEASE_TOKEN -- echo joined`,
		"through subprocess": `exec python3 -c '
import os, subprocess, sys
sys.exit(subprocess.run(["lease", "fenced", "k", "--token", os.environ["LEASE_TOKEN"], "--", "echo", "joined"], close_fds=True).returncode)'`,
		"twice": `lease fenced k --token $LEASE_TOKEN -- lease fenced k --token $LEASE_TOKEN -- echo joined`,
	} {
		t.Run(name, func(t *testing.T) {
			l := NewLedger(t)
			r := l.Run("run", "--ttl", "300s", "k", "--", "sh", "-c", inside).Want(t, 0)
			if r.Stdout != "joined\n" {
				t.Fatalf("%v", r)
			}
		})
	}
	t.Run("an old token does not join", func(t *testing.T) {
		l := NewLedger(t)
		wantGrant(t, l.Run("acquire", "--ttl", "300s", "k"), "1")
		l.Run("release", "k", "--token", "1").Want(t, 0)
		l.Run("run", "k", "--", "lease", "fenced", "k", "--token", "1", "--", "echo", "joined").Want(t, 76)
	})
	t.Run("run inside run is refused", func(t *testing.T) {
		l := NewLedger(t)
		r := l.Run("run", "k", "--", "lease", "run", "k", "--", "echo", "joined").Want(t, 75)
		if r.Stdout != "" {
			t.Fatalf("%v", r)
		}
	})
}

// fenced holds the fence for its work: a successor in the lease waits for it. The work is told of no loss, but the exit
// code says that the token was not current to its end.
func TestFencedKeepsASuccessorOut(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	wantGrant(t, l.Run("acquire", "--ttl", "300s", "k"), "1")
	work := l.Start("fenced", "k", "--token", "1", "--", "sh", "-c", `echo $$ >command; while ! test -e done; do sleep .05; done`)
	command := l.UntilPid("command")
	l.Run("release", "k", "--token", "1").Want(t, 0)
	next := startRun(l, "k", command)
	next.UntilStderr(strconv.Itoa(command))
	notYet(t, l)
	l.Sh("echo >done").Want(t, 0)
	work.Wait().Want(t, 76)
	ranAlone(t, l, next)
}

// What the fence of a key keeps out reaches up and down the tree; what is beside it is free.
func TestFenceReachesAncestorsAndDescendants(t *testing.T) {
	t.Parallel()
	for _, keys := range [][2]string{{"repo", "repo/api"}, {"repo/api", "repo"}, {"repo", "repo/api/v2"}} {
		t.Run(keys[0]+" before "+keys[1], func(t *testing.T) {
			l := NewLedger(t)
			child := killedTree(l, keys[0])
			l.Run("run", "-n", keys[1], "--", "sh", "-c", "echo ran >ran").Want(t, 75).Says(t, strconv.Itoa(child))
			l.Run("run", "-n", "repo2", "--", "true").Want(t, 0)
			next := startRun(l, keys[1], child)
			next.UntilStderr(strconv.Itoa(child))
			notYet(t, l)
			l.End(child)
			ranAlone(t, l, next)
		})
	}
	t.Run("beside", func(t *testing.T) {
		l := NewLedger(t)
		killedTree(l, "repo/api")
		l.Run("run", "-n", "repo/api2", "--", "true").Want(t, 0)
		l.Run("run", "-n", "repo/web", "--", "true").Want(t, 0)
	})
}

// A dead lease above or below does not stand in the way of eight contenders on each of both keys.
func TestDeadLeaseOnOverlappingKeyIsNoObstacle(t *testing.T) {
	for _, dead := range []string{"repo", "repo/api"} {
		t.Run("dead "+dead, func(t *testing.T) {
			l := NewLedger(t)
			l.End(killedWrapper(l, dead))
			run := func(key string) []string { return []string{"run", key, "--", "sh", "-c", alone} }
			all := slices.Concat(slices.Repeat([][]string{run("repo")}, contenders), slices.Repeat([][]string{run("repo/api")}, contenders))
			for _, p := range l.Together(all...) {
				p.Wait().Want(t, 0)
			}
			if l.File("overlap") != "" || l.lines("count") != 2*contenders {
				t.Fatalf("%d commands ran, %d of them beside another", l.lines("count"), l.lines("overlap"))
			}
			tomb := l.Record("tombstones/" + dead + ".json")
			if tomb.Int("generation") != 1+contenders {
				t.Fatalf("the key that was left by a dead holder is at %v", tomb)
			}
		})
		t.Run("dead "+dead+", nobody waits", func(t *testing.T) {
			l := NewLedger(t)
			other := map[string]string{"repo": "repo/api", "repo/api": "repo"}[dead]
			l.End(killedWrapper(l, dead))
			l.Run("run", "-n", other, "--", "true").Want(t, 0)
			if tomb := l.Record("tombstones/" + dead + ".json"); l.Lease(dead) != nil || tomb.Str("reason") != "dead" {
				t.Fatalf("the dead lease was not buried: lease %v, tombstone %v", l.Lease(dead), tomb)
			}
		})
	}
}
