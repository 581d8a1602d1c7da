package githook

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fslease/fslease"
)

// snapshot describes every file below a directory of the world: mode, and content or target.
func (w *world) snapshot(dir string) string {
	w.t.Helper()
	var b strings.Builder
	root := filepath.Join(w.dir, dir)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			content = w.read(strings.TrimPrefix(path, w.dir))
		case info.Mode().Type() == fs.ModeSymlink:
			content, err = os.Readlink(path)
		}
		b.WriteString(strings.TrimPrefix(path, root) + " " + info.Mode().String() + "\n" + content + "\n")
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.String()
}

func (w *world) uninstall(dir string) Plan {
	w.t.Helper()
	plan, err := Uninstall(w.t.Context(), w.repo(dir))
	if err == nil {
		err = plan.Do()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return plan
}

// What was there comes back byte for byte, whatever it was.
func TestInstallUninstall(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]string{
		"no hooks":           ``,
		"no hooks directory": `rm -r .git/hooks`,
		"hooks":              `printf '#!/bin/sh\nexit 0\n\n' >.git/hooks/pre-commit; chmod 750 .git/hooks/pre-commit; printf '\377\000' >.git/hooks/pre-push; chmod 555 .git/hooks/pre-push`,
		"not executable":     `echo false >.git/hooks/pre-commit; chmod 600 .git/hooks/pre-commit`,
		"links":              `mkdir tools; echo exit 0 >tools/hook; chmod +x tools/hook; ln -s ../../tools/hook .git/hooks/pre-commit; ln -s nowhere .git/hooks/pre-push`,
		"a link to ours":     `ln -s "$HOME/ours" .git/hooks/pre-commit`,
		"empty":              `: >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`,
		"linked directory":   `mv .git/hooks shared; ln -s ../shared .git/hooks; echo exit 0 >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.do(".", "git init -q r")
			w.write("ours", script(PreCommit))
			w.do("r", setup)
			before := w.snapshot("r")
			if _, err := Install(t.Context(), w.repo("r")); err != nil {
				t.Fatal(err)
			}
			if w.snapshot("r") != before {
				t.Error("planning changed something")
			}
			w.install("r")
			installed := w.snapshot("r")
			for _, name := range Names {
				hook, err := readHook(filepath.Join(w.dir, "r/.git/hooks"), name)
				if err != nil || !hook.ours || hook.mode.Perm() != 0o755 {
					t.Errorf("%s is %+v, %v", name, hook, err)
				}
			}
			w.install("r")
			if w.snapshot("r") != installed {
				t.Error("installing again changed something")
			}
			w.do("r", "git commit -q --allow-empty -m m; rm -r .git/objects/* .git/refs/* .git/COMMIT_EDITMSG .git/index .git/logs; mkdir .git/objects/info .git/objects/pack .git/refs/heads .git/refs/tags")
			w.uninstall("r")
			after := w.snapshot("r")
			if name == "no hooks directory" { // it stays, empty
				after = strings.Replace(after, "/.git/hooks drwxr-xr-x\n\n", "", 1)
			}
			if after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if plan := w.uninstall("r"); len(plan.Steps) > 0 {
				t.Errorf("there is something left to uninstall: %v", plan.Steps)
			}
		})
	}
}

func TestInstallReplacesOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do(".", "git init -q r; echo exit 0 >r/.git/hooks/pre-commit; chmod +x r/.git/hooks/pre-commit")
	w.install("r")
	current := w.read("r/.git/hooks/pre-commit")
	w.write("r/.git/hooks/pre-commit", strings.Replace(current, "lease hook run", "lease old", 1))
	w.install("r")
	if w.read("r/.git/hooks/pre-commit") != current || w.read("r/.git/hooks/pre-commit.lease-prev") != "exit 0\n" {
		t.Error(w.snapshot("r/.git/hooks"))
	}
}

// After a crash between the two renames, and after somebody else wrote a hook over ours.
func TestInstallHalf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do(".", "git init -q r; echo exit 0 >r/.git/hooks/pre-commit; chmod +x r/.git/hooks/pre-commit")
	before := w.snapshot("r")
	w.do("r/.git/hooks", "mv pre-commit pre-commit.lease-prev")
	w.uninstall("r")
	if w.snapshot("r") != before {
		t.Error("the hook did not come back")
	}
	w.do("r/.git/hooks", "mv pre-commit pre-commit.lease-prev")
	w.install("r")
	w.uninstall("r")
	if w.snapshot("r") != before {
		t.Error("the hook did not come back after another install")
	}

	w.install("r")
	w.write("r/.git/hooks/pre-commit", "exit 1\n")
	both := w.snapshot("r")
	if _, err := Install(t.Context(), w.repo("r")); !errors.Is(err, fslease.ErrConfig) || !strings.Contains(err.Error(), "pre-commit.lease-prev stands beside it") {
		t.Errorf("two hooks: %v", err)
	}
	if w.snapshot("r") != both {
		t.Error("a refused install changed something")
	}
	if plan := w.uninstall("r"); len(plan.Notes) != 1 || w.read("r/.git/hooks/pre-commit") != "exit 1\n" || w.read("r/.git/hooks/pre-commit.lease-prev") != "exit 0\n" {
		t.Errorf("%+v\n%s", plan, w.snapshot("r/.git/hooks"))
	}
}

func TestInstallFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do(".", "git init -q r; echo exit 0 >r/.git/hooks/pre-commit; mkdir r/.git/hooks/pre-push")
	before := w.snapshot("r")
	if _, err := Install(t.Context(), w.repo("r")); !errors.Is(err, fslease.ErrConfig) || !strings.Contains(err.Error(), "pre-push") {
		t.Errorf("a directory for a hook: %v", err)
	}
	step := Step{Hook: PreCommit, Path: filepath.Join(w.dir, "r/.git/hooks/pre-commit"), To: filepath.Join(w.dir, "nowhere/x"), Text: script(PreCommit)}
	if err := (Plan{Steps: []Step{step}}).Do(); err == nil {
		t.Error("a rename to nowhere passed")
	}
	if w.snapshot("r") != before {
		t.Error("a failed step left something behind")
	}
}

// The hook that was there is asked first, as git asked it.
func TestPreviousHook(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, hook, script string
		code               int
		says               []string
		asked              int // how often lease is
	}{
		{"ends in exec", "#!/bin/sh\nexec sh -c 'echo previous says \"$@\"' x \"$@\"\n", "", 0, []string{"previous says"}, 3},
		{"finds its directory by $0", "#!/bin/sh\n. \"$(dirname \"$0\")/helper\"\n", `echo 'echo helper says "$@"' >.git/hooks/helper`, 0, []string{"helper says"}, 3},
		{"reads itself by $0", "#!/bin/sh\nsed -n 's/^#: //p' \"$0\"\nexit\n#: data of its own\n", "", 0, []string{"data of its own"}, 3},
		{"reads no stdin", "#!/bin/sh\nexit 0\n", "", 0, nil, 3},
		{"reads stdin", "#!/bin/sh\nwhile read -r line; do echo \"line $line.\"; done\n", "", 0, []string{"line refs/heads/main "}, 3},
		{"has no #! line", "echo previous\n", "", 0, []string{"previous"}, 3},
		{"is another language's", "#!/usr/bin/env perl\nprint STDERR \"perl @ARGV\\n\";\n", "", 0, []string{"perl .git/COMMIT_EDITMSG message"}, 3},
		{"runs in the same directory", "#!/bin/sh\npwd; test -d api\n", "", 0, nil, 3},
		{"is not executable", "#!/bin/sh\nexit 1\n", "chmod -x .git/hooks/*", 0, nil, 3},
		{"gets its arguments", "#!/bin/sh\nfor a in \"$@\"; do echo \"<$a>\"; done\n", "", 0, []string{"<origin>", "<.git/COMMIT_EDITMSG>", "<message>"}, 3},
		{"refuses", "#!/bin/sh\necho no; exit 7\n", "", 1, []string{"no"}, 0},
		{"is killed", "#!/bin/sh\nkill -9 $$\n", "", 1, nil, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.base()
			w.hold(others("repo/other")...)
			w.uninstall("r")
			for _, name := range Names {
				w.write("r/.git/hooks/"+name, test.hook)
			}
			w.do("r", "chmod +x .git/hooks/*; "+test.script)
			w.install("r")
			out, code := w.try("r", `echo x >api/handler.go; git commit -qam m; git push -q`)
			if code != test.code {
				t.Errorf("exit status %d, want %d", code, test.code)
			}
			for _, says := range test.says {
				if !strings.Contains(out, says) {
					t.Errorf("it does not say %q", says)
				}
			}
			if asked := strings.Count(w.read("log"), "ran "); asked != test.asked {
				t.Errorf("lease was asked %d times, want %d", asked, test.asked)
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// pre-push gets exactly what git wrote, however much it is, and lease gets it too.
func TestPreviousHookStdin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base()
	w.uninstall("r")
	w.write("r/.git/hooks/pre-push", "#!/bin/sh\ncat >>\"$HOME/stdin\"; echo end >>\"$HOME/stdin\"\n")
	w.do("r", "chmod +x .git/hooks/pre-push; git push -q")
	direct := w.read("stdin")
	w.install("r")
	w.do("r", "git push -q")
	if got := w.read("stdin"); got != direct+direct || !strings.Contains(direct, "end\n") {
		t.Errorf("nothing to push: %q became %q", direct, strings.TrimPrefix(got, direct))
	}
	w.do("r", "rm ~/stdin; for i in $(seq 2000); do echo create refs/tags/t$i HEAD; done | git update-ref --stdin; git push -q --tags")
	if got := w.read("stdin"); strings.Count(got, "\n") != 2001 || !strings.HasSuffix(got, "\nend\n") {
		t.Errorf("2000 refs became %d bytes in %d lines", len(got), strings.Count(got, "\n"))
	}
	w.do("r", "echo x >api/handler.go; git commit -qnam m; for i in $(seq 2000); do echo create refs/tags/u$i HEAD; done | git update-ref --stdin")
	out, code := w.try("r", "git push -q --tags")
	checkRefused(t, out, code, []string{"api/handler.go"})
}

func TestOwnName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"exec true\n": false,
		`. "$(dirname "$0")/h"; . $(dirname $0)/i`: false,
		`. "$(dirname -- "${0}")/h"`:               false,
		"cd `dirname\t--  $0`":                     false,
		`cd "$(dirname "$0")"; exec "$0" again`:    true,
		`$(dirname"$0") $(dirname --"$0")`:         true,
		`$(dirname -- x -- "$0")`:                  true,
		"$0":                                       true,
		"$":                                        false,
		`case $(basename "$0") in`:                 true,
		`run-parts "$0.d"`:                         true,
		`name=${0##*/}`:                            true,
	} {
		if got := (hookFile{text: text}).readsOwnName(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	w := newWorld(t)
	w.do(".", "git init -q r")
	w.write("r/.git/hooks/pre-push", "#!/bin/sh\nrun-parts \"$0.d\"\n")
	if plan := w.install("r"); len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "$0") {
		t.Errorf("the user is not told: %v", plan.Notes)
	}
}
