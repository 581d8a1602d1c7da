package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// installed lists the files below dir, with their modes.
func installed(t *testing.T, dir string) map[string]os.FileMode {
	t.Helper()
	files := map[string]os.FileMode{}
	for path, info := range walked(t, dir) {
		if !info.IsDir() {
			files[path] = info.Mode().Perm()
		}
	}
	return files
}

// walked lists everything below dir.
func walked(t *testing.T, dir string) map[string]os.FileInfo {
	t.Helper()
	all := map[string]os.FileInfo{}
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && path != dir {
			all[strings.TrimPrefix(path, dir+"/")] = info
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// scripts/install puts the binary, a completion for each shell and the man page below a prefix, where everybody can use them, and takes
// away just these.
func TestInstall(t *testing.T) {
	t.Parallel()
	needs(t, "go", "bash", "git")
	root := abs(t, filepath.Join("..", ".."))
	script := filepath.Join(root, "scripts", "install")
	run := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command("sh", append([]string{"-c", `umask 077; exec "$@"`, "sh", script}, args...)...)
		cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "GOFLAGS=-buildvcs=false")
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("%q: exit code %d, want %d\n%s", args, code, want, out)
		}
		return string(out)
	}
	dest := t.TempDir()
	for _, args := range [][]string{{"--prefix", "relative"}, {"--prefix"}, {"--frobnicate"}, {"--uninstall", "extra"}} {
		code := 64
		if len(args) == 1 && args[0] == "--prefix" {
			code = 1 // the shell's own complaint
		}
		run(code, args...)
	}
	if left := walked(t, dest); len(left) > 0 {
		t.Fatalf("%v", left)
	}

	said := run(0, "--prefix", "/opt/lease", "--destdir", dest)
	want := map[string]os.FileMode{
		"opt/lease/bin/lease": 0o755, "opt/lease/share/man/man1/lease.1": 0o644, "opt/lease/share/bash-completion/completions/lease": 0o644,
		"opt/lease/share/zsh/site-functions/_lease": 0o644, "opt/lease/share/fish/vendor_completions.d/lease.fish": 0o644,
	}
	got := installed(t, dest)
	for path, mode := range want {
		if got[path] != mode {
			t.Errorf("%s has mode %o, want %o", path, got[path], mode)
		}
		if !strings.Contains(said, "/"+path+"\n") {
			t.Errorf("it does not say that it installed %s\n%s", path, said)
		}
	}
	if len(got) != len(want) {
		t.Errorf("it installed %v", got)
	}
	for path, info := range walked(t, dest) {
		if info.IsDir() && info.Mode().Perm() != 0o755 {
			t.Errorf("folder %s has mode %o", path, info.Mode().Perm())
		}
	}

	// What is installed is what the binary itself prints, and it says of which version and commit it is.
	l := NewLedger(t)
	binary := filepath.Join(dest, "opt/lease/bin/lease")
	for path, args := range map[string][]string{
		"share/man/man1/lease.1": {"help", "--man"}, "share/bash-completion/completions/lease": {"completion", "bash"},
		"share/zsh/site-functions/_lease": {"completion", "zsh"}, "share/fish/vendor_completions.d/lease.fish": {"completion", "fish"},
	} {
		content, err := os.ReadFile(filepath.Join(dest, "opt/lease", path))
		if err != nil {
			t.Fatal(err)
		}
		if r := l.start(nil, slices.Concat([]string{binary}, args)...).Wait().Want(t, 0); r.Stdout != string(content) || r.Stdout == "" {
			t.Errorf("%s is not what lease prints\n%s", path, content)
		}
	}
	commit := ""
	if head, err := exec.Command("git", "-C", root, "rev-parse", "--short=12", "HEAD").Output(); err == nil { // not in an archive
		commit = ` \(commit ` + strings.TrimSpace(string(head)) + `\)`
	}
	version := l.start(nil, binary, "--version").Wait().Want(t, 0).Stdout
	if !regexp.MustCompile(`^lease \d+\.\d+\.\d+` + commit + `\n$`).MatchString(version) {
		t.Errorf("version %q, the commit is %q", version, commit)
	}
	changes, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil || !strings.Contains(string(changes), "## "+strings.Fields(version)[1]) {
		t.Errorf("CHANGELOG.md says nothing of version %q, %v", version, err)
	}

	// It takes away its own files, whatever else is there.
	others := filepath.Join(dest, "opt/lease/bin/other")
	if err := os.WriteFile(others, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	run(0, "--uninstall", "--prefix", "/opt/lease", "--destdir", dest)
	if left := installed(t, dest); len(left) != 1 || left["opt/lease/bin/other"] == 0 {
		t.Errorf("it left %v", left)
	}
	run(0, "--uninstall", "--prefix", "/opt/lease", "--destdir", dest) // nothing is there: nothing to do
}
