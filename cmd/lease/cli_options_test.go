package main_test

import (
	"os"
	"strings"
	"testing"
)

// Options may stand before, between and after the keys, global ones also before and after the command's name.
func TestOptionPlacement(t *testing.T) {
	t.Parallel()
	script := `echo "$LEASE_KEYS"`
	for _, args := range [][]string{
		{"run", "--ttl", "30s", "--note", "x", "a", "b", "--", "sh", "-c", script},
		{"run", "a", "--ttl", "30s", "b", "--note", "x", "--", "sh", "-c", script},
		{"run", "a", "b", "--ttl", "30s", "--note", "x", "--", "sh", "-c", script},
		{"run", "a", "b", "--ttl=30s", "--note=x", "--", "sh", "-c", script},
		{"-q", "run", "a", "b", "--ttl=30s", "--note=x", "--", "sh", "-c", script},
		{"run", "-q", "a", "--ttl=30s", "b", "--note=x", "--", "sh", "-c", script},
		{"--json", "run", "a", "--ttl=30s", "b", "--note=x", "--", "sh", "-c", script},
		{"run", "a", "--ttl=30s", "b", "--note=x", "--json", "--", "sh", "-c", script},
		{"-v", "run", "a", "b", "-n", "--ttl=30s", "--note=x", "--", "sh", "-c", script},
	} {
		l := NewLedger(t)
		r := l.Run(append(args[:len(args)-1:len(args)-1], script+`; cp "$LEASE_LEDGER/leases/a.json" record`)...)
		if r.Code != 0 || r.Stdout != "a=1 b=1\n" {
			t.Errorf("want the two keys\n%v", r)
			continue
		}
		if rec := parseRecord(t, "record", []byte(l.File("record"))); rec.Int("ttl_ms") != 30000 || rec.Str("note") != "x" {
			t.Errorf("the options did not count: %v\n%v", rec, r)
		}
	}
	l := NewLedger(t)
	for _, args := range [][]string{
		{"--ledger", l.Dir + "2", "acquire", "--ttl", "1h", "one"},
		{"acquire", "--ledger", l.Dir + "2", "--ttl", "1h", "two"},
		{"acquire", "three", "--ttl", "1h", "--ledger", l.Dir + "2"},
		{"acquire", "four", "--ttl", "1h", "--ledger=" + l.Dir + "2"},
	} {
		l.Run(args...).Want(t, 0)
	}
	if r := l.Run("ls", "--ledger", l.Dir+"2").Want(t, 0); strings.Count(r.Stdout, "\n") != 4 {
		t.Errorf("want four leases in the ledger that was named\n%v", r)
	}
	if _, err := os.Stat(l.Dir); err == nil {
		t.Error("the other ledger was made")
	}
}

