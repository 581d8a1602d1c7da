package main_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hangs are the ways in which a run of the key job waits and waits. stage sets one up and returns the pid that somebody has to find.
var hangs = map[string]struct {
	stage         func(t *testing.T, l *Ledger) int
	state         string // "": what ls says of job, or of what it waits for
	because, free string // what show says of job, with PID for the pid
	typed         string // which part of what it proposes is typed, instead of the first command
}{
	"the holder is alive and hangs": {
		stage: func(t *testing.T, l *Ledger) int { return l.holding("job") },
		state: "held", because: "it lives and renews: it is taken over only after 60s of silence",
		free: "end it: kill PID; take the key away: lease break job --reason TEXT",
	},
	"the same, and the key is taken away": {
		stage: func(t *testing.T, l *Ledger) int {
			l.Start("run", "--ttl", "2s", "job", "--", "sh", "-c", "echo $$ >holding; exec sleep 300")
			l.UntilFile("holding")
			return 0
		},
		state: "held", because: "it lives and renews", free: "lease break job --reason TEXT", typed: `lease break job --reason TEXT`,
	},
	"the holder was killed, its command goes on": {
		stage: func(t *testing.T, l *Ledger) int { return killedWrapper(l, "job") },
		state: "held", because: "it waits itself for what ran under an earlier lease and has not ended: pid PID (sleep)",
		free: "wait for the end of those processes, or end them: kill PID; lease break would not help",
	},
	"the holder and its command were killed, what that started goes on": {
		stage: func(t *testing.T, l *Ledger) int { return killedTree(l, "job") },
		state: "held", because: "not ended: pid PID (sleep)", free: "kill PID;",
	},
	"the holder is in another pid namespace": {
		stage: func(t *testing.T, l *Ledger) int {
			needs(t, "root", "unshare")
			inside := l.In("unshare", "-pf", "--kill-child", "--mount-proc").Start("run", "job", "--", "sh", "-c", "echo $$ >holding; exec sleep 300")
			l.UntilFile("holding")
			return inside.Pid
		},
		state: "held", because: "it lives and renews", free: "end it, which from here is pid ",
		typed: `kill $(lease show --json job | jq -r '.fence_pids[]')`,
	},
	"the holder wrote from another machine": {
		stage: func(t *testing.T, l *Ledger) int {
			l.Run("acquire", "--pid", strconv.Itoa(l.asleep()), "job").Want(t, 0)
			fromElsewhere(l, "job", "pid")
			return 0
		},
		state: "held", because: "whether it lives cannot be told from here (", free: "end it where it runs, on elsewhere; take the key away: lease break job --reason TEXT",
		typed: `lease break job --reason TEXT`,
	},
	"a shell was forgotten": {
		stage: func(t *testing.T, l *Ledger) int {
			shell := l.asleep()
			l.Run("acquire", "--pid", strconv.Itoa(shell), "job/part").Want(t, 0)
			return shell
		},
		state: "held", because: "it lives, and the key is its own as long as it does", free: "end it: kill PID; take the key away: lease break job/part --reason TEXT",
	},
	"it is held for a time": {
		stage: func(t *testing.T, l *Ledger) int { l.Run("acquire", "--ttl", "1h", "job").Want(t, 0); return 0 },
		state: "held", because: "it is held for a time that was agreed: if it is not renewed it ends in ", free: "take the key away: lease break job --reason TEXT",
		typed: `lease break job --reason TEXT`,
	},
	"a ticket is to be reviewed": {
		stage: func(t *testing.T, l *Ledger) int { l.Sh(aTicket+"lease run --ticket 42 -- true").Want(t, 0); return 0 },
		state: "reserved", because: "the ticket is REVIEW, and so keeps its scope until somebody decides", free: "lease ticket done 42",
	},
	"somebody works on a ticket": {
		stage: func(t *testing.T, l *Ledger) int { l.Sh(aTicket+"lease ticket start 42").Want(t, 0); return 0 },
		state: "reserved", because: "somebody works on the ticket", free: "lease ticket cancel 42 --force --reason TEXT",
	},
	"the one ahead waits for another key": {
		stage: func(t *testing.T, l *Ledger) int {
			holder := l.holding("other")
			wait(l, 1, "ahead", "job", "other")
			return holder
		},
		because: "it waits for other as well, held by ", free: "lease show other says how to free that", typed: "kill PID",
	},
}

const aTicket = `lease ticket add 42 --title 'Fix the login' --scope job; lease ticket approve 42; `

