package githook

import (
	"slices"
	"strings"
	"testing"
)

// Each script runs in a repository with api/handler.go and docs/guide.md, where the ticket 42 of somebody
// else has repo/api. Its last command is the one that counts: refused names the paths for which it must be
// refused, none that it must pass.
func TestCommit(t *testing.T) {
	tests := []struct {
		name    string
		script  string
		refused []string
	}{
		{"inside", `echo x >api/handler.go; git add .; git commit -qm m`, []string{"api/handler.go"}},
		{"outside", `echo x >docs/guide.md; git add .; git commit -qm m`, nil},
		{"a name that begins alike", `mkdir api2; echo x >api2/a; git add .; git commit -qm m`, nil},
		{"from a subdirectory", `cd docs; echo x >../api/handler.go; git add ../api; git commit -qm m`, []string{"api/handler.go"}},
		{"only what is staged", `echo x >api/handler.go; echo x >docs/guide.md; git add docs; git commit -qm m`, nil},
		{"commit -a", `echo x >api/handler.go; git commit -qam m`, []string{"api/handler.go"}},
		{"commit -- path takes nothing else", `echo x >api/handler.go; echo x >docs/guide.md; git add .; git commit -qm m -- docs`, nil},
		{"commit -- path inside", `echo x >api/handler.go; echo x >docs/guide.md; git commit -qm m -- api`, []string{"api/handler.go"}},
		{"commit -p", `echo x >>api/handler.go; echo y | git commit -q -p -m m`, []string{"api/handler.go"}},
		{"commit -p outside", `echo x >>api/handler.go; echo x >>docs/guide.md; printf 'n\ny\n' | git commit -q -p -m m`, nil},
		{"amend of a message", `git commit -q --amend -m other`, nil},
		{"amend", `echo x >>api/handler.go; git add .; git commit -q --amend -m m`, []string{"api/handler.go"}},
		{"empty", `git commit -q --allow-empty -m m`, nil},
		{"first commit", `git checkout -q --orphan new; git commit -qm m`, []string{"api/handler.go"}},
		{"first commit outside", `git checkout -q --orphan new; git rm -q --cached -r api; git commit -qm m`, nil},
		{"announced with add -N", `echo x >api/new; git add -N api/new; echo x >docs/guide.md; git add docs; git commit -qm m`, nil},
		{"announced with add -N and taken by commit -a", `echo x >api/new; git add -N api/new; git commit -qam m`, []string{"api/new"}},

		{"rename out", `git mv api/handler.go docs/handler.go; git commit -qm m`, []string{"api/handler.go"}},
		{"rename into", `git mv docs/guide.md api/guide.md; git commit -qm m`, []string{"api/guide.md"}},
		{"rename within", `git mv api/handler.go api/other.go; git commit -qm m`, []string{"api/handler.go", "api/other.go"}},
		{"rename outside", `git mv docs/guide.md docs/other.md; git commit -qm m`, nil},
		{"case-only rename", `git mv api/handler.go api/Handler.go; git commit -qm m`, []string{"api/handler.go", "api/Handler.go"}},
		{"case-only rename of the directory", `git mv api tmp; git mv tmp API; git commit -qm m`, []string{"api/handler.go"}},
		{"delete", `git rm -q api/handler.go; git commit -qm m`, []string{"api/handler.go"}},
		{"mode", `chmod +x api/handler.go; git commit -qam m`, []string{"api/handler.go"}},
		{"file to symlink", `ln -sf x api/handler.go; git commit -qam m`, []string{"api/handler.go"}},
		{"file to symlink and back", `ln -sf x api/handler.go; git commit -qnam m; rm api/handler.go; echo x >api/handler.go; git commit -qam m`, []string{"api/handler.go"}},
		{"directory to file", `git rm -rq api; echo x >api; git add .; git commit -qm m`, []string{"api", "api/handler.go"}},
		{"a file above reserved keys", `git rm -rqf api; git commit -qnm m; echo x >api; git add .; git commit -qm m`, []string{"api"}},

		{"space, tab, quote, backslash", `cd api; for f in 'a b' "$(printf 'a\tb')" 'a"b' "a'b" 'a\b'; do echo x >"$f"; done; git add .; git commit -qm m`,
			[]string{"api/a b", `api/a\x09b`, `api/a"b`, "api/a'b", `api/a\b`}},
		{"newline", `cd api; echo x >'a
b'; git add .; git commit -qm m`, []string{`api/a\x0ab`}},
		{"not UTF-8", `echo x >"$(printf 'api/a\377b')"; git add .; git commit -qm m`, []string{`api/a\xffb`}},
		{"a directory that is not UTF-8, outside", `mkdir "$(printf 'api\377')"; echo x >"$(printf 'api\377/a')"; git add .; git commit -qm m`, nil},

		{"merge, clean", `git checkout -qb side; echo x >api/handler.go; git commit -qnam s; git checkout -q main; echo y >docs/guide.md; git commit -qam m; git merge -q side -m m`, nil},
		{"merge, concluded by hand", `git checkout -qb side; echo x >api/handler.go; echo x >docs/guide.md; git commit -qnam s; git checkout -q main; echo y >docs/guide.md; git commit -qam m
			git merge -q side -m m || true; echo z >docs/guide.md; git add .; git commit -qm merged`, nil},
		{"merge, conflict inside", `git checkout -qb side; echo x >api/handler.go; git commit -qnam s; git checkout -q main; echo y >api/handler.go; git commit -qnam m
			git merge -q side -m m || true; echo z >api/handler.go; git add .; git commit -qm merged`, []string{"api/handler.go"}},
		{"merge, conflict inside, theirs taken", `git checkout -qb side; echo x >api/handler.go; git commit -qnam s; git checkout -q main; echo y >api/handler.go; git commit -qnam m
			git merge -q side -m m || true; git checkout -q --theirs api; git add .; git commit -qm merged`, nil},
		{"merge, with more than was merged", `git checkout -qb side; echo x >docs/guide.md; git commit -qam s; git checkout -q main; git merge -q --no-ff --no-commit side; echo z >api/handler.go; git add .; git commit -qm merged`, []string{"api/handler.go"}},
		{"merge of three, concluded by hand", `for b in a b; do git checkout -qb $b main; echo $b >api/$b; git add .; git commit -qnm $b; done; git checkout -q main
			git merge -q --no-ff --no-commit a b; git commit -qm merged`, nil},
		{"merge of three, with more", `for b in a b; do git checkout -qb $b main; echo $b >docs/$b; git add .; git commit -qm $b; done; git checkout -q main
			git merge -q --no-ff --no-commit a b; echo x >api/handler.go; git add .; git commit -qm merged`, []string{"api/handler.go"}},
		{"merge with a rename", `git checkout -qb side; git mv api/handler.go api/renamed.go; git commit -qnm s; git checkout -q main; echo y >docs/guide.md; git commit -qam m
			git merge -q --no-commit side; echo z >docs/guide.md; git add .; git commit -qm merged`, nil},
		{"squash", `git checkout -qb side; echo x >api/handler.go; git commit -qnam s; git checkout -q main; git merge -q --squash side >/dev/null; git commit -qm squashed`, []string{"api/handler.go"}},

		{"cherry-pick", `git checkout -qb side; echo x >api/handler.go; git commit -qnam s; git checkout -q main; git cherry-pick side`, nil},
		{"cherry-pick, concluded by hand", `git checkout -qb side; echo x >api/handler.go; git commit -qnam s; git checkout -q main; echo y >api/handler.go; git commit -qnam m
			git cherry-pick side || true; echo z >api/handler.go; git add .; git commit -qm picked`, []string{"api/handler.go"}},
		{"revert", `echo x >api/handler.go; git commit -qnam s; git revert --no-edit HEAD`, nil},
		{"rebase", `git checkout -qb side; echo x >api/handler.go; git commit -qnam s; git checkout -q main; echo y >docs/guide.md; git commit -qam m; git rebase -q main side`, nil},
		{"am", `echo x >api/handler.go; git commit -qnam s; git format-patch -q -1 -o ..; git reset -q --hard HEAD~; git am -q ../0001-s.patch`, nil},
		{"stash", `echo x >api/handler.go; git stash -q; git stash pop -q`, nil},
		{"no-verify", `echo x >api/handler.go; git commit -qnam m`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.base()
			out, code := w.try("r", test.script)
			checkRefused(t, out, code, test.refused)
		})
	}
}

// checkRefused checks that a command was refused for exactly the paths given, and passed if none are.
func checkRefused(t *testing.T, out string, code int, paths []string) {
	t.Helper()
	if len(paths) == 0 {
		if code != 0 || strings.Contains(out, "lease:") {
			t.Fatalf("must pass, got exit status %d:\n%s", code, out)
		}
		return
	}
	if code != 1 || !strings.Contains(out, "lease: repo/api reserved by \"42\"\n") {
		t.Fatalf("must be refused, got exit status %d:\n%s", code, out)
	}
	var got []string
	for line := range strings.Lines(out) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "lease:   "); ok {
			got = append(got, path[:strings.LastIndex(path, " ")]) // less the commit
		}
	}
	for _, p := range paths {
		if !slices.Contains(got, p) {
			t.Errorf("%q is not named", p)
		}
	}
	if len(got) != len(paths) {
		t.Errorf("named are %q, want %q", got, paths)
	}
	if t.Failed() {
		t.Log(out)
	}
}
