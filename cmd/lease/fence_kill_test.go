package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// noneOf is the start of a command that must not run beside the processes named as its arguments: those that live are
// noted in the file overlap.
const noneOf = `for p in "$@"; do case $(sed 's/.*) //' /proc/$p/stat 2>/dev/null) in ""|[ZX]*) ;; *) echo $p >>overlap;; esac; done; `

// alone is work that notes in the file overlap if other work of its kind goes on, and in the file count that it is done.
const alone = `mkdir busy || echo overlap >>overlap; sleep .05; rmdir busy; echo >>count; `

// startRun starts a waiting run whose command must not run beside the pids, and which leaves the file ran.
func startRun(l *Ledger, key string, pids ...int) *Process {
	l.t.Helper()
	args := []string{"run", "--ttl", "300s", key, "--", "sh", "-c", noneOf + "echo ran >ran", "sh"}
	for _, pid := range pids {
		args = append(args, strconv.Itoa(pid))
	}
	return l.Start(args...)
}

// ranAlone waits for the run and wants its command to have run, and alone.
func ranAlone(t *testing.T, l *Ledger, run *Process) {
	t.Helper()
	run.Wait().Want(t, 0)
	if l.File("ran") != "ran" || l.File("overlap") != "" {
		t.Fatalf("the command ran: %q, beside: %q", l.File("ran"), l.File("overlap"))
	}
}

// notYet fails the test if the command of startRun has started.
func notYet(t *testing.T, l *Ledger) {
	t.Helper()
	if l.File("ran") != "" {
		t.Fatalf("the successor's command started beside: %q", l.File("overlap"))
	}
}

// untilNoted waits until the wrapper has noted which process is its command.
func untilNoted(l *Ledger) {
	l.t.Helper()
	l.until("the command is noted", func() bool {
		notes, _ := filepath.Glob(filepath.Join(l.Dir, "holders", "*.command.json"))
		return len(notes) == 1
	})
}

// orphans counts the commands that the ledger knows to have outlived their wrapper.
func orphans(l *Ledger) int {
	files, _ := filepath.Glob(filepath.Join(l.Dir, "orphans", "*.json"))
	return len(files)
}

// fencePids is what show says keeps the fence.
func fencePids(l *Ledger, key string) string {
	l.t.Helper()
	r := l.Run("--json", "show", key).Want(l.t, 0)
	list, ok := parseRecord(l.t, "show", []byte(r.Stdout))["fence_pids"].([]any)
	if !ok {
		l.t.Fatalf("show names no fence_pids\n%v", r)
	}
	var pids []string
	for _, pid := range list {
		pids = append(pids, pid.(json.Number).String())
	}
	return strings.Join(pids, " ")
}

// The wrapper is killed. The next run has the lease at once, but its command starts only when the first command and
// all that inherited its fence are gone; the pids it waits for are named.
func TestKilledWrapper(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	first := l.Start("run", "--ttl", "300s", "k", "--", "sh", "-c", `sleep 300 & echo $! >child; echo $$ >command; wait`)
	command, child := l.UntilPid("command"), l.UntilPid("child")
	first.Kill()

	next := startRun(l, "k", command, child)
	l.until("the next run has the lease", func() bool { return l.Lease("k").Int("generation") == 2 })
	if pid := l.Lease("k").Sub("holder").Int("pid"); pid != int64(next.Pid) {
		t.Fatalf("generation 2 belongs to pid %d, not to the next run %d", pid, next.Pid)
	}
	next.UntilStderr(strconv.Itoa(command))
	next.UntilStderr(strconv.Itoa(child))
	l.End(command)
	l.until("only the child keeps the fence", func() bool { return fencePids(l, "k") == strconv.Itoa(child) })
	notYet(t, l)
	l.End(child)
	ranAlone(t, l, next)
	if n := orphans(l); n != 0 {
		t.Fatalf("%d orphans are left", n)
	}
}

