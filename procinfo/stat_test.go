package procinfo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const fixtures procfs = "../testdata/proc/tree"

func TestStat(t *testing.T) {
	for pid, want := range map[string]stat{
		"1":    {"init", 'S', 0, 26},
		"2":    {"kworker/0:1-events", 'I', 0, 27},
		"900":  {"a) S 1 (b", 'S', 1, 168725},
		"4242": {"two\nlines", 'Z', 900, 168725},
		"4243": {")))", 'T', 4242, 1<<53 - 1},
	} {
		if got, err := fixtures.stat(pid); err != nil || got != want {
			t.Errorf("%s: %+v, %v, not %+v", pid, got, err, want)
		}
	}
	if _, err := fixtures.stat("5"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that is not there: %v", err)
	}
}

func TestBrokenStat(t *testing.T) {
	const broken procfs = "../testdata/proc/broken"
	cases, err := os.ReadDir(string(broken))
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases: ", err)
	}
	for _, c := range cases {
		if st, err := broken.stat(c.Name()); err == nil || !strings.Contains(err.Error(), filepath.Join(c.Name(), "stat: ")) {
			t.Errorf("%s: %+v, %v", c.Name(), st, err)
		}
	}
}

func TestStatus(t *testing.T) {
	if uids, err := fixtures.status("self", "Uid"); err != nil || strings.Join(uids, " ") != "1000 0 0 0" {
		t.Errorf("%q, %v", uids, err)
	}
	if words, err := fixtures.status("self", "VmPeak"); err == nil {
		t.Errorf("a missing field: %q", words)
	}
}

func TestDescribe(t *testing.T) {
	id := Identity{PID: 4243}
	if err := fixtures.describe(&id); err != nil {
		t.Fatal(err)
	}
	if id.StartTime != 1<<53-1 || id.UID != 1000 || !slices.Equal(id.Command, []string{"lease", "run", "", "two words"}) || id.Cwd != "" {
		t.Errorf("%+v", id)
	}
}

// In the /proc of a parent namespace a process has two numbers, and the first may happen to be ours.
func TestForeignProc(t *testing.T) {
	me := itoa(os.Getpid())
	before := "Name:\tx\nGroups:\t" + strings.Repeat("4294967294 ", 65536) + "\nNSpid:\t"
	for pids, own := range map[string]bool{me: true, me + "\t" + me: false, me + "7": false, me + "7\t" + me: false, "": false} {
		root := t.TempDir()
		if err := os.Mkdir(filepath.Join(root, "self"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "self/status"), []byte(before+pids+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := procfs(root).checkOwn(); (err == nil) != own {
			t.Errorf("NSpid %q: %v", pids, err)
		}
	}
}

// Whatever the name, the fields behind it are found.
func FuzzParseStat(f *testing.F) {
	files, err := filepath.Glob("../testdata/proc/*/*/stat")
	if err != nil || len(files) == 0 {
		f.Fatal("no fixtures: ", err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line, "sleep")
	}
	f.Fuzz(func(t *testing.T, line []byte, name string) {
		st, err := parseStat(line)
		if err != nil {
			return
		}
		rest := line[strings.LastIndexByte(string(line), ')')+1:]
		got, err := parseStat([]byte("1 (" + name + ")" + string(rest)))
		st.name = name
		if err != nil || got != st {
			t.Errorf("named %q: %+v, %v, not %+v", name, got, err, st)
		}
	})
}
