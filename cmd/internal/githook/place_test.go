package githook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fslease/fslease"
)

func TestLinkedWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base()
	w.do("r", `git worktree add -q ../linked`)
	out, code := w.try("linked", `echo x >api/handler.go; git commit -qam m`)
	checkRefused(t, out, code, []string{"api/handler.go"})
	w.do("linked", `git restore .; echo x >docs/guide.md; git commit -qam m`)
	// What is staged and merged elsewhere is not this worktree's.
	w.do("r", `echo x >api/handler.go; git add .`)
	w.do("linked", `echo y >docs/guide.md; git commit -qam m`)
	w.do("r", `git restore --staged --worktree .; git checkout -qb side; echo x >api/handler.go; git commit -qnam s; git checkout -q main; git merge -q --no-ff --no-commit side`)
	out, code = w.try("linked", `echo x >api/handler.go; git commit -qam m`)
	checkRefused(t, out, code, []string{"api/handler.go"})
	w.do("r", `git commit -qm merged`)
}

func TestSubmodule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base()
	w.do(".", `git clone -q r inner; cd r; git submodule --quiet add ../inner api/sub; git commit -qnm sub`)
	w.hold(others("repo/api")...)
	// The bump, also where the repository hides it.
	for _, ignore := range []string{"none", "all"} {
		w.do("r", `git config -f .gitmodules submodule.api/sub.ignore `+ignore+`; git config submodule.api/sub.ignore `+ignore+`
			git add .gitmodules; git commit -qm ignore --allow-empty; git -C api/sub commit -q --allow-empty -m more; git add -f api/sub`)
		out, code := w.try("r", `git commit -qm bump`)
		checkRefused(t, out, code, []string{"api/sub"})
		w.do("r", `git commit -qnm bump`)
	}
	w.do(".", `git clone -q --bare r there.git; cd r; git remote add there ../there.git; git fetch -q there; git -C api/sub commit -q --allow-empty -m more; git add -f api/sub; git commit -qnm bump`)
	out, code := w.try("r", `git push -q there main`)
	checkRefused(t, out, code, []string{"api/sub"})
	report, err := w.repo("r").CheckScope(t.Context(), nil, "there/main")
	if err != nil || len(report.Outside) != 1 || report.Outside[0].Path != "api/sub" {
		t.Errorf("scope check says %v, %v", report, err)
	}

	// A commit in the submodule is the submodule's, under its own prefix.
	w.install("r/api/sub")
	w.do("r/api/sub", `git config lease.prefix inner; echo x >api/handler.go; git commit -qam m`)
	w.hold(others("inner/api")...)
	out, code = w.try("r/api/sub", `echo y >api/handler.go; git commit -qam m`)
	if code != 1 || !strings.Contains(out, "inner/api reserved by \"42\"\n") {
		t.Errorf("exit status %d:\n%s", code, out)
	}
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base()
	w.do("r", `git config lease.prefix web`)
	w.hold(others("repo/api", "webmail", "web/docs")...)
	w.do("r", `echo x >api/handler.go; git commit -qam m`)
	if out, code := w.try("r", `echo x >docs/guide.md; git commit -qam m`); code != 1 || !strings.Contains(out, "web/docs reserved by") {
		t.Errorf("exit status %d:\n%s", code, out)
	}
	w.hold(others("web")...)
	if out, code := w.try("r", `git commit -qam m`); code != 1 || !strings.Contains(out, "web reserved by") {
		t.Errorf("the whole repository is reserved: exit status %d:\n%s", code, out)
	}
	w.do("r", `git config lease.prefix /x`)
	if out, code := w.try("r", `git commit -qam m`); code != 1 || !strings.Contains(out, "lease.prefix") {
		t.Errorf("a prefix that is no key: exit status %d:\n%s", code, out)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	const commit = `echo x >>api/handler.go; git commit -qam m; git push -q`
	mine := fakeReservation{Key: "repo/api", Ticket: "41", Mine: true}
	damaged := fakeReservation{Key: "repo/api/handler.go", Broken: "leases/repo/api/handler.go.json is damaged"}
	tests := []struct {
		name   string
		ledger fakeLedger
		config string
		answer int    // of the hook
		says   string // nothing at all if empty
	}{
		{"no ledger", fakeLedger{Missing: true}, "", 0, ""},
		{"no ledger, strict", fakeLedger{Missing: true}, "git config lease.strict true", 0, ""},
		{"empty ledger", fakeLedger{}, "", 0, ""},
		{"a ledger that cannot be read", fakeLedger{Broken: "ledger.json is damaged"}, "", 74, "ledger.json is damaged\n"},
		{"the same, let pass", fakeLedger{Broken: "ledger.json is damaged"}, "git config lease.onError allow", 0, "ledger.json is damaged\n"},
		{"an unknown word for let pass", fakeLedger{Broken: "ledger.json is damaged"}, "git config lease.onError perhaps", 74, "cannot tell"},
		{"a damaged record in the way", fakeLedger{Held: []fakeReservation{damaged}}, "", 74, "repo/api/handler.go may be held"},
		{"a damaged record elsewhere", fakeLedger{Held: []fakeReservation{{Key: "repo/docs", Broken: "x"}}}, "", 0, ""},
		{"let pass does not reach what is known", fakeLedger{Held: append(others("repo/api"), damaged)}, "git config lease.onError allow", 1, "repo/api reserved by \"42\"\n"},
		{"mine", fakeLedger{Held: []fakeReservation{mine}}, "", 0, ""},
		{"mine, and somebody else's elsewhere", fakeLedger{Held: append(others("repo/docs"), mine)}, "", 0, ""},
		{"held by a process", fakeLedger{Held: []fakeReservation{{Key: "repo/api"}}}, "", 1, "lease: repo/api reserved by \"\"\n"},

		{"strict, in scope", fakeLedger{Own: "41", Scope: []fslease.Key{"repo/api"}}, "git config lease.strict true", 0, ""},
		{"strict, in a key of mine", fakeLedger{Held: []fakeReservation{mine}}, "git config lease.strict yes", 0, ""},
		{"strict, outside", fakeLedger{Own: "41", Scope: []fslease.Key{"repo/docs"}}, "git config lease.strict true", 1, "lease: outside the scope of \"41\"\nlease:   api/handler.go "},
		{"strict, no ticket", fakeLedger{}, "git config lease.strict true", 1, "lease: outside the scope of \"\""},
		{"not strict, outside", fakeLedger{Own: "41", Scope: []fslease.Key{"repo/docs"}}, "git config lease.strict false", 0, ""},
		{"strict, neither yes nor no", fakeLedger{}, "git config lease.strict perhaps", 74, "cannot tell"},
		{"strict, held by others", fakeLedger{Held: others("repo/api"), Own: "41"}, "git config lease.strict true", 1, "repo/api reserved by \"42\"\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.base()
			w.do("r", test.config)
			w.ledger = test.ledger
			w.saveLedger()
			// Git makes 1 of every exit status of a hook; asked directly it says which it is.
			if _, answer := w.try("r", `echo x >>api/handler.go; git add .; .git/hooks/pre-commit`); answer != test.answer {
				t.Errorf("the answer is %d, want %d", answer, test.answer)
			}
			out, code := w.try("r", commit)
			refused := test.answer != 0
			if (code != 0) != refused || !strings.Contains(out, test.says) || test.says == "" && out != "" {
				t.Errorf("commit: exit status %d, want an answer of %d, saying %q:\n%s", code, test.answer, test.says, out)
			}
			if refused {
				out, code := w.try("r", strings.Replace(commit, "-qam", "-qnam", 1))
				if code == 0 || !strings.Contains(out, test.says) && test.name != "strict, outside" {
					t.Errorf("push: exit status %d:\n%s", code, out)
				}
			}
		})
	}
}