// The command of a killed wrapper is waited for even if it closed what it inherited, and by whoever comes next: also
// after successors that gave up or were killed while they waited.
func TestKilledWrappersCommandIsWaitedForByEveryone(t *testing.T) {
	commands := map[string][]string{
		"inherits": {"sh", "-c", `echo $$ >command; exec sleep 300`},
		"closes all descriptors": {"python3", "-c", `
import os, time
os.closerange(3, 1 << 16)
open("command", "w").write(str(os.getpid()))
time.sleep(300)`},
		"starts its work through subprocess": {"python3", "-c", `
import os, subprocess
open("command", "w").write(str(os.getpid()))
subprocess.run(["sleep", "300"], close_fds=True)`},
	}
	for name, argv := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, argv[0])
			l := NewLedger(t)
			first := l.Start(append([]string{"run", "--ttl", "300s", "k", "--"}, argv...)...)
			command := l.UntilPid("command")
			untilNoted(l)
			first.Kill()

			pid := strconv.Itoa(command)
			ran := []string{"k", "--", "sh", "-c", "echo ran >ran"}
			giveUp := func(known int, options ...string) {
				t.Helper()
				l.Run(append(append([]string{"run"}, options...), ran...)...).Want(t, 75).Says(t, pid)
				notYet(t, l)
				if n := orphans(l); n != known {
					t.Fatalf("%d orphans, not %d", n, known)
				}
			}
			if name != "closes all descriptors" { // then the fence is kept, and who does not wait takes nothing over
				giveUp(0, "-n")
			}
			giveUp(1, "--wait", "300ms")
			giveUp(1, "-n")
			giveUp(1, "--fence-wait", "300ms")
			l.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, 75).Says(t, pid)

			killed := startRun(l, "k", command)
			killed.UntilStderr(pid)
			killed.Kill()
			giveUp(1, "-n")

			next := startRun(l, "k", command)
			next.UntilStderr(pid)
			notYet(t, l)
			l.End(command)
			ranAlone(t, l, next)
			if n := orphans(l); n != 0 {
				t.Fatalf("%d orphans are left", n)
			}
		})
	}
}

// A shell's own descriptors do not take the place of the fence's.
func TestShellRedirectionsKeepTheFence(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	first := l.Start("run", "--ttl", "300s", "k", "--", "sh", "-c", `exec 3>file 9>file; sleep 300 & echo $! >child; echo $$ >command; wait`)
	command, child := l.UntilPid("command"), l.UntilPid("child")
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", child))
	fences := 0
	for _, link := range links {
		if target, _ := os.Readlink(link); strings.HasSuffix(target, ".fence") {
			fences++
			if n, _ := strconv.Atoi(filepath.Base(link)); n < 100 {
				t.Errorf("the fence has descriptor %d, where a shell may put its own", n)
			}
		}
	}
	if fences != 1 {
		t.Errorf("the child inherited %d fences", fences)
	}
	first.Kill()
	l.End(command) // so that only the fence can keep the next one out
	l.Run("run", "-n", "k", "--", "sh", "-c", "echo ran >ran").Want(t, 75).Says(t, strconv.Itoa(child))
	next := startRun(l, "k", command, child)
	next.UntilStderr(strconv.Itoa(child))
	l.End(child)
	ranAlone(t, l, next)
}

// children lists the processes that a process started itself.
func children(pid int) []int {
	var pids []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // one a thread
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(field)
			pids = append(pids, child)
		}
	}
	return pids
}

// Wrappers are killed at random, waiting ones too, and now and then their commands after them: no two pieces of work
// on overlapping keys ever run at once, and the loops come to their end.
func TestKilledWrappersNeverOverlap(t *testing.T) {
	l := NewLedger(t)
	script := `i=0; while [ $i -lt 8 ]; do lease run "$1" -- sh -c '(` + alone + `) & wait'; i=$((i+1)); done; echo >>ended`
	var all []*Process
	for i := range contenders {
		all = append(all, l.StartSh(script, []string{"repo", "repo/api"}[i%2]))
	}
	for kill := 0; kill < 40; kill++ {
		var wrappers []int
		l.until("somebody runs or waits", func() bool {
			wrappers = l.Pids(leaseBinary)
			return len(wrappers) > 0 || l.lines("ended") == contenders
		})
		if len(wrappers) == 0 {
			break
		}
		// Every other time one that runs a command, which goes with it.
		victim, commands := wrappers[kill*7%len(wrappers)], []int(nil)
		if kill%2 == 0 {
			for _, w := range wrappers {
				if c := children(w); len(c) > 0 && runs(w, leaseBinary) { // still: else it was a command's process before its exec
					victim, commands = w, c
				}
			}
		}
		l.End(victim)
		for _, c := range commands {
			l.End(c)
		}
	}
	for _, p := range all {
		p.Wait().Want(t, 0)
	}
	if l.File("overlap") != "" {
		t.Fatalf("work ran at once %d times", l.lines("overlap"))
	}
	if l.lines("count") == 0 {
		t.Fatal("no work was done")
	}
	l.Run("run", "repo", "--", "true").Want(t, 0)
	if n := orphans(l); n != 0 {
		t.Fatalf("%d orphans are left", n)
	}
}
