package githook

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"fslease/fslease"
)

// checkStatus checks what is said of pre-commit in each worktree: WORKTREE ok|no WORDS-OF-THE-REASON.
func (w *world) checkStatus(dir string, want ...string) {
	w.t.Helper()
	all, err := Status(w.t.Context(), w.repo(dir))
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		if s.Hook != PreCommit {
			continue
		}
		word := "no"
		if s.OK {
			word = "ok"
		}
		got = append(got, filepath.Base(s.Worktree)+" "+word+" "+s.Reason)
	}
	if len(all) != len(Names)*len(want) || len(got) != len(want) {
		w.t.Fatalf("%d worktrees, got %q", len(want), got)
	}
	for i := range got {
		worktree, reason, _ := strings.Cut(want[i], ": ")
		if !strings.HasPrefix(got[i], worktree) || !strings.Contains(got[i], reason) {
			w.t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base()
	w.do("r", `git worktree add -q ../linked; git worktree add -q ../gone; rm -r ../gone`)
	w.checkStatus("linked", "r ok: git runs it", "linked ok: git runs it")
	all, err := Status(t.Context(), w.repo("r"))
	if err != nil || all[0].Lease != filepath.Join(w.dir, "bin/lease") || all[0].Previous != "" || all[0].Path != filepath.Join(w.dir, "r/.git/hooks/pre-commit") {
		t.Errorf("%+v, %v", all[0], err)
	}

	// A relative core.hooksPath leaves the linked worktree without hooks.
	w.do("r", `git config core.hooksPath .git/hooks`)
	w.checkStatus("r", "r ok: git runs it", "linked no: core.hooksPath is relative (.git/hooks)")
	w.do("linked", `git commit -q --allow-empty -m m`)
	if log := w.read("log"); log != "" {
		t.Errorf("status says that nothing runs, but\n%s", log)
	}
	w.do("r", `git config core.hooksPath .githooks; mkdir .githooks; cp .git/hooks/p* .githooks; git add .; git commit -qnm hooks; git -C ../linked merge -q main`)
	w.checkStatus("r", "r ok: git runs it", "linked ok: git runs it")
	w.do("r", `git config core.hooksPath /dev/null`)
	w.checkStatus("r", "r no: there is no hook", "linked no: there is no hook")
	if _, err := Install(t.Context(), w.repo("r")); !errors.Is(err, fslease.ErrConfig) {
		t.Errorf("hooks are switched off: %v", err)
	}
	w.do("r", `git config --unset core.hooksPath; git config --global core.hooksPath ~/hooks`)
	w.checkStatus("r", "r no: there is no hook", "linked no: there is no hook")
}

// A worktree is asked about its own configuration, wherever the question comes from.
func TestStatusFromHook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base()
	w.do("r", `git worktree add -q ../linked; git config extensions.worktreeConfig true; git config --worktree core.hooksPath /nowhere`)
	w.env = append(w.env, "GIT_DIR="+w.dir+"/r/.git", "GIT_INDEX_FILE="+w.dir+"/r/.git/index")
	w.checkStatus("r", "r no: there is no hook", "linked ok: git runs it")
}

func TestStatusHook(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ script, want string }{
		"not executable":            {`chmod -x .git/hooks/*`, "r no: it is not executable"},
		"removed":                   {`rm .git/hooks/*`, "r no: there is no hook"},
		"a link to nothing":         {`ln -sf nowhere .git/hooks/pre-commit`, "r no: there is no hook"},
		"another's":                 {`printf '#!/bin/sh\ntouch ran\n' >.git/hooks/pre-commit`, "r no: it is not lease's"},
		"another's that asks us":    {`printf '#!/bin/sh\nlease hook run pre-commit "$@"\n' >.git/hooks/pre-commit`, "r ok: it has lease hook run pre-commit"},
		"lefthook's":                {`printf '#!/bin/sh\ncall_lefthook\n' >.git/hooks/pre-commit; mkdir -p .lefthook/pre-commit; echo 'lease hook run pre-commit' >.lefthook/pre-commit/lease`, "r ok: .lefthook/pre-commit/lease has lease hook run pre-commit"},
		"husky's, without our call": {`mkdir .husky; echo lint >.husky/pre-commit; printf '#!/bin/sh\n. ./h\n' >.git/hooks/pre-commit`, "r no: it is not lease's"},
		"with a previous one":       {`echo exit 1 >.git/hooks/pre-commit.lease-prev; chmod +x .git/hooks/pre-commit.lease-prev`, "r ok: git runs it"},
		"cannot be run":             {`sed -i 's/^if .*--lease-probe.*/exit 5/' .git/hooks/pre-commit`, "r no: git does not run it"},
		"lease is missing":          {`rm ~/bin/lease`, "r no: it finds no lease by PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.base()
			w.do("r", test.script)
			if name == "lease is missing" {
				if out, code := w.try("r", `command -v lease`); code == 0 {
					t.Skip("not run: needs a PATH without lease: there is " + out)
				}
			}
			w.checkStatus("r", test.want)
			if w.read("r/ran") != "" || w.read("log") != "" {
				t.Error("status ran somebody's hook, or asked lease")
			}
		})
	}
}

func TestStatusBare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base()
	w.do(".", `git clone -q --bare r bare.git; git -C bare.git worktree add -q ../linked main`)
	w.install("linked")
	w.checkStatus("linked", "linked ok: git runs it")
	w.checkStatus("bare.git", "linked ok: git runs it")
	w.uninstall("bare.git")
	w.install("bare.git")
	w.hold(others("repo/api")...)
	out, code := w.try("linked", `echo x >api/handler.go; git commit -qam m`)
	checkRefused(t, out, code, []string{"api/handler.go"})
}