// holding starts a run of key that hangs, and returns its pid.
func (l *Ledger) holding(key string) int {
	l.t.Helper()
	p := l.Start("run", key, "--", "sh", "-c", "echo $$ >holding; exec sleep 300")
	l.UntilFile("holding")
	return p.Pid
}

// asleep starts a process that does nothing, and returns its pid.
func (l *Ledger) asleep() int { return l.start(nil, "sleep", "300").Pid }

// Somebody who has only a hanging run and the binary finds out in two commands, ls and show, who is in the way, why that is not taken
// over, and what to type; and once that is typed the run goes on.
func TestWhyItHangs(t *testing.T) {
	t.Parallel()
	for name, c := range hangs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, "jq")
			l := NewLedger(t)
			pid := c.stage(t, l)
			hanging := l.Start("run", "--note", "hangs", "job", "--", "true")
			hanging.UntilStderr("lease: waiting")

			seen := l.Run("ls").Want(t, 0)
			if c.state != "" && !strings.Contains(seen.Stdout, "\t"+c.state+"\t") {
				t.Errorf("nothing is %s\n%v", c.state, seen)
			}
			told := l.Run("show", "job")
			says := fields(told.Stdout)
			fill := strings.NewReplacer("PID", strconv.Itoa(pid))
			if !strings.Contains(says["because"], fill.Replace(c.because)) || !strings.Contains(says["to free"], fill.Replace(c.free)) {
				t.Fatalf("want because %q, to free %q\n%v", fill.Replace(c.because), fill.Replace(c.free), told)
			}
			typed := fill.Replace(c.typed)
			if typed == "" {
				typed = regexp.MustCompile(`kill [\d ]+|lease ticket \w+ 42( --force --reason TEXT)?`).FindString(says["to free"])
			}
			l.Sh(typed) // of several processes some are gone once the first is
			hanging.Wait().Want(t, 0)
		})
	}
}

// fields are the values that show prints, by their names; several of one name after each other.
func fields(page string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(page) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if before := all[name]; before != "" {
			value = before + "; " + value
		}
		all[name] = value
	}
	return all
}

// A waiter that was stopped is in nobody's way for long: who is behind it is told whom it waits for, and goes past it; show says that.
func TestWhyAStoppedWaiterHangs(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Run("acquire", "--ttl", "1h", "job").Want(t, 0)
	first := wait(l, 1, "first", "job")
	first.Stop()
	l.Run("release", "job", "--token", "1").Want(t, 0)

	// Who is refused because of it notes that it sleeps. That alone does not put it out of the way.
	noted := time.Now()
	l.Run("run", "-n", "job", "--", "true").Want(t, 75)
	says := fields(l.Run("show", "job").Want(t, 0).Stdout)
	if time.Since(noted) >= 5*time.Second {
		t.Skip("not run: this machine is so slow that the waiter was passed over meanwhile")
	}
	for name, want := range map[string]string{
		"state": "released", "waiting": fmt.Sprintf("pid %d (to run sh", first.Pid), "acquire": "waits in line behind 1, first of them ",
		"because": "if it sleeps it is passed over after 5s", "to free": fmt.Sprintf("wake it: kill -CONT %d; end it: kill %d", first.Pid, first.Pid),
	} {
		if !strings.Contains(says[name], want) {
			t.Errorf("%s is %q, want %q", name, says[name], want)
		}
	}
	if strings.Contains(says["waiting"], "passed over") {
		t.Errorf("%q", says)
	}
	second := l.Start("run", "job", "--", "true")
	second.UntilStderr(fmt.Sprintf("pid %d", first.Pid))
	second.Wait().Want(t, 0)
	says = fields(l.Run("show", "job").Want(t, 0).Stdout)
	if !strings.Contains(says["waiting"], "passed over until it wakes") || says["acquire"] != "at once" {
		t.Errorf("%q", says)
	}
	first.Signal(syscall.SIGCONT)
	first.Wait().Want(t, 0)
}

// A waiter that is behind others for another of its keys does not sleep: who tries is refused because of it, and in the
// same moment show says whom it waits for, not that it is out of the way or to be woken.
func TestWhyAWaiterInAnotherLineHangs(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Run("acquire", "--ttl", "1h", "repo/t").Want(t, 0)
	first := wait(l, 1, "first", "repo")
	both := wait(l, 1, "both", "repo-x", "repo/api")
	for range 5 {
		l.Run("run", "-n", "repo-x", "--", "true").Want(t, 75).Says(t, fmt.Sprintf("pid %d", both.Pid))
		r := l.Run("show", "repo-x").Want(t, 1)
		says := fields(r.Stdout)
		for name, want := range map[string]string{
			"waiting": fmt.Sprintf("pid %d (to run sh", both.Pid), "acquire": "waits in line behind 1, first of them ",
			"because": "it waits in line for repo/api as well, behind ", "to free": "lease show repo/api says how to free that",
		} {
			if !strings.Contains(says[name], want) {
				t.Fatalf("%s is %q, want %q\n%v", name, says[name], want, r)
			}
		}
		if !strings.Contains(says["because"], fmt.Sprintf("pid %d (to run sh", first.Pid)) {
			t.Fatalf("%v", r)
		}
	}
	l.Run("release", "repo/t", "--token", "1").Want(t, 0)
	first.Wait().Want(t, 0)
	both.Wait().Want(t, 0)
}

