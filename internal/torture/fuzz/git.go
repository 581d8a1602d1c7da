package fuzz

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"fslease/internal/torture/kit"
)

// pieces are what paths are made of here.
var pieces = []string{
	"a", "b", "api", "api2", "-", "--", "\n", "\t", "\x7f", "\x01", "\xff", "\xc3", "é", "日", "\"", "\\", "\\xff", "%2F", " ", "M", "A",
	"0123456789abcdef0123456789abcdef01234567", ".", "..x", "\u202e", "*", ":(top)", "~", "$x",
}

// git stages files of any names while somebody holds a directory, and tells pre-push any lines. What lies in the
// directory is refused, all else passes; what is no line of git's is never taken for nothing to push.
func git(t *kit.T, n int) {
	l := t.Ledger()
	defer l.Close()
	run := func(args ...string) (string, error) {
		cmd := exec.Command("git", args...)
		cmd.Dir = l.Work
		cmd.Env = append(l.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e")
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	commit := ""
	_, err := run("init", "-q")
	if err == nil {
		_, err = run("commit", "-q", "--allow-empty", "-m", "first")
	}
	if err == nil {
		commit, err = run("rev-parse", "HEAD")
	}
	if r := l.Run("acquire", "--ttl", "1h", "repo/api"); err != nil || r.Code != 0 {
		t.Violate("a repository: %v, %v", err, r)
		return
	}
	for _, beside := range []string{"api\nx", "api\xff", "api\xff/b"} { // read carelessly, they are api
		staged(t, l, run, beside)
	}
	for i := range n {
		if t.Ended() {
			return
		}
		if i%2 == 0 {
			staged(t, l, run, anyPath(t))
		} else {
			pushed(t, l, commit)
		}
		t.Made("paths and pushes", 1)
	}
}

func anyPath(t *kit.T) string {
	var name strings.Builder
	if t.IntN(2) == 0 {
		name.WriteString("api/")
	}
	for range 1 + t.IntN(5) {
		name.WriteString(pieces[t.IntN(len(pieces))])
		if t.IntN(4) == 0 {
			name.WriteString("/")
		}
	}
	return name.String()
}

func staged(t *kit.T, l *kit.Ledger, run func(...string) (string, error), name string) {
	path := filepath.Clean(strings.TrimRight(name, "/"))
	full := filepath.Join(l.Work, path)
	if !filepath.IsLocal(path) || path == "." || os.MkdirAll(filepath.Dir(full), 0o755) != nil || os.WriteFile(full, nil, 0o644) != nil {
		return // no name of a file
	}
	inside := path == "api" || strings.HasPrefix(path, "api/")
	out, err := run("--literal-pathspecs", "add", "--", path)
	if err == nil {
		r := l.Run("hook", "run", "pre-commit")
		if want := map[bool]int{true: 1, false: 0}[inside]; r.Code != want {
			t.Violate("%q is staged, repo/api is held by somebody else: want exit %d\n%v", path, want, r)
		}
		if inside && strings.ContainsFunc(strings.ReplaceAll(r.Stderr, "\n", ""), func(c rune) bool { return c < ' ' || c == 0x7f || c == '\u202e' }) {
			t.Violate("%q is staged, and commands the terminal: %q", path, r.Stderr)
		}
		out, err = run("rm", "-r", "-q", "--cached", "--", ".")
	}
	if err != nil {
		t.Violate("git: %v %s", err, out)
	}
	top, _, _ := strings.Cut(path, "/")
	_ = os.RemoveAll(filepath.Join(l.Work, top))
}

func isID(s string) bool { return len(s) == 40 && strings.Trim(s, "0123456789abcdef") == "" }

func pushed(t *kit.T, l *kit.Ledger, commit string) {
	var lines strings.Builder
	wrong := false
	for range 1 + t.IntN(3) {
		fields := []string{"refs/heads/main", commit, "refs/heads/main", strings.Repeat("0", 40)}
		if t.IntN(2) == 0 { // any bytes in place of one id
			bad := ""
			for range t.IntN(4) {
				bad += pieces[t.IntN(len(pieces)-1)]
			}
			id := 1 + 2*t.IntN(2)
			fields[id] = bad
			wrong = wrong || id == 1 || !isID(bad) // the remote may have a commit that is not here
		}
		fmt.Fprintln(&lines, strings.Join(fields, " "))
	}
	file := filepath.Join(l.Dir, "..", "stdin")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Violate("%v", err)
		return
	}
	r := l.Sh(`lease hook run pre-push origin /nowhere <"$1"`, file)
	if r.Hung || r.Code < 0 || wrong != (r.Code == 74) || !wrong && r.Code != 0 {
		t.Violate("git tells pre-push %q, wrong: %v\n%v", lines.String(), wrong, r)
	}
}
