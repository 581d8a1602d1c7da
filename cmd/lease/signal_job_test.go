package main_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// ^Z stops wrapper and command, and fg and bg continue both.
func TestSuspend(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	shell := l.shell()
	shell.Type("lease run k -- cat; echo exit=$?\r")
	l.until("the lease is held", func() bool { return l.Lease("k") != nil })
	shell.Type("one\r")
	shell.Until("one\r\none")
	both := l.job()
	for range 3 {
		shell.Type("\x1a")
		shell.Until("Stopped")
		l.inState("T", both)
		shell.Type("fg\r")
		shell.Until("lease run k -- cat")
		l.inState("S", both)
		shell.Type("two\r")
		shell.Until("two\r\ntwo")
	}
	shell.Type("\x1a")
	shell.Until("Stopped")
	shell.Type("bg; sleep .2\r") // long enough for it to run
	shell.Until("cat &")
	shell.Until("Stopped")
	l.inState("T", both) // it reads the terminal, which is the shell's
	shell.Type("fg\r")
	shell.UntilJob()
	shell.Type("three\r")
	shell.Until("three\r\nthree")
	shell.Type("\x04")
	shell.Until("> ")
	l.released("k")
}

// job returns the wrapper of the lease k and its command.
func (l *Ledger) job() []int {
	l.t.Helper()
	wrapper := int(l.Lease("k").Sub("holder").Int("pid"))
	both := []int{wrapper}
	l.until("the command runs", func() bool {
		for _, pid := range l.Pids("") {
			if l.parent(pid) == wrapper && !runs(pid, leaseBinary) {
				both = []int{wrapper, pid}
			}
		}
		return len(both) == 2
	})
	return both
}

// inState waits until all the processes are in a state.
func (l *Ledger) inState(state string, pids []int) {
	l.t.Helper()
	for _, pid := range pids {
		l.until(fmt.Sprintf("process %d is in state %s", pid, state), func() bool { return processState(pid) == state })
	}
}

// Who is suspended for longer than its TTL and meanwhile taken over is told as soon as it is continued. Until then its
// command, which is no more than stopped, keeps the successor's out.
func TestSuspendedHolderLoses(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	shell := l.shell()
	// Not sh: one that starts its commands by vfork is not stopped as long as the child is that was stopped before its exec.
	shell.Type(`lease run --ttl 1s k -- bash -c 'trap "echo told >told; exit" TERM; echo $$ >command; while :; do sleep .05; done'; echo exit=$?` + "\r")
	command := l.UntilPid("command")
	shell.Type("\x1a")
	shell.Until("Stopped")
	next := startRun(l, "k", command)
	next.UntilStderr("the fence of k")
	if l.File("told") != "" {
		t.Error("a stopped command was told")
	}
	shell.Type("fg\r")
	shell.Until("taken over by generation 2")
	shell.Until("> ")
	shell.Type("echo ended\r")
	shell.Until("ended")
	if l.File("told") == "" {
		t.Error("the command was not told")
	}
	ranAlone(t, l, next)
}

// Who is suspended for longer than its TTL while nobody wants the key carries on.
func TestSuspendedHolderCarriesOn(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	shell := l.shell()
	shell.Type("lease run --ttl 1s k -- cat; echo exit=$?\r")
	l.until("the lease is held", func() bool { return l.Lease("k") != nil })
	both := l.job()
	shell.Type("\x1a")
	shell.Until("Stopped")
	l.inState("T", both)
	revision := l.Lease("k").Int("revision")
	time.Sleep(1500 * time.Millisecond)
	shell.Type("fg\r")
	shell.UntilJob()
	l.until("it renews again", func() bool { return l.Lease("k").Int("revision") > revision })
	shell.Type("one\r")
	shell.Until("one\r\none")
	shell.Type("\x04")
	shell.Until("> ")
	l.released("k")
}

