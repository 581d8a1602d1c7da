package main_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// heedless is a command that writes into the file told when it is told, on CLOCK_MONOTONIC, and goes on.
const heedless = `
import os, signal, time
def tell(*_):
    with open("told.new", "w") as f:
        f.write("%d\n" % time.monotonic_ns())
    os.rename("told.new", "told")
signal.signal(signal.SIGTERM, tell)
with open("command", "w") as f:
    f.write("%d\n" % os.getpid())
while True:
    signal.pause()
`

// The holder's ledger hangs, or fails, and nobody else's. Its command is told at three quarters of the TTL, counted from
// the last renewal, and killed before the TTL's end, when somebody else may enter. The wrapper says that it cannot renew,
// and ends with 76 although the ledger still hangs.
func TestLedgerFailsForHolder(t *testing.T) {
	const ttl = 8 * time.Second
	for name, disturb := range map[string]func(t *testing.T, l *Ledger, pid int) (mend func()){
		"hangs": func(t *testing.T, l *Ledger, pid int) func() {
			needs(t, "strace")
			delayed := l.StartSh(`exec strace -f -qq -o /dev/null -e trace=openat2,renameat,renameat2,fsync -e inject=openat2,renameat,renameat2,fsync:delay_enter=300s -p "$1"`, strconv.Itoa(pid))
			l.until("all its threads are traced", func() bool { return traced(pid, delayed.Pid) })
			// As long as a thread of it is held, others cannot see that the process has ended.
			return func() { l.End(delayed.Pid) }
		},
		"fails": func(t *testing.T, _ *Ledger, pid int) func() {
			// The process may open no more files.
			var limit unix.Rlimit
			if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
				t.Fatal(err)
			}
			limit.Cur = 0
			if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
				t.Fatal(err)
			}
			return func() {}
		},
	} {
		for _, ticket := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,ticket=%v", name, ticket), func(t *testing.T) {
				t.Parallel()
				needs(t, "python3")
				l := NewLedger(t)
				args := []string{"run", "--ttl", ttl.String(), "--kill-after", "1h", "k", "--", "python3", "-c", heedless}
				if ticket {
					l.Sh("lease ticket add 42 && lease ticket approve 42").Want(t, 0)
					args = append([]string{"run", "--ticket", "42"}, args[1:]...)
				}
				holder := l.Start(args...)
				command := l.UntilPid("command")
				record, base := "leases/k.json", l.Lease("k").Int("renewed_mono_ns")
				mend := disturb(t, l, holder.Pid)
				base = max(base, l.Record(record).Int("renewed_mono_ns"))

				next := startRun(l, "k", command)
				l.until("the command is told", func() bool { return l.File("told") != "" || !alive(command) })
				told, err := strconv.ParseInt(l.File("told"), 10, 64)
				if err != nil {
					t.Fatalf("the command was killed and not told before\n%v", holder.result())
				}
				if after := time.Duration(told - base); after < ttl*3/4 {
					t.Errorf("told %v after the last renewal; the TTL is %v", after, ttl)
				}
				var lives bool
				l.until("the wrapper has ended, or the next one has the lease", func() bool {
					lives = alive(command)
					return over(holder.Pid) || l.Lease("k").Int("generation") == 2
				})
				if lives {
					t.Errorf("somebody else has the lease, or the wrapper has ended, and the command lives")
				}
				l.until("the wrapper has ended", func() bool { return over(holder.Pid) })
				mend()
				holder.Wait().Want(t, 76).Says(t, "token 1 of").Says(t, "cannot renew")
				ranAlone(t, l, next)
			})
		}
	}
}

// traced reports whether all threads of a process are traced by another one.
func traced(pid, tracer int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, file := range threads {
		if status := readFile(file); !strings.Contains(status, fmt.Sprintf("TracerPid:\t%d\n", tracer)) {
			return false
		}
	}
	return len(threads) > 0
}

// over reports whether a process has ended, or is held by strace on its way out.
func over(pid int) bool {
	const exiting, signaled = 0x4, 0x400 // PF_EXITING, PF_SIGNALED
	_, rest, _ := strings.Cut(readFile(fmt.Sprintf("/proc/%d/stat", pid)), ") ")
	fields := strings.Fields(rest)
	if !alive(pid) || len(fields) < 7 {
		return true
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return err == nil && flags&(exiting|signaled) != 0
}
