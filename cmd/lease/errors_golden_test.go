package main_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/errors.golden anew, to be read as a whole")

// A scene is a situation and what is typed in it.
type scene struct {
	about    string
	stage    func(l *Ledger) *Ledger // nil: a ledger that nobody has used yet
	commands []string
}

// Every message of an error that lease knows stands in testdata/errors.golden, as it is said when it happens: who is in the way
// or what is wrong, where, since when, and what to type. What differs from run to run is written in capitals.
// go test ./cmd/lease -run TestErrorMessages -update writes the file anew.
func TestErrorMessages(t *testing.T) {
	t.Parallel()
	needs(t, "root", "git", "flock", "python3", "strace", "unshare", "jq")
	scenes := allScenes()
	texts := make([]string, len(scenes))
	t.Run("scenes", func(t *testing.T) {
		var all sync.WaitGroup
		defer all.Wait()
		for i, s := range scenes {
			t.Run(s.about, func(t *testing.T) {
				t.Parallel()
				texts[i] = s.play(t)
			})
		}
	})
	if t.Failed() {
		return
	}
	got := []byte(strings.Join(texts, "\n"))
	golden := filepath.Join("..", "..", "testdata", "errors.golden")
	if *update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) || was[i] != is[i] {
			t.Fatalf("line %d differs (-update writes the file anew)\n-- wanted --\n%s\n-- got --\n%s", i+1,
				strings.Join(was[min(i, len(was)):min(i+6, len(was))], "\n"), strings.Join(is[min(i, len(is)):min(i+6, len(is))], "\n"))
		}
	}
}

// play types the commands and returns what was said, with what differs from run to run in capitals.
func (s scene) play(t *testing.T) string {
	l := NewLedger(t)
	l.Open()
	if s.stage != nil {
		l = s.stage(l)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n", s.about)
	for _, command := range s.commands {
		r := l.Sh("exec 2>&1\n" + command)
		fmt.Fprintf(&b, "$ %s\n%s", command, r.Stdout)
		if r.Code != 0 {
			fmt.Fprintf(&b, "exit code %d\n", r.Code)
		}
		for line := range strings.Lines(r.Stdout) {
			if rest, said := strings.CutPrefix(line, "lease: "); said {
				wellSaid(t, strings.TrimSuffix(strings.TrimPrefix(rest, "hint: "), "\n"))
			}
		}
	}
	return l.plain(b.String())
}

// wellSaid holds a message against the rules of speech: lower case, no full stop.
func wellSaid(t *testing.T, message string) {
	t.Helper()
	if message == "" || strings.HasSuffix(message, ".") || strings.HasSuffix(message, " ") {
		t.Errorf("ends badly: %q", message)
	}
	if regexp.MustCompile(`^\p{Lu}\p{Ll}`).MatchString(message) {
		t.Errorf("is not lower case: %q", message)
	}
}

var varying = []struct {
	pattern *regexp.Regexp
	plain   string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z`), "TIME"},
	{regexp.MustCompile(`\bpid \d+`), "pid PID"},
	{regexp.MustCompile(`\bprocess \d+`), "process PID"},
	{regexp.MustCompile(`\bwaited for [\d.]+m?s`), "waited for DURATION"},
	{regexp.MustCompile(`\bwithin [\d.]+m?s`), "within DURATION"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "ID"},
}

// plain replaces what differs from run to run and from machine to machine.
func (l *Ledger) plain(text string) string {
	l.t.Helper()
	me, err := user.Current()
	if err != nil {
		l.t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		l.t.Fatal(err)
	}
	text = strings.NewReplacer(l.Dir, "LEDGER", l.Work, "WORK", filepath.Dir(l.Dir), "TOP", binary(l.t), "lease", me.Username+"@"+host, "USER@HOST", "@"+host, "@HOST").Replace(text)
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.plain)
	}
	return text
}