// A key that nobody ever had is told so; what waits for it, or overlaps it, is told all the same.
func TestShowOfAKeyThatWasNeverHeld(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	if r := l.Run("show", "repo").Want(t, 1).Says(t, "repo was never held"); r.Stdout != "" {
		t.Errorf("%v", r)
	}
	l.Run("acquire", "--ttl", "1h", "repo/api").Want(t, 0)
	if r := l.Run("show", "repo").Want(t, 1).Says(t, "repo was never held"); fields(r.Stdout)["state"] != "free" || !strings.HasPrefix(fields(r.Stdout)["acquire"], "waits for repo/api") {
		t.Errorf("%v", r)
	}
	if r := l.Run("show", "--json", "repo").Want(t, 1); parseRecord(t, "show", []byte(r.Stdout)).Str("verdict") != "free" || r.Stderr != "" {
		t.Errorf("%v", r)
	}
}

// A holder that is stopped renews nothing and hears of no signal: that is said, and what it needs beside kill.
func TestWhyAStoppedHolderHangs(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	holder := l.Start("run", "job", "--", "sh", "-c", "echo ready >ready; exec sleep 300")
	l.UntilFile("ready")
	holder.Stop()
	says := fields(l.Run("show", "job").Want(t, 0).Stdout)
	if want := "it is stopped (^Z, or kill -STOP): it lives"; !strings.HasPrefix(says["because"], want) {
		t.Errorf("because %q, not %q", says["because"], want)
	}
	end := fmt.Sprintf("kill %d, and continue what is stopped: kill -CONT %d", holder.Pid, holder.Pid)
	if want := "end it: " + end + ";"; !strings.HasPrefix(says["to free"], want) {
		t.Errorf("to free %q, not %q", says["to free"], want)
	}
	l.Sh(strings.Replace(end, ", and continue what is stopped:", ";", 1)).Want(t, 0)
	holder.Wait()
	l.Run("run", "-n", "job", "--", "true").Want(t, 0)
}

// A command that is stopped, or deaf to what its holder hands on to it, is told apart from one that works.
func TestWhyAStoppedCommandHangs(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	holder := l.Start("run", "job", "--", "sh", "-c", `trap "" TERM; echo $$ >command; exec sleep 300`)
	command := l.UntilPid("command")
	if err := syscall.Kill(command, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var says map[string]string
	l.until("the command is said to be stopped", func() bool {
		says = fields(l.Run("show", "job").Want(t, 0).Stdout)
		return strings.HasPrefix(says["because"], fmt.Sprintf("what it runs is stopped (^Z, or kill -STOP), pid %d: it lives", command))
	})
	end := fmt.Sprintf("kill %d, and continue what is stopped: kill -CONT %d", holder.Pid, command)
	kill := fmt.Sprintf("kill -9 %d", command)
	if want := "end it: " + end + "; take the key away: lease break job --reason TEXT; if it heeds neither: " + kill; says["to free"] != want {
		t.Errorf("to free %q, not %q", says["to free"], want)
	}
	l.Sh(strings.Replace(end, ", and continue what is stopped:", ";", 1)).Want(t, 0)
	l.Sh(kill).Want(t, 0)
	holder.Wait().Want(t, 128+9)
	l.Run("run", "-n", "job", "--", "true").Want(t, 0)
}

// Of a command whose wrapper was killed nobody says that it has not begun.
func TestOrphanedCommandHasBegun(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	killedWrapper(l, "job")
	before := everything(t, l.Dir)
	l.Run("run", "-n", "job", "--", "true").Want(t, 75).Says(t, "the fence of job is still kept by")
	same(t, before, everything(t, l.Dir)) // what is known of it stays
	if says := fields(l.Run("show", "job").Want(t, 0).Stdout); says["state"] != "dead" || strings.Contains(says["command"], "not begun") {
		t.Errorf("%v", says)
	}
}