// What reads the terminal can: under a shell with job control, and where the wrapper leads the session.
func TestCommandReadsTheTerminal(t *testing.T) {
	needs(t, "less", "bash")
	type dialogue []struct{ until, keys string }
	for name, test := range map[string]struct {
		command string
		talk    dialogue
	}{
		"cat":      {"cat", dialogue{{"", "hello\r"}, {"hello\r\nhello", "\x04"}}},
		"a pager":  {"less page", dialogue{{"line 20", "G"}, {"line 300", "q"}}},
		"bash -i":  {"bash --norc --noprofile -i", dialogue{{"> ", "sh -c 'echo $((6*7)); exec sleep 300'\r"}, {"42\r\n", "\x1a"}, {"Stopped", ""}, {"> ", "fg\r"}, {"sleep 300'\r\n", "\x03"}, {"> ", "exit 0\r"}}},
		"password": {`bash -c 'read -sp "password: " p </dev/tty; echo "got $p"'`, dialogue{{"password: ", "secret\r"}, {"got secret", ""}}},
	} {
		for _, under := range []string{"a shell", "nothing"} {
			t.Run(name+" under "+under, func(t *testing.T) {
				t.Parallel()
				l := NewLedger(t)
				l.Sh(`i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo line $i; done >page`).Want(t, 0)
				var term *Terminal
				if under == "a shell" {
					term = l.shell()
					term.Type("exec 2>&1; lease run k -- " + test.command + "; echo exit=$?; exit 0\r")
					term.Until("exit 0\r\n")
				} else {
					term = l.interactive().Terminal(80, "sh", "-c", "exec lease run k -- "+test.command)
				}
				for _, turn := range test.talk {
					term.Until(turn.until)
					term.Type(turn.keys)
				}
				term.Want(0)
				if under == "a shell" && !strings.Contains(term.Shown(), "exit=0\r\n") {
					t.Errorf("shown: %q", term.Shown())
				}
				l.released("k")
			})
		}
	}
}

// The shell's job control sees a command under the lease as it sees one under env: in the background, in a pipeline,
// stopped because it reads the terminal, continued, killed.
func TestJobControlIsThatOfEnv(t *testing.T) {
	needs(t, "bash")
	// Each line is typed after the prompt, or to a job in the foreground.
	script := []struct {
		typed, until string
		front        bool // a job is in the foreground after it
	}{
		{"W cat | cat & sleep .3", "Stopped", false}, // it reads the terminal
		{"fg", "W cat | cat", true},
		{"hello", "hello", true},
		{"\x1a", "Stopped", false},
		{"jobs", "Stopped", false},
		{"bg; sleep .3", "Stopped", false},
		{"fg", "W cat | cat", true},
		{"\x04", "", false},
		{"W sleep 300 &", "[1] ", false},
		{"kill %1; wait %1; echo code=$?", "code=143", false},
		{"W sh -c 'exit 3' | cat; echo code=${PIPESTATUS[0]}", "code=3", false},
		{"(sleep .2; echo late) | W cat & wait; echo over", "over\r\n", false},
		{"seq 3 | W cat | tail -1", "3\r\n", false},
		{"W sh -c 'kill -TSTP $$; exit 4'", "Stopped", false},
		{"fg; echo code=$?", "code=4", false},
		{"W sh -c 'kill -STOP $$; exit 5'", "Stopped", false},
		{"fg; echo code=$?", "code=5", false},
	}
	say := func(prefix string) string {
		l := NewLedger(t)
		shell := l.shell()
		for _, step := range script {
			line := strings.ReplaceAll(step.typed, "W ", prefix+" ")
			if len(line) > 1 {
				line += "\r"
			}
			shell.Type(line)
			if len(line) > 1 {
				shell.Until(line[:len(line)-1]) // the echo
			}
			shell.Until(strings.ReplaceAll(step.until, "W ", prefix+" "))
			if step.front {
				shell.UntilJob()
			} else {
				shell.Until("> ")
			}
		}
		shell.Type("exit 0\r")
		shell.Want(0)
		shown := strings.ReplaceAll(shell.Shown(), prefix+" ", "W ")
		shown = regexp.MustCompile(`\[1\] \d+`).ReplaceAllString(shown, "[1] PID")
		return regexp.MustCompile(`(Terminated|Exit 143) +`).ReplaceAllString(shown, "Ended ") // the wrapper exits with 143
	}
	if env, got := say("env"), say("lease run k --"); got != env {
		t.Errorf("under the lease:\n%s\nunder env:\n%s", got, env)
	}
}
