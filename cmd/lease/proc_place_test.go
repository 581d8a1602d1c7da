package main_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A place is somewhere a process sees another world than the tests do.
type place struct {
	name string
	in   func(l *Ledger) *Ledger
	// blind: a pid of here proves nothing there, so that only the flock of a holder and the TTL decide.
	blind bool
}

const otherBootID = "01234567-89ab-4cde-8f01-23456789abcd\n"

var here = place{"the same place", func(l *Ledger) *Ledger { return l }, false}

// The first is another pid namespace, the last two are other users.
var places = []place{
	{"another pid namespace", func(l *Ledger) *Ledger {
		// The shell is the first process there, and stays if what it started is killed: that must not end the whole namespace.
		return l.In("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", `"$@"; code=$?; [ $code -lt 128 ] || sleep 300; exit $code`, "sh")
	}, true},
	{"another time namespace", func(l *Ledger) *Ledger {
		return l.In("unshare", "--time", "--fork", "--monotonic", "100000", "--boottime", "100000")
	}, true},
	{"a bind-mounted boot id", func(l *Ledger) *Ledger {
		file := filepath.Join(filepath.Dir(l.Dir), "boot_id")
		if err := os.WriteFile(file, []byte(otherBootID), 0o644); err != nil {
			l.t.Fatal(err)
		}
		return l.In("unshare", "--mount", "sh", "-c", `mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"`, file)
	}, true},
	{"a renamed host", func(l *Ledger) *Ledger {
		return l.In("unshare", "--uts", "sh", "-c", `echo elsewhere >/proc/sys/kernel/hostname && exec "$@"`, "sh")
	}, false},
	{"another user under hidepid", func(l *Ledger) *Ledger {
		return l.In("unshare", "--mount", "sh", "-c", `mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65533 --clear-groups "$@"`, "sh")
	}, false},
	{"a third user under hidepid", func(l *Ledger) *Ledger {
		return l.In("unshare", "--mount", "sh", "-c", `mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65532 --regid 65533 --clear-groups "$@"`, "sh")
	}, false},
}

// newSharedLedger is a ledger that root and the users of places can write.
func newSharedLedger(t *testing.T) *Ledger {
	t.Helper()
	needs(t, "root", "unshare", "setpriv")
	l := NewLedger(t)
	l.Open()
	if err := os.Mkdir(l.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(l.Dir, 0, 65533); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(l.Dir, 0o770|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	l.Run("init", "--shared").Want(t, 0)
	return l
}

// forEachPair runs a test with holders and observers here and there. blind: neither can judge a pid of the other's.
func forEachPair(t *testing.T, test func(t *testing.T, l, holders, observers *Ledger, blind bool)) {
	pair := func(h, o place, blind bool) {
		t.Run("holder in "+h.name+", observer in "+o.name, func(t *testing.T) {
			l := newSharedLedger(t)
			test(t, l, h.in(l), o.in(l), blind)
		})
	}
	pair(here, here, false)
	for _, p := range places {
		pair(p, here, p.blind)
		pair(here, p, p.blind)
	}
	user, third := places[len(places)-2], places[len(places)-1]
	pair(user, third, false)
	pair(user, user, false)
}

// sleeper waits until the holder, a lease or a script, has come to its one sleep, and returns that one's pid.
func sleeper(l *Ledger) int {
	l.t.Helper()
	sleep, err := filepath.EvalSymlinks("/bin/sleep")
	if err != nil {
		l.t.Fatal(err)
	}
	l.until("it sleeps", func() bool { return len(l.Pids(sleep)) == 1 })
	return l.Pids(sleep)[0]
}

// A run's wrapper that is alive is never taken over, wherever it and the observer are; one that is dead at once: the
// TTL is too long to be the reason. The fence of its command reaches as far.
func TestWrapperIsJudgedFromAnywhere(t *testing.T) {
	forEachPair(t, func(t *testing.T, l, holders, observers *Ledger, _ bool) {
		holders.Start("run", "--ttl", "300s", "k", "--", "sleep", "300")
		command := sleeper(l)
		wrappers := l.Pids(leaseBinary)
		if len(wrappers) != 1 {
			t.Fatalf("%d wrappers", len(wrappers))
		}
		observers.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, 75)
		observers.Run("run", "-n", "--ttl", "300s", "k", "--", "true").Want(t, 75)
		observers.Run("check", "k", "--token", "1").Want(t, 0)

		l.End(wrappers[0])
		observers.Run("run", "-n", "--ttl", "300s", "k", "--", "true").Want(t, 75)
		l.End(command)
		observers.Run("check", "k", "--token", "1").Want(t, 1)
		observers.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, 0)
	})
}

// The same for a lease whose evidence is a pid. What a pid says counts only in its own place: elsewhere the lease is
// kept until its TTL, if it has one, or until a person breaks it.
func TestPidIsJudgedOnlyInItsPlace(t *testing.T) {
	forEachPair(t, func(t *testing.T, l, holders, observers *Ledger, blind bool) {
		holders.StartSh(`g=$(lease acquire --pid $$ k) || exit; echo $g >got; exec sleep 300`)
		if g := l.UntilFile("got"); g != "1" {
			t.Fatalf("got generation %q", g)
		}
		script := sleeper(l)
		observers.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, 75)
		l.End(script)
		l.until("not even a zombie is left, which hidepid would hide", func() bool { return processState(script) == "" })
		want := 0
		if blind {
			want = 75
		}
		observers.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, want)
	})
}