// A command line that means nothing, or two things, is refused before any file is touched: one line and a hint on stderr, no page.
func TestUsageErrors(t *testing.T) {
	t.Parallel()
	command := func(args ...string) []string { return append(args, "--", "touch", "ran") }
	for _, args := range [][]string{
		// Options given twice, unknown, or without their value.
		command("run", "k", "--ttl", "5s", "--ttl", "5s"),
		command("run", "--ttl=5s", "k", "--ttl=6s"),
		command("run", "k", "-n", "-n"),
		command("run", "k", "-n", "--no-wait"),
		command("run", "k", "-n", "--wait", "5s"),
		command("run", "k", "-E", "3", "--conflict-exit-code", "4"),
		command("--ledger", "a", "run", "k", "--ledger", "b"),
		command("--ledger", "a", "--ledger", "a", "run", "k"),
		command("-q", "run", "k", "--quiet"),
		command("run", "k", "--nope"),
		command("run", "k", "-x"),
		command("run", "k", "--ttl"),
		command("run", "k", "--ttl="),
		command("--nope", "run", "k"),
		{"run", "k", "--ttl"},
		{"acquire", "k", "--ttl", "5s", "--ttl", "5s"},
		{"acquire", "k", "--ttl", "5s", "--pid", "1"},
		{"acquire", "k"},
		{"acquire", "--ttl", "5s"},
		{"acquire", "k", "--ttl", "5s", "--token", "1"},
		{"release", "k", "--token", "1", "--token", "1"},
		{"break", "k", "--reason", "a", "--reason", "b"},
		// Durations.
		command("run", "k", "--ttl", "30"),
		command("run", "k", "--ttl", "-5s"),
		command("run", "k", "--ttl", "5 s"),
		command("run", "k", "--ttl", "5x"),
		command("run", "k", "--ttl", "1e3s"),
		command("run", "k", "--ttl", "99999999999999999999s"),
		command("run", "k", "--wait", "5"),
		command("run", "k", "--wait", "-1s"),
		command("run", "k", "--heartbeat", "1"),
		command("run", "k", "--kill-after", "nan"),
		command("run", "k", "--fence-wait", "7"),
		{"acquire", "k", "--ttl", "60"},
		// Numbers and words.
		command("run", "k", "-E", "600"),
		command("run", "k", "-E", "-1"),
		command("run", "k", "-E", "x"),
		command("run", "k", "--fence", "house"),
		command("run", "k", "--on-lost", "panic"),
		{"acquire", "k", "--pid", "x"},
		{"acquire", "k", "--pid", "0"},
		{"acquire", "k", "--pid", "-1"},
		{"renew", "k", "--token", "x"},
		{"renew", "k", "--token", "-1"},
		{"renew", "k", "--token", "0"},
		{"renew", "k", "--token", "1.5"},
		{"renew", "k", "--token", "1e309"},
		{"renew", "k", "--token", "99999999999999999999"},
		{"renew", "k"},
		{"release", "k"},
		{"transfer", "k", "--token", "1"},
		{"transfer", "k", "--to-pid", "1"},
		{"fenced", "k", "--", "touch", "ran"},
		{"fenced", "--token", "1", "--", "touch", "ran"},
		{"fenced", "k", "--token", "1"},
		{"fenced", "k", "l", "--token", "1", "--", "touch", "ran"},
		{"break", "k"},
		{"break", "k", "--reason", ""},
		{"check"},
		{"check", "k", "l"},
		{"show"},
		{"show", "k", "l"},
		{"renew", "k", "l", "--token", "1"},
		{"release", "k", "l", "--token", "1"},
		// Commands.
		{"run", "k"},
		{"run", "k", "--"},
		{"run", "--", "touch", "ran"},
		{"run", "k", "touch", "ran"},
		{"run"},
		{"nope"},
		{"RUN", "k", "--", "touch", "ran"},
		command("run", "k", "--note", strings.Repeat("x", 1025)),
		// The keys of tickets.
		command("run", "ticket:1"),
		command("run", "k", "ticket:1/x"),
		{"acquire", "ticket:1", "--ttl", "5s"},
		{"renew", "ticket:1", "--token", "1"},
		{"release", "ticket:1", "--token", "1"},
		{"transfer", "ticket:1", "--token", "1", "--to-pid", "1"},
	} {
		l := NewLedger(t)
		r := l.Run(args...)
		want := 64
		for _, arg := range args {
			if arg == "run" || arg == "fenced" {
				want = 125
			}
			if arg == "--" {
				break
			}
		}
		if r.Code != want || r.Stdout != "" {
			t.Errorf("want exit %d and nothing on stdout\n%v", want, r)
		}
		oneClearLine(t, r)
		if l.File("ran") != "" {
			t.Errorf("the command was started\n%v", r)
		}
		if entries, _ := os.ReadDir(l.Dir); len(entries) > 0 {
			t.Errorf("the ledger was touched\n%v", r)
		}
		if strings.HasSuffix(args[len(args)-1], "0") && strings.Contains(strings.Join(args, " "), "--ttl 60") {
			r.Says(t, "60s")
		}
	}
}

// Durations that cannot work together are refused before anything is taken.
func TestDurationsThatCannotWork(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--ttl", "10s", "--heartbeat", "6s"},
		{"--ttl", "10s", "--heartbeat", "10s"},
		{"--ttl", "10s", "--heartbeat", "0s"},
		{"--heartbeat", "31s"},
		{"--ttl", "0s"},
	} {
		l := NewLedger(t)
		r := l.Run(append(append([]string{"run"}, args...), "k", "--", "touch", "ran")...).Want(t, 125)
		oneClearLine(t, r)
		if l.File("ran") != "" || l.Lease("k") != nil {
			t.Errorf("it went on\n%v", r)
		}
	}
	// The limit itself works, and a long --kill-after is no error.
	l := NewLedger(t)
	l.Run("run", "--ttl", "10s", "--heartbeat", "5s", "k", "--", "true").Want(t, 0)
	l.Run("run", "--ttl", "10s", "--kill-after", "1h", "k", "--", "true").Want(t, 0)
	l.Run("run", "--ttl", "2d", "k", "--", "true").Want(t, 0)
	l.Run("run", "--wait", "0s", "k", "--", "true").Want(t, 0)
}

// Help is an answer, not an error: stdout, exit 0, also for a key or a command named help.
func TestHelp(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	for _, args := range [][]string{{"help"}, {"--help"}, {"-h"}, {"run", "--help"}, {"acquire", "-h"}, {"show", "--help"}, {"--version"}} {
		if r := l.Run(args...).Want(t, 0); r.Stdout == "" || r.Stderr != "" {
			t.Errorf("want an answer on stdout\n%v", r)
		}
	}
	if r := l.Run("help").Want(t, 0); !strings.Contains(r.Stdout, "lease run") {
		t.Errorf("want a page with an example\n%v", r)
	}
	// The keys h and help are keys like others.
	for _, key := range []string{"h", "help"} {
		if r := l.Run("acquire", "--ttl", "1h", key).Want(t, 0); strings.TrimSpace(r.Stdout) != "1" {
			t.Errorf("want the key %s\n%v", key, r)
		}
		l.Run("check", key, "--token", "1").Want(t, 0)
		l.Run("show", key).Want(t, 0)
		l.Run("release", key, "--token", "1").Want(t, 0)
		if r := l.Run("run", key, "--", "echo", "ran").Want(t, 0); r.Stdout != "ran\n" {
			t.Errorf("want the command under the key %s\n%v", key, r)
		}
	}
}
