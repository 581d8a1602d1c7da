package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A snippet is a sh block of README.md, and the text block after it, if one follows: what the snippet prints.
type snippet struct {
	line         int
	script, want string
	checked      bool // a text block follows
}

// snippets reads the sh blocks of a page. A text block must follow one at once, with nothing but an empty line between.
func snippets(t *testing.T, path string) []snippet {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var found []snippet
	language, block, last := "", "", ""
	for i, line := range strings.Split(string(page), "\n") {
		switch {
		case language == "" && strings.HasPrefix(line, "```"):
			language, block = strings.TrimPrefix(line, "```"), ""
			if language != "sh" && language != "text" {
				t.Fatalf("%s:%d: a block of %q: only sh and text are checked", path, i+1, language)
			}
			if language == "text" && (last != "sh" || len(found) == 0) {
				t.Fatalf("%s:%d: a text block that follows no sh block", path, i+1)
			}
		case line == "```" && language == "sh":
			found = append(found, snippet{line: i + 1, script: block})
			language, last = "", "sh"
		case line == "```":
			found[len(found)-1].want, found[len(found)-1].checked = block, true
			language, last = "", "text"
		case language != "":
			block += line + "\n"
		case strings.TrimSpace(line) != "":
			last = ""
		}
	}
	return found
}

// gitIdentity is who commits in the snippets.
var gitIdentity = []string{"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com"}

// matches reports whether a snippet printed what its text block shows. "..." stands for the rest of a line or for some of it,
// on a line of its own for any number of lines.
func matches(want, got string) bool {
	pattern := regexp.QuoteMeta(want)
	pattern = regexp.MustCompile(`(?m)^\s*\\\.\\\.\\\.\n`).ReplaceAllString(pattern, `(?:.*\n)*?`)
	pattern = strings.ReplaceAll(pattern, `\.\.\.`, `.*`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(got)
}

// Every snippet of README.md works as it stands: those that name files of the repository in it, the others one after the other
// in an empty folder, as a user would type them.
func TestReadme(t *testing.T) {
	t.Parallel()
	needs(t, "jq", "flock", "git")
	l := NewLedger(t)
	root := abs(t, filepath.Join("..", ".."))
	all := snippets(t, filepath.Join(root, "README.md"))
	if len(all) < 10 {
		t.Fatalf("only %d snippets", len(all))
	}
	if !strings.HasPrefix(all[0].script, "go run") || all[1].script != "scripts/check\n" {
		t.Fatalf("the first two commands are not the main job and the tests:\n%s%s", all[0].script, all[1].script)
	}
	goEnv, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	caches := strings.Fields(string(goEnv))
	// The user's own place for a ledger, and nothing of the repository's, is what the snippets find.
	user := l.Env(append(gitIdentity, "LEASE_LEDGER=")...)
	inRepository := l.Env("GOCACHE="+caches[0], "GOMODCACHE="+caches[1], "GOFLAGS=-buildvcs=false").At(root)

	for _, s := range all {
		from := user
		if strings.Contains(s.script, "./cmd/lease") {
			from = inRepository
		} else if strings.HasPrefix(s.script, "scripts/") {
			continue // TestCheckCallsEverything, TestInstall
		}
		s.run(t, from, "README.md")
	}
}

const waitingLine = "lease: waiting, place "

// run runs a snippet and compares what it prints, errors too, with what the page shows.
func (s snippet) run(t *testing.T, from *Ledger, page string) {
	t.Helper()
	r := from.Sh("exec 2>&1\n" + s.script)
	if r.Code != 0 {
		t.Errorf("%s:%d: exit code %d\n%s%s", page, s.line, r.Code, s.script, r.Stdout)
	}
	if !strings.Contains(s.want, waitingLine) { // what is said after a second, on a slow machine
		r.Stdout = regexp.MustCompile("(?m)^"+waitingLine+".*\n").ReplaceAllString(r.Stdout, "")
	}
	if s.checked && !matches(s.want, r.Stdout) {
		t.Errorf("%s:%d: prints something else\n%s-- shown --\n%s-- printed --\n%s", page, s.line, s.script, s.want, r.Stdout)
	}
}

// The README's second command is this test among all others, so it cannot be run from here. It is run with a go that only notes what it is
// asked for, to show that it works from anywhere, looks at everything and fails when one part does.
func TestCheckCallsEverything(t *testing.T) {
	t.Parallel()
	root := abs(t, filepath.Join("..", ".."))
	for _, failing := range []string{"", "vet", "tool", "test"} {
		bin := t.TempDir()
		fake := "#!/bin/sh\n" +
			`echo "go $*" >>"$(dirname "$0")/log"` + "\n" +
			`case "$1" in "` + failing + `") exit 1;; esac` + "\n"
		for name, script := range map[string]string{"go": fake, "gofmt": "#!/bin/sh\n", "shellcheck": "#!/bin/sh\n"} {
			if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(filepath.Join(root, "scripts", "check"))
		cmd.Dir, cmd.Env = bin, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if (err != nil) != (failing != "") {
			t.Errorf("%q fails: %v\n%s", failing, err, out)
		}
		log, err := os.ReadFile(filepath.Join(bin, "log"))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, want := range []string{"go vet ./...", "staticcheck ./...", "./...\n"} {
			if !bytes.Contains(log, []byte(want)) {
				t.Errorf("scripts/check does not call %q\n%s%s", want, log, out)
			}
		}
		if !regexp.MustCompile(`(?m)^go test .*\./\.\.\.$`).Match(log) {
			t.Errorf("scripts/check does not test everything\n%s", log)
		}
	}
}
