package main_test

import (
	"fmt"
	"os"
	"os/user"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A waiter says on stderr whom it waits for, by everything that helps to find him, and its place; what changes is told.
// It says nothing on stdout.
func TestWaiterSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	holder := l.Start("run", "--note", "release day", "repo/api", "--", "sh", "-c", untilGo, "sh", "holding", "go")
	l.UntilFile("holding")
	since := l.Lease("repo/api").Str("acquired_at")
	next := l.Start("run", "--note", "me too", "repo/api", "--", "sh", "-c", untilGo, "sh", "holding2", "go2")
	l.until("it is queued", func() bool { return queued(l, "repo/api") == 1 })
	third := l.Start("acquire", "--ttl", "1h", "repo")
	l.until("it is queued", func() bool { return queued(l, "repo") == 1 })

	third.UntilStderr("\n")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	for _, text := range []string{
		"repo is held through repo/api", me.Username + "@" + host, fmt.Sprintf("pid %d", holder.Pid), "sh -c echo $$", since, "(release day)", "place 2",
	} {
		if !strings.Contains(third.Stderr(), text) {
			t.Errorf("it does not say %q: %s", text, third.Stderr())
		}
	}
	if n := strings.Count(third.Stderr(), "\n"); n != 1 {
		t.Errorf("it says %d lines: %s", n, third.Stderr())
	}

	l.touch("go")
	l.UntilFile("holding2")
	third.UntilStderr(fmt.Sprintf("place 1 in the queue: repo is held through repo/api by %s@%s pid %d", me.Username, host, next.Pid))
	third.UntilStderr("(me too)")

	next.Kill() // its command goes on: what is waited for now is the fence
	command := l.UntilPid("holding2")
	third.UntilStderr(fmt.Sprintf("the fence of repo is still kept by pid %d (sh)", command))
	l.touch("go2")
	r := third.Wait().Want(t, 0)
	if r.Stdout != "1\n" {
		t.Errorf("stdout: %q", r.Stdout)
	}
	lines := strings.Split(strings.TrimSuffix(r.Stderr, "\n"), "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "lease: waiting") || i > 0 && line == lines[i-1] {
			t.Errorf("line %d: %s", i+1, r.Stderr)
		}
	}
}

// With -q a waiter says nothing, and with --json nothing that is no JSON, but the reason why it gives up.
func TestQuietWaiter(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	hold(l, "k")
	var all []*Process
	for _, args := range [][]string{
		{"-q", "run", "--wait", "2500ms", "k", "--", "true"},
		{"-q", "wait", "--wait", "2500ms", "k"},
		{"--json", "acquire", "--wait", "2500ms", "--ttl", "1h", "k"},
	} {
		all = append(all, l.Start(args...))
	}
	for _, p := range all {
		r := p.Wait().Want(t, 75)
		if strings.Contains(r.Stderr, "waiting") {
			t.Errorf("%v", r)
		}
		if p.Argv[1] == "--json" && r.Error(t).Str("kind") != "held" {
			t.Errorf("%v", r)
		}
	}
}

// On a terminal the message is one line that is kept up to date in place, no longer than the terminal is wide, and gone
// before the command starts.
func TestWaiterOnTerminal(t *testing.T) {
	for _, columns := range []int{0, 60, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			holder := l.Start("run", "--note", "release day", "k", "--", "sh", "-c", untilGo, "sh", "holding", "go")
			l.UntilFile("holding")
			term := l.Terminal(uint16(columns), leaseBinary, "run", "k", "--", "sh", "-c", "echo the command; exit 3")
			term.Until("s, place 1: k is held for ")
			first := term.Shown()
			term.Until("\rlease: waiting ")
			if term.Until("s, place 1"); !strings.Contains(first, "waiting 1s") {
				t.Errorf("at first it shows %q", first)
			}
			l.touch("go")
			holder.Wait().Want(t, 0)
			term.Want(3)

			shown := term.Shown()
			before, _, found := strings.Cut(shown, "the command\r\n")
			lines := strings.Split(before, "\r")
			if !found || strings.Contains(before, "\n") || lines[0] != "" || lines[len(lines)-1] != "\x1b[K" {
				t.Fatalf("shown: %q", shown)
			}
			for _, line := range lines[1 : len(lines)-1] {
				text, erased := strings.CutSuffix(line, "\x1b[K")
				if !erased || columns > 0 && len([]rune(text)) >= columns || columns == 60 && !strings.HasSuffix(text, "…") {
					t.Errorf("line of %d columns: %q", len([]rune(text)), line)
				}
				if columns != 60 && !strings.Contains(text, "(release day)") {
					t.Errorf("no note: %q", line)
				}
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		hold(l, "k")
		term := l.Terminal(80, leaseBinary, "run", "k", "--", "echo", "the command")
		term.Until("waiting")
		term.Type("\x03")
		term.Want(130)
		if shown := term.Shown(); !regexp.MustCompile(`\^C\r\x1b\[K$`).MatchString(shown) {
			t.Errorf("shown: %q", shown)
		}
	})
	t.Run("dumb", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		hold(l, "k")
		term := l.Terminal(80, "env", "TERM=dumb", leaseBinary, "run", "--wait", "2s", "k", "--", "echo", "the command")
		term.Want(75)
		if shown := term.Shown(); strings.Contains(shown, "\x1b") || strings.Count(shown, "lease: waiting") != 1 {
			t.Errorf("shown: %q", shown)
		}
	})
}

// A waiter in the background leaves the line on which somebody types alone: it says what it waits for once.
func TestWaiterInTheBackground(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	hold(l, "k")
	shell := l.shell()
	shell.Type("lease run k -- echo the command &\r")
	shell.Until("lease: waiting")
	time.Sleep(2500 * time.Millisecond) // two more would have come
	shell.Type("fg\r")
	shell.Until("\rlease: waiting")
	shell.Type("\x03")
	shell.Until("> ")
	shell.Type("exit 0\r")
	shell.Want(0)
	behind, _, _ := strings.Cut(shell.Shown(), "fg\r")
	if n := strings.Count(behind, "lease: waiting"); n != 1 || strings.Contains(behind, "\rlease: waiting") {
		t.Errorf("said %d times in the background: %q", n, behind)
	}
}
