package main_test

import (
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// onTerminal runs lease with its stdout on a terminal of 100 columns and returns what it wrote there.
func onTerminal(t *testing.T, l *Ledger, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	cmd.Dir, cmd.Env = l.Work, append(l.env, "TERM=xterm-256color")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	out, _ := io.ReadAll(tty) // ends with EIO when the last process has closed the terminal
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

// On a terminal ls is for people: a header, columns that stand under it, ages, colour unless NO_COLOR. In a pipe it is for programs.
func TestOutputOnTerminalAndInPipe(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Run("acquire", "--ttl", "1h", "--note", "nightly deploy", "repo/api", "a-key-that-is-longer").Want(t, 0)

	coloured := onTerminal(t, l, "ls")
	if !strings.Contains(coloured, "\x1b[") {
		t.Errorf("want a coloured word\n%q", coloured)
	}
	plain := onTerminal(t, l.Env("NO_COLOR=1"), "ls")
	if strings.Contains(plain, "\x1b") {
		t.Errorf("want no colour\n%q", plain)
	}
	lines := strings.Split(strings.TrimSuffix(plain, "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("want a header and two lines\n%s", plain)
	}
	if lines[0] != strings.ToUpper(lines[0]) || strings.Contains(plain, "\t") {
		t.Errorf("want a header in capitals and no tab\n%s", plain)
	}
	if !strings.Contains(plain, "ago") {
		t.Errorf("want ages\n%s", plain)
	}
	for i, c := range lines[0] { // a column begins where a word follows two spaces: there every line has one to begin
		if i >= 2 && c != ' ' && lines[0][i-2:i] == "  " {
			for _, line := range lines[1:] {
				if len(line) > i && line[i-1] != ' ' {
					t.Errorf("column %d is not aligned\n%s", i, plain)
				}
			}
		}
	}

	piped := l.Run("ls").Want(t, 0).Stdout
	for _, line := range strings.Split(strings.TrimSuffix(piped, "\n"), "\n") {
		fields := strings.Split(line, "\t")
		if len(fields) < 4 || fields[0] != "repo/api" && fields[0] != "a-key-that-is-longer" {
			t.Errorf("want fields separated by tabs, the key first: %q", line)
		}
		if !regexp.MustCompile(`\t\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z(\t|$)`).MatchString(line) {
			t.Errorf("want a time as in RFC 3339: %q", line)
		}
	}
	if strings.Contains(piped, "\x1b") || strings.Contains(piped, "ago") {
		t.Errorf("want nothing for people\n%q", piped)
	}
}

// Nothing that somebody else wrote commands the terminal of who looks at it: control and bidi characters are escaped, everywhere.
func TestEverythingShownIsEscaped(t *testing.T) {
	t.Parallel()
	needs(t, "jq")
	nasty := "\x1b]0;owned\a\x1b[31mred\r\n\x9b2J \u202egnirts\u202c \u2066iso\u2069 \u0085"
	l := made(t)
	l.Run("acquire", "--ttl", "1h", "repo/api").Want(t, 0)
	l.Edit("leases/repo/api.json", func(r Record) {
		r["note"] = nasty
		holder := r.Sub("holder")
		holder["host"], holder["user"], holder["cwd"] = nasty, nasty, nasty
		holder["command"] = []string{"make", nasty}
		holder["boot_id"], holder["machine_id"] = nasty, nasty
	})
	for _, r := range []Result{
		l.Run("ls"), l.Run("show", "repo/api"), l.Run("show", "--json", "repo/api"), l.Run("ls", "--json"),
		l.Run("run", "-n", "repo/api", "--", "true").Want(t, 75),
		l.Run("acquire", "-n", "--ttl", "1h", "repo/api").Want(t, 75),
		l.Run("acquire", "-n", "--ttl", "1h", "--json", "repo").Want(t, 75),
	} {
		noControls(t, r.Stdout+r.Stderr, r)
	}
	for _, args := range [][]string{{"ls"}, {"show", "repo/api"}} {
		noControls(t, onTerminal(t, l.Env("NO_COLOR=1"), args...), args)
	}
	// A file name that no key has is shown escaped too.
	put(t, l, "leases/"+"x\x1b[31m\u202e.json", []byte("{}"))
	r := l.Run("ls")
	noControls(t, r.Stdout+r.Stderr, r)
	// So is an argument of the caller's own.
	r = l.Run("check", "a\x1b[31mb").Want(t, 64)
	noControls(t, r.Stderr, r)
	r = l.Run("nope\x1b[31m\u202e").Want(t, 64)
	noControls(t, r.Stderr, r)
}

func noControls(t *testing.T, text string, about any) {
	t.Helper()
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\t' || c >= 0x7f && c < 0xa0 || c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 || c == 0xfffd {
			t.Errorf("%U reaches the terminal\n%q\n%v", c, text, about)
			return
		}
	}
}

// A program can rely on --json: one value, whose errors have the kind that the exit code has.
func TestJSONErrors(t *testing.T) {
	t.Parallel()
	l := made(t)
	l.Run("acquire", "--ttl", "1h", "--note", "mine", "held").Want(t, 0)
	put(t, l, "leases/torn.json", []byte("{"))
	for _, c := range []struct {
		kind string
		code int
		key  string
		args []string
	}{
		{"held", 75, "held", []string{"acquire", "-n", "--ttl", "1h", "held"}},
		{"held", 75, "held", []string{"run", "-n", "held", "--", "touch", "ran"}},
		{"held", 75, "held/part", []string{"run", "-n", "held/part", "--", "touch", "ran"}},
		{"lost", 76, "held", []string{"renew", "held", "--token", "5"}},
		{"lost", 76, "held", []string{"release", "held", "--token", "5"}},
		{"lost", 76, "held", []string{"fenced", "held", "--token", "5", "--", "touch", "ran"}},
		{"usage", 64, "", []string{"acquire", "held"}},
		{"usage", 64, "", []string{"nope"}},
		{"usage", 125, "", []string{"run", "held"}},
		{"usage", 125, "", []string{"run", "a//b", "--", "touch", "ran"}},
		{"config", 125, "", []string{"run", "--ttl", "4s", "--heartbeat", "3s", "free", "--", "touch", "ran"}},
		{"damaged", 74, "torn", []string{"acquire", "-n", "--ttl", "1h", "torn"}},
		{"damaged", 74, "torn", []string{"show", "torn"}},
		{"damaged", 125, "torn", []string{"run", "-n", "torn", "--", "touch", "ran"}},
		{"ledger", 74, "", []string{"acquire", "--ledger", "/no/such/folder", "--ttl", "1h", "k"}},
		{"ledger", 125, "", []string{"run", "--ledger", filepath.Join(l.Work, "full"), "k", "--", "touch", "ran"}},
	} {
		put(t, l, "../work/full/something", nil)
		for _, args := range [][]string{append([]string{"--json"}, c.args...), append([]string{c.args[0], "--json"}, c.args[1:]...)} {
			r := l.Run(args...)
			if r.Code != c.code || r.Stdout != "" {
				t.Errorf("want exit %d and nothing on stdout\n%v", c.code, r)
			}
			e := r.Error(t)
			if e.Str("kind") != c.kind || e.Str("message") == "" || strings.HasPrefix(e.Str("message"), "lease:") {
				t.Errorf("want the kind %s and a message\n%v", c.kind, r)
			}
			if c.key != "" && e.Str("key") != c.key {
				t.Errorf("want the key %s\n%v", c.key, r)
			}
			if holder := e.Sub("holder"); c.kind == "held" && (holder.Str("kind") != "process" || holder.Int("pid") == 0) {
				t.Errorf("want the holder\n%v", r)
			}
		}
	}
	if l.File("ran") != "" {
		t.Error("a command was started")
	}
}

// With -q nothing is said that is not an error; an error is still said.
func TestQuiet(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Run("acquire", "--ttl", "1h", "held").Want(t, 0)
	if r := l.Run("run", "-q", "free", "--", "true").Want(t, 0); r.Stdout+r.Stderr != "" {
		t.Errorf("want silence\n%v", r)
	}
	if r := l.Run("run", "-q", "--wait", "1500ms", "held", "--", "true").Want(t, 75); strings.Count(r.Stderr, "\n") > 2 {
		t.Errorf("want no talk of the wait\n%v", r)
	}
}
