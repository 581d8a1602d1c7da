package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A waiter that is interrupted leaves the queue at once and ends with 128 and the signal's number. Its command never
// starts, and who came later moves up.
func TestInterruptedWaiter(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		for name, args := range map[string][]string{
			"run":     {"run", "k", "j", "--", "sh", "-c", "echo ran >ran"},
			"exec":    {"run", "--exec", "k", "j", "--", "sh", "-c", "echo ran >ran"},
			"acquire": {"acquire", "--ttl", "1h", "k", "j"},
		} {
			t.Run(fmt.Sprintf("%s/%s", name, sigName(sig)), func(t *testing.T) {
				t.Parallel()
				l := NewLedger(t)
				holder := hold(l, "k")
				waiter := l.Start(args...)
				l.until("it is queued", func() bool { return queued(l, "k") == 1 && queued(l, "j") == 1 })
				waiter.Signal(sig)
				r := waiter.Wait().Want(t, 128+int(sig))
				if n := queued(l, "k") + queued(l, "j"); n != 0 || r.Stdout != "" || r.Stderr != "" {
					t.Errorf("%d in the queue\n%v", n, r)
				}
				l.Run("run", "-n", "j", "--", "true").Want(t, 0)
				l.touch("go")
				holder.Wait().Want(t, 0)
				l.Run("run", "-n", "k", "--", "true").Want(t, 0)
				if l.File("ran") != "" {
					t.Error("its command ran")
				}
			})
		}
	}
	t.Run("wait", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		hold(l, "k")
		waiter := l.Start("wait", "k")
		waiter.UntilStderr("waiting")
		waiter.Signal(syscall.SIGTERM)
		waiter.Wait().Want(t, 143)
	})
	t.Run("for the fence", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		command := killedWrapper(l, "k")
		waiter := startRun(l, "k", command)
		waiter.UntilStderr("the fence of k")
		waiter.Signal(syscall.SIGTERM)
		waiter.Wait().Want(t, 143)
		l.Run("check", "k").Want(t, 1)
		notYet(t, l)
	})
}

func sigName(sig syscall.Signal) string {
	return map[syscall.Signal]string{
		syscall.SIGHUP: "HUP", syscall.SIGINT: "INT", syscall.SIGQUIT: "QUIT", syscall.SIGTERM: "TERM",
		syscall.SIGUSR1: "USR1", syscall.SIGUSR2: "USR2", syscall.SIGKILL: "KILL",
	}[sig]
}

// A waiter that gives up leaves nothing in the queue, and nobody waits for it.
func TestWaiterThatGivesUp(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	holder := hold(l, "k")
	l.Run("run", "--wait", "300ms", "j", "k", "--", "true").Want(t, 75).Says(t, "waited for 0.3s")
	if n := queued(l, "k") + queued(l, "j"); n != 0 {
		t.Errorf("%d in the queue", n)
	}
	l.Run("run", "-n", "j", "--", "true").Want(t, 0)
	l.touch("go")
	holder.Wait().Want(t, 0)
}

// Who would wait for itself is refused at once, with the reason; --reentrant joins, and its end releases nothing.
func TestWaitForOneself(t *testing.T) {
	const inRun = `lease run k -- sh -c 'lease run %s -- echo inner; echo $?; lease check k --token "$LEASE_TOKEN" && echo still'`
	const inAcquire = `token=$(lease acquire --pid $$ k); lease run %s -- echo inner; echo $?; lease check k --token $token && echo still; lease release k --token $token`
	const inExec = `lease run --exec k -- sh -c 'lease run %s -- echo inner; echo $?; lease check k --token "$LEASE_TOKEN" && echo still'`
	for name, script := range map[string]string{"run": inRun, "acquire": inAcquire, "exec": inExec} {
		for _, key := range []string{"k", "k/below"} {
			t.Run(name+"/"+key, func(t *testing.T) {
				t.Parallel()
				l := NewLedger(t)
				r := l.Sh(fmt.Sprintf(script, key)).Want(t, 0).Says(t, "wait for itself").Says(t, "lease: "+key+" is held")
				if r.Stdout != "75\nstill\n" {
					t.Errorf("%v", r)
				}
				r = l.Sh(fmt.Sprintf(script, "--reentrant "+key)).Want(t, 0)
				if r.Stdout != "inner\n0\nstill\n" || r.Stderr != "" {
					t.Errorf("%v", r)
				}
			})
		}
	}
	t.Run("an acquire waits for nobody of its own either", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		l.Sh(`lease acquire --pid $$ k >token; lease acquire --pid $$ k`).Want(t, 75).Says(t, "wait for itself")
	})
	t.Run("a daemon knows by its environment", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		holder := l.Start("run", "k", "--", "sh", "-c", `(setsid sh -c 'until test -e go; do sleep .02; done; lease run k -- true 2>said; echo $? >code' &); echo >ready; until test -e code; do sleep .02; done`)
		l.until("it has no ancestor left", func() bool { return l.lines("ready") == 1 })
		l.touch("go")
		if code := l.UntilFile("code"); code != "75" || !strings.Contains(l.File("said"), "wait for itself") {
			t.Errorf("exit %s: %s", code, l.File("said"))
		}
		holder.Wait().Want(t, 0)
	})
	t.Run("wait", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		l.Run("run", "k", "--", "lease", "wait", "k").Want(t, 75).Says(t, "wait for itself")
	})
	t.Run("a key above is not joined", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		l.Run("run", "k/below", "--", "lease", "run", "--reentrant", "k", "--", "true").Want(t, 75).Says(t, "wait for itself")
	})
	t.Run("what is not held is taken", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		r := l.Run("run", "k", "--", "lease", "run", "--reentrant", "k", "j", "--", "sh", "-c", "echo $LEASE_KEYS; lease check j && lease check k").Want(t, 0)
		if r.Stdout != "k=1 j=1\n" || l.Lease("j") != nil || l.Lease("k") != nil {
			t.Errorf("%v", r)
		}
	})
}

