package main_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// argvScript writes its arguments as they came, each ended by a zero byte.
const argvScript = `for a do printf '%s\0' "$a"; done`

// Arguments reach the command byte for byte, and stand in the record short and readable.
func TestArgumentsAreUntouched(t *testing.T) {
	t.Parallel()
	many := make([]string, 200)
	for i := range many {
		many[i] = strings.Repeat(strconv.Itoa(i%10), 1024)
	}
	for name, args := range map[string][]string{
		"shell":     {"a;b", "$HOME", "`id`", "$(id)", "*", "a b", "'", `"`, `\`, "&", "|", "#", "~", "!"},
		"empty":     {"", "", "x", ""},
		"options":   {"--", "-n", "--ttl", "5s", "--", "--json", "-h", "--help", "help", "--version", "-"},
		"not UTF-8": {"\xff\xfe", "caf\xe9", "\xc3"},
		"controls":  {"a\nb", "\t", "\x1b[31m", "\x01", "\x7f"},
		"200 KB":    many,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			want := strings.Join(args, "\x00") + "\x00"
			argv := append([]string{"run", "k", "--", "sh", "-c", argvScript + `; cp "$LEASE_LEDGER/leases/k.json" record`, "sh"}, args...)
			if r := l.Run(argv...).Want(t, 0); r.Stdout != want {
				t.Errorf("the command was given %.300q, want %.300q", r.Stdout, want)
			}
			rec := parseRecord(t, "record", []byte(l.File("record")))
			size := 0
			command, _ := rec.Sub("holder")["command"].([]any)
			if len(command) == 0 || command[0] != "sh" {
				t.Fatalf("the record names the command as %v", command)
			}
			for _, arg := range command {
				size += len(arg.(string))
			}
			if size > 4096 {
				t.Errorf("the record has %d bytes of command", size)
			}
			if name == "not UTF-8" && !slices.Contains(command, any(`caf\xe9`)) {
				t.Errorf("want the bad byte as \\xe9: %q", command)
			}

			l.Run("acquire", "--ttl", "1h", "f").Want(t, 0)
			argv = append([]string{"fenced", "f", "--token", "1", "--", "sh", "-c", argvScript, "sh"}, args...)
			if r := l.Run(argv...).Want(t, 0); r.Stdout != want {
				t.Errorf("fenced: the command was given %.300q, want %.300q", r.Stdout, want)
			}
		})
	}
}

// Standard input and output pass through byte for byte, both ways at once.
func TestStandardInputIsPiped(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	input := make([]byte, 3<<20)
	random := rand.NewChaCha8([32]byte{1})
	random.Read(input)
	r := l.Stdin(bytes.NewReader(input)).Run("run", "k", "--", "cat").Want(t, 0)
	if sha256.Sum256([]byte(r.Stdout)) != sha256.Sum256(input) {
		t.Errorf("%d bytes came out, %d went in, and they differ", len(r.Stdout), len(input))
	}
	// The wrapper takes nothing for itself: what the command leaves is there for the next one.
	r = l.Sh(`printf 'one\ntwo\nthree\n' | { lease run k -- sh -c 'read a; echo "$a"'; lease run k -- cat; }`).Want(t, 0)
	if r.Stdout != "one\ntwo\nthree\n" {
		t.Errorf("want all three lines\n%v", r)
	}
}

// A reader that has seen enough ends the command as it would without lease, and leaves nothing held.
func TestStandardOutputClosedEarly(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	r := l.Sh(`{ lease run k -- yes; echo $? >code; } | head -n 1`).Want(t, 0)
	if r.Stdout != "y\n" || r.Stderr != "" {
		t.Errorf("want the one line\n%v", r)
	}
	if code := l.UntilFile("code"); code != "141" { // 128 + SIGPIPE
		t.Errorf("exit code %s, want 141", code)
	}
	l.Run("check", "k").Want(t, 1)
	// The same for an answer of lease itself: no trace of Go, nothing held that should not be.
	l.Run("acquire", "--ttl", "1h", "one").Want(t, 0)
	r = l.Sh(`{ lease ls; echo $? >code2; } | true`)
	l.UntilFile("code2")
	if strings.Contains(r.Stderr, "goroutine") {
		t.Errorf("a stack was printed\n%v", r)
	}
}

// A wrapper whose stderr nobody reads any more does not end before its command when it has something to say.
func TestStandardErrorClosed(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.StartSh(`{ lease run --on-lost ignore --ttl 1s k -- sh -c 'echo yes >ready; until test -e go; do sleep 0.02; done; echo >ended' 2>&3; echo $? >code; } 3>&1 | true`)
	l.UntilFile("ready")
	l.Run("break", "k", "--reason", "to be told of").Want(t, 0)
	time.Sleep(time.Second) // it is told at the next renewal, which nothing shows from outside
	l.touch("go")
	if code := l.UntilFile("code"); code != "76" || l.lines("ended") != 1 {
		t.Errorf("exit code %s, the command has ended: %v", code, l.lines("ended") == 1)
	}
}

// A token that nobody was told is a lease that nobody could give back: it is given back at once.
func TestAnswerThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	r := l.Sh("lease acquire --ttl 1h a b >/dev/full").Want(t, 74)
	oneClearLine(t, r, "no space left")
	l.Run("check", "a").Want(t, 1)
	l.Run("check", "b").Want(t, 1)
	l.Sh("lease ls >/dev/full").Want(t, 0) // nothing to say
	l.Run("acquire", "--ttl", "1h", "a").Want(t, 0)
	l.Sh("lease ls >/dev/full").Want(t, 74)
	l.Sh("lease show a >/dev/full").Want(t, 74)
}

// What stands in the caller's environment about another lease is replaced, and appears once.
func TestEnvironmentIsReplaced(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	outer := l.Env("LEASE_TOKEN=99", "LEASE_KEY=other", "LEASE_KEYS=other=99", "LEASE_HOLDER=somebody", "LEASE_TICKET=7")
	r := outer.Run("run", "repo/api", "with space", "--", "sh", "-c", `tr '\0' '\n' </proc/self/environ`).Want(t, 0)
	got := map[string][]string{}
	for _, line := range strings.Split(r.Stdout, "\n") {
		if name, value, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, "LEASE_") {
			got[name] = append(got[name], value)
		}
	}
	for name, want := range map[string]string{
		"LEASE_LEDGER": l.Dir,
		"LEASE_KEY":    "repo/api",
		"LEASE_TOKEN":  "1",
		"LEASE_KEYS":   "other=99 repo/api=1 with%20space=1",
	} {
		if len(got[name]) != 1 || got[name][0] != want {
			t.Errorf("%s is %q, want %q once", name, got[name], want)
		}
	}
	if h := got["LEASE_HOLDER"]; len(h) != 1 || h[0] == "somebody" || h[0] == "" {
		t.Errorf("LEASE_HOLDER is %q", h)
	}
	if ticket := got["LEASE_TICKET"]; len(ticket) > 1 {
		t.Errorf("LEASE_TICKET is there %d times", len(ticket))
	}
	// What is not lease's is left as it is.
	if r := l.Env("PRECIOUS=a b\nc").Run("run", "k", "--", "sh", "-c", `printf %s "$PRECIOUS"`).Want(t, 0); r.Stdout != "a b\nc" {
		t.Errorf("a variable of the caller has changed\n%v", r)
	}
}

// Runs of different keys nest; each command sees its own key and token, and all the keys around it.
func TestNestedRuns(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Run("run", "b", "--", "true").Want(t, 0)
	r := l.Run("run", "a", "--", "sh", "-c",
		`echo $LEASE_KEY $LEASE_TOKEN; lease run b -- sh -c 'echo $LEASE_KEY $LEASE_TOKEN; lease run c d -- sh -c "echo \$LEASE_KEY \$LEASE_TOKEN \$LEASE_KEYS; lease check a && lease check b && lease check c && lease check d"'`).Want(t, 0)
	if want := "a 1\nb 2\nc 1 a=1 b=2 c=1 d=1\n"; r.Stdout != want {
		t.Errorf("want %q\n%v", want, r)
	}
	for _, key := range []string{"a", "b", "c", "d"} {
		l.Run("check", key).Want(t, 1)
	}
}

// The fence's are the only descriptors that the command gets beside 0, 1, 2 and what the caller gave, numbered out of a shell's way.
func TestNoDescriptorLeaks(t *testing.T) {
	t.Parallel()
	const list = "#!/bin/sh\nexec find /proc/self/fd -mindepth 1 -not -lname '/proc/*' -printf '%f %l\\n'\n"
	for name, c := range map[string]struct {
		script string
		given  map[int]string
		lowest int
	}{
		"run":              {`lease run repo/api task:42 -- ./list`, nil, 100},
		"fenced":           {`lease acquire --ttl 1h repo/api task:42 >/dev/null; lease fenced repo/api --token 1 -- ./list`, nil, 100},
		"given by caller":  {`lease run repo/api task:42 -- ./list 5</dev/null 7>given`, map[int]string{5: "/dev/null", 7: "given"}, 100},
		"few descriptors":  {`ulimit -n 60; lease run repo/api task:42 -- ./list`, nil, 20},
		"after a long run": {`lease run --ttl 2s --heartbeat 50ms repo/api task:42 -- sh -c "sleep 1; exec ./list"`, nil, 100},
		"after a wait":     {`lease run repo/api -- sleep 0.5 & sleep 0.1; lease run repo/api task:42 -- ./list`, nil, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			if err := os.WriteFile(filepath.Join(l.Work, "list"), []byte(list), 0o755); err != nil {
				t.Fatal(err)
			}
			ours := l.Sh("./list").Want(t, 0).Stdout // what find opens itself, and what this test has from its own caller
			r := l.Sh(c.script).Want(t, 0)
			fences := map[string]bool{}
			for _, line := range strings.Split(strings.TrimSpace(r.Stdout), "\n") {
				number, target, _ := strings.Cut(line, " ")
				n, err := strconv.Atoi(number)
				if err != nil {
					t.Fatalf("%v\n%v", err, r)
				}
				switch inLedger, err := filepath.Rel(l.Dir, target); {
				case n <= 2 || strings.Contains("\n"+ours, "\n"+line+"\n"):
				case c.given[n] != "":
					if filepath.Base(target) != filepath.Base(c.given[n]) {
						t.Errorf("descriptor %d is %s, want %s", n, target, c.given[n])
					}
				case err == nil && n >= c.lowest && strings.HasPrefix(inLedger, "locks/") && filepath.Ext(target) == ".fence":
					fences[inLedger] = true
				default:
					t.Errorf("descriptor %d leaks: %s", n, target)
				}
			}
			want := 3
			if name == "fenced" {
				want = 2
			}
			if len(fences) != want {
				t.Errorf("the command has the fences %v\n%v", fences, r)
			}
		})
	}
}

// A command that cannot be started leaves nothing held, and its key free for the next one.
func TestCommandThatCannotStart(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	for name, content := range map[string]string{"text": "hello\n", "script": "#!/no/such/interpreter\n"} {
		if err := os.WriteFile(filepath.Join(l.Work, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(l.Work, "plain"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for generation, c := range []struct {
		codes   []int
		command string
	}{
		{[]int{127}, "no-such-command-anywhere"},
		{[]int{127}, "./no-such-file"},
		{[]int{126}, "./plain"},
		{[]int{126}, "./"},
		{[]int{126}, "./text"},
		{[]int{126, 127}, "./script"}, // shells differ
		{[]int{126, 127}, ""},
	} {
		r := l.Run("run", "k", "--", c.command)
		if !slices.Contains(c.codes, r.Code) {
			t.Errorf("want exit %d\n%v", c.codes, r)
		}
		oneClearLine(t, r)
		l.Run("check", "k").Want(t, 1)
		if got := l.Record("tombstones/k.json").Int("generation"); got != int64(generation+1) {
			t.Errorf("the tombstone keeps generation %d, want %d", got, generation+1)
		}
	}
}

// The exit code of the command is the exit code of run and fenced, every one of them.
func TestEveryExitCode(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	r := l.Sh(`token=$(lease acquire --ttl 1h f)
		for n in 0 1 2 7 63 64 74 75 76 125 126 127 128 130 137 143 200 254 255; do
			lease run k -- sh -c "exit $n"; echo "run $n $?"
			lease fenced f --token "$token" -- sh -c "exit $n"; echo "fenced $n $?"
		done`).Want(t, 0)
	for _, line := range strings.Split(strings.TrimSpace(r.Stdout), "\n") {
		var name string
		var want, got int
		if _, err := fmt.Sscan(line, &name, &want, &got); err != nil || got != want {
			t.Errorf("%q: %v", line, err)
		}
	}
	if r.Stderr != "" {
		t.Errorf("a command's exit code is no news\n%v", r)
	}
}

// A command that a signal ended is 128 and its number, as in a shell.
func TestEverySignal(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	for name, n := range map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "SEGV": 11, "PIPE": 13, "TERM": 15, "USR1": 10} {
		r := l.Run("run", "k", "--", "sh", "-c", "ulimit -c 0; kill -"+name+" $$; sleep 60")
		if r.Code != 128+n {
			t.Errorf("%s: want exit %d\n%v", name, 128+n, r)
		}
		l.Run("check", "k").Want(t, 1)
	}
}
