package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What a page needs beside sh. Programs that stand in for others lie in testdata/bin.
var pageNeeds = map[string][]string{
	"agents.md":   {"git", "jq"},
	"flock.md":    {"flock"},
	"jobs.md":     {"make", "systemd-analyze"},
	"operator.md": {"jq"},
	"sharing.md":  {"root", "setpriv", "unshare"},
}

// Every snippet of docs/ works as it stands: those of a page one after the other in an empty folder, as a user would type them.
func TestDocs(t *testing.T) {
	t.Parallel()
	root := abs(t, filepath.Join("..", ".."))
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) != len(pageNeeds) {
		t.Fatalf("%v: %q", err, pages)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages {
		name := filepath.Base(path)
		if !strings.Contains(string(readme), "(docs/"+name) {
			t.Errorf("README.md has no link to docs/%s", name)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, pageNeeds[name]...)
			all := snippets(t, path)
			if len(all) < 3 {
				t.Fatalf("only %d snippets", len(all))
			}
			l := NewLedger(t)
			l.Open()
			path := filepath.Join(root, "testdata", "bin") + ":" + filepath.Dir(binary(t)) + ":" + os.Getenv("PATH")
			l = l.Env(append(gitIdentity, "LEASE_LEDGER=", "PATH="+path)...)
			for _, s := range all {
				s.run(t, l, "docs/"+name)
			}
		})
	}
}

// Each row of the table for those who come from flock(1) is true: both commands do the same on a free key, and both refuse a
// held one where they do not wait without limit.
func TestFlockTable(t *testing.T) {
	t.Parallel()
	needs(t, "flock")
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "flock.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `(flock .*)` \\| `(lease .*)` \\| .*\\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 9 {
		t.Fatalf("only %d rows", len(rows))
	}
	l := NewLedger(t)
	var refusing [][]string
	for _, row := range rows {
		old, now := l.Sh(row[1]), l.Sh(row[2])
		if old.Code != 0 || now.Code != 0 || old.Stdout != now.Stdout {
			t.Errorf("they differ on a free key\n%v\n%v", old, now)
		}
		if words := strings.Fields(row[1]); slices.Contains(words, "-n") || slices.Contains(words, "-w") {
			refusing = append(refusing, row)
		}
	}
	hold(l, "job")
	l.StartSh("exec flock job.lock sh -c 'echo $$ >locked; sleep 600'")
	l.UntilFile("locked")
	for _, row := range refusing {
		old, now := l.Sh(row[1]), l.Sh(row[2])
		want := [2]int{1, 75}
		if strings.Contains(row[1], "-E 9") {
			want = [2]int{9, 9}
		}
		if [2]int{old.Code, now.Code} != want || old.Stdout+now.Stdout != "" {
			t.Errorf("want %v on a held key\n%v\n%v", want, old, now)
		}
	}
}
