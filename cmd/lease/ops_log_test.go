package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestLog(t *testing.T) {
	t.Parallel()
	l := made(t)
	tokenOf(t, l, "repo/api")
	tokenOf(t, l, "repo2")
	all := l.Run("log").Want(t, 0)
	if strings.Count(all.Stdout, "\n") != 4 {
		t.Errorf("%v", all)
	}
	r := l.Run("log", "repo").Want(t, 0)
	lines := strings.Split(strings.TrimSuffix(r.Stdout, "\n"), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "\tgranted\trepo/api\t1\t") || !strings.Contains(lines[1], "\treleased\trepo/api\t1\t") {
		t.Errorf("%v", r)
	}
	for _, line := range lines {
		if strings.Count(line, "\t") != 6 {
			t.Errorf("want seven fields: %q", line)
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(l.Run("log", "--json").Want(t, 0).Stdout), "\n") {
		if e := parseRecord(t, "line", []byte(line)); e.Str("at") == "" || e.Str("event") == "" || e.Sub("by").Int("pid") == 0 {
			t.Errorf("%v", e)
		}
	}
	if r := l.Run("log", "--by", strconv.Itoa(os.Getpid())).Want(t, 0); r.Stdout != "" {
		t.Errorf("nothing was done by this process\n%v", r)
	}
	if r := l.Run("log", "--since", "1h").Want(t, 0); r.Stdout != all.Stdout {
		t.Errorf("%v", r)
	}
	if r := l.Run("log", "--since", "0s").Want(t, 0); r.Stdout != "" {
		t.Errorf("%v", r)
	}
	for _, args := range [][]string{{"log", "a", "b"}, {"log", "--since", "3"}, {"log", "/"}} {
		l.Run(args...).Want(t, 64)
	}

	months, err := filepath.Glob(filepath.Join(l.Dir, "journal", "*.jsonl"))
	if err != nil || len(months) != 1 {
		t.Fatal(months, err)
	}
	f, err := os.OpenFile(months[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(`{"at":"2026-`); err != nil {
		t.Fatal(err)
	}
	tokenOf(t, l, "later")
	r = l.Run("log").Want(t, 0).Says(t, "1 torn line")
	if strings.Count(r.Stdout, "\n") != 6 || strings.Count(r.Stdout, "\tlater\t") != 2 {
		t.Errorf("the torn line took others with it\n%v", r)
	}
}

// Somebody who follows sees what happens, until a signal ends it.
func TestLogFollow(t *testing.T) {
	t.Parallel()
	l := made(t)
	tokenOf(t, l, "before")
	p := l.Start("log", "--follow", "--json", "live")
	tokenOf(t, l, "before")
	tokenOf(t, l, "live/a")
	l.until("the events are told", func() bool { return strings.Count(p.Stdout(), "\n") == 2 })
	if out := p.Stdout(); strings.Contains(out, "before") || !strings.Contains(out, `"live/a"`) {
		t.Errorf("%s", out)
	}
	p.Signal(syscall.SIGINT)
	p.Wait().Want(t, 130)
}