// The ledger is renamed away, removed or replaced under those who wait: each is told, and none waits for ever.
func TestLedgerMovedUnderWaiters(t *testing.T) {
	for how, script := range map[string]string{
		"renamed":  `mv "$LEASE_LEDGER" "$LEASE_LEDGER.old"`,
		"replaced": `mv "$LEASE_LEDGER" "$LEASE_LEDGER.old"; lease init`,
		"a copy":   `cp -r "$LEASE_LEDGER" "$LEASE_LEDGER.new"; mv "$LEASE_LEDGER" "$LEASE_LEDGER.old"; mv "$LEASE_LEDGER.new" "$LEASE_LEDGER"`,
		"removed":  `mv "$LEASE_LEDGER" "$LEASE_LEDGER.old"; rm -r "$LEASE_LEDGER.old"`,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			killedWrapper(l, "o")
			hold(l, "k")
			waiters := []struct {
				args  []string
				code  int
				ready func() bool
			}{
				{[]string{"run", "k", "--", "sh", "-c", "echo ran >ran"}, 125, func() bool { return queued(l, "k") == 1 }},
				{[]string{"run", "--exec", "k/a", "--", "sh", "-c", "echo ran >ran"}, 125, func() bool { return queued(l, "k/a") == 1 }},
				{[]string{"acquire", "--ttl", "1h", "k"}, 74, func() bool { return queued(l, "k") == 2 }},
				{[]string{"wait", "k"}, 74, nil},
				{[]string{"break", "--reason", "test", "--if-silent", "1h", "k"}, 74, nil},
				{[]string{"run", "o", "--", "sh", "-c", "echo ran >ran"}, 125, func() bool { return l.Lease("o").Int("generation") == 2 }},
			}
			var all []*Process
			for _, w := range waiters {
				p := l.Start(w.args...)
				all = append(all, p)
				if w.ready != nil {
					l.until("it waits", w.ready)
				} else {
					l.until("it waits", func() bool { return watching(p.Pid) })
				}
			}
			l.Sh(script).Want(t, 0)
			for i, p := range all {
				r := p.Wait().Want(t, waiters[i].code)
				if !strings.Contains(r.Stderr, "moved or replaced") || !strings.Contains(r.Stderr, l.Dir) {
					t.Errorf("it is not told: %v", r)
				}
			}
			if l.File("ran") != "" {
				t.Error("a command ran")
			}
		})
	}
}

// The same while one of the locks of a change is waited for, which takes no watching: it is told once it has them.
func TestLedgerMovedUnderLockers(t *testing.T) {
	needs(t, "flock")
	for how, script := range map[string]string{
		"renamed":  `mv "$LEASE_LEDGER" "$LEASE_LEDGER.old"`,
		"replaced": `mv "$LEASE_LEDGER" "$LEASE_LEDGER.old"; lease init`,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			l.Run("run", "a", "--", "true").Want(t, 0)
			lock := filepath.Join(l.Dir, "locks", "a.lock")
			l.StartSh(`exec flock --no-fork "$1" sh -c 'echo $$ >locked; until test -e let; do sleep 0.01; done'`, lock)
			l.UntilFile("locked")
			var all []*Process
			for range contenders {
				p := l.Start("acquire", "--ttl", "1h", "a", "b")
				all = append(all, p)
				l.until("it waits for the lock", func() bool {
					fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.Pid))
					return slices.ContainsFunc(fds, func(fd string) bool { link, _ := os.Readlink(fd); return link == lock })
				})
			}
			l.Sh(script+"; touch let").Want(t, 0)
			for _, p := range all {
				p.Wait().Want(t, 74).Says(t, "moved or replaced")
			}
		})
	}
}