func TestBypass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base()
	const bypassed = "bypassed=true"
	w.do("r", `echo x >docs/guide.md; git commit -qnam m`)
	w.do("r", `echo y >docs/guide.md; git commit -qam m`)
	if log := w.read("log"); strings.Contains(log, bypassed) || strings.Count(log, "prepare-commit-msg") != 2 {
		t.Errorf("nothing was bypassed, but the log is\n%s", log)
	}
	w.do("r", `echo x >api/handler.go; git commit -qnam m`)
	if log := w.read("log"); strings.Count(log, bypassed) != 1 {
		t.Errorf("the bypass is not seen:\n%s", log)
	}
	for _, answer := range []Answer{Allow, Refuse, CannotTell} {
		if (Result{Hook: PrepareCommitMsg, Answer: answer}).Refused() {
			t.Errorf("prepare-commit-msg refuses on answer %d", answer)
		}
	}
	w.ledger.Broken = "damaged"
	w.saveLedger()
	w.do("r", `echo y >api/handler.go; git commit -qnam m`)
	if log := w.read("log"); strings.Count(log, bypassed) != 1 {
		t.Errorf("what cannot be told is taken for a bypass:\n%s", log)
	}
}

func TestLeaseMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base()
	if err := os.Remove(filepath.Join(w.dir, "bin", "lease")); err != nil {
		t.Fatal(err)
	}
	if out, code := w.try("r", `command -v lease`); code == 0 {
		t.Skip("not run: needs a PATH without lease: there is " + out)
	}
	w.hold()
	out, code := w.try("r", `echo x >docs/guide.md; git commit -qam m`)
	if code == 0 || !strings.Contains(out, "lease: pre-commit: the command lease is not on PATH") || !strings.Contains(out, "git commit --no-verify") {
		t.Errorf("commit: exit status %d:\n%s", code, out)
	}
	w.do("r", `git commit -qnam m`)
	out, code = w.try("r", `git push -q`)
	if code == 0 || !strings.Contains(out, "lease: pre-push: the command lease is not on PATH") || !strings.Contains(out, "git push --no-verify") {
		t.Errorf("push: exit status %d:\n%s", code, out)
	}
	out = w.do("r", `git config lease.onError allow; echo y >docs/guide.md; git commit -qam m; git push -q`)
	if strings.Count(out, "the command lease is not on PATH") != 2 {
		t.Errorf("it is let pass, but not said:\n%s", out)
	}
}
