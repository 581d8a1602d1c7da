package githook

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each script runs in a clone whose remote origin has the first commit, where the ticket 42 of somebody else
// has repo/api, and where `bad` commits into it past pre-commit and `good` beside it. The last command is
// the push that counts.
func TestPush(t *testing.T) {
	tests := []struct {
		name    string
		script  string
		refused []string
	}{
		{"new ref", `git checkout -qb topic; bad; git push -q origin topic`, []string{"api/handler.go"}},
		{"new ref, nothing new inside", `git checkout -qb topic; good; git push -q origin topic`, nil},
		{"known ref", `bad; git push -q`, []string{"api/handler.go"}},
		{"known ref, nothing new inside", `good; git push -q`, nil},
		{"a commit under others", `bad; good; git push -q`, []string{"api/handler.go"}},
		{"a change that was taken back", `bad; git reset -q --hard; git revert -n HEAD; git commit -qnm back; git push -q`, []string{"api/handler.go"}},
		{"as typed, with spaces", `bad; good; git push -q origin 'HEAD@{0 seconds ago}:refs/heads/topic'`, []string{"api/handler.go"}},
		{"the remote has it already", `bad; git push -q --no-verify origin HEAD:topic; git checkout -qb other; good; git push -q origin other`, nil},
		{"merged from the remote", `git -C ../there pull -q; (cd ../there; bad; git push -q --no-verify); good; git push -q origin HEAD:topic; git fetch -q; git merge -q --no-edit origin/main; git push -q origin HEAD:topic`, nil},
		{"a merge that changes more", `git checkout -qb side; good; git checkout -q main; git merge -q --no-ff --no-commit side; echo x >api/handler.go; git add .; git commit -qnm merged; git push -q`, []string{"api/handler.go"}},
		{"a clean merge of two changes inside one file", `git checkout -qb side; sed -i 1s/.*/x/ api/handler.go; git commit -qnam s; git push -q --no-verify origin side; git checkout -q main
			sed -i 20s/.*/y/ api/handler.go; git commit -qnam m; git push -q --no-verify; git merge -q --no-edit side; git push -q`, []string{"api/handler.go"}},
		{"merge of three", `for b in a b; do git checkout -qb $b origin/main; echo $b >docs/$b; git add .; git commit -qm $b; done; git checkout -q main; git merge -q a b -m m >/dev/null; git push -q`, nil},
		{"merge of three, a commit inside", `for b in a b; do git checkout -qb $b origin/main; echo $b >api/$b; git add .; git commit -qnm $b; done; git checkout -q main; git merge -q a b -m m >/dev/null; git push -q`, []string{"api/a", "api/b"}},
		{"a rename in a merged branch", `git checkout -qb side; git mv api/handler.go docs/handler.go; git commit -qnm s; git checkout -q main; good; git merge -q --no-edit side; git push -q`, []string{"api/handler.go"}},
		{"cherry-pick", `git checkout -qb side; bad; git checkout -q main; git cherry-pick side >/dev/null; git push -q`, []string{"api/handler.go"}},
		{"revert", `bad; git push -q --no-verify; git revert --no-edit HEAD >/dev/null; git push -q`, []string{"api/handler.go"}},
		{"rebase", `git checkout -qb side; bad; git checkout -q main; good; git rebase -q main side; git push -q origin side`, []string{"api/handler.go"}},
		{"am", `bad; git format-patch -q -1 -o ..; git reset -q --hard HEAD~; git am -q ../0001-bad.patch; git push -q`, []string{"api/handler.go"}},
		{"squash", `git checkout -qb side; bad; git checkout -q main; git merge -q --squash side >/dev/null; git commit -qnm s; git push -q`, []string{"api/handler.go"}},

		{"forced without a fetch", `(cd ../there; good; git push -q --no-verify); bad; git push -qf`, []string{"api/handler.go"}},
		{"forced without a fetch, nothing new inside", `(cd ../there; bad; git push -q --no-verify); good; git push -qf`, nil},
		{"forced back", `bad; git push -q --no-verify; git reset -q --hard HEAD~; git push -qf`, nil},
		{"tag", `git checkout -q --detach; bad; git tag v1; git push -q origin v1`, []string{"api/handler.go"}},
		{"annotated tag", `git checkout -q --detach; bad; git tag -am v1 v1; git push -q origin v1`, []string{"api/handler.go"}},
		{"tag of what is there", `git tag -am v1 v1; git push -q origin v1`, nil},
		{"tag of a file and of a tree", `git tag -am f file HEAD:api/handler.go; git tag tree HEAD^{tree}; git push -q origin file tree`, nil},
		{"several refs", `git checkout -qb good; good; git checkout -qb bad main; bad; git push -q origin good bad`, []string{"api/handler.go"}},
		{"several refs, of which one is there", `bad; git branch bad; git push -q --no-verify; good; git push -q origin main bad`, nil},
		{"deletion", `bad; git push -q --no-verify origin HEAD:topic; git push -q origin :topic`, nil},
		{"deletion and a commit", `git push -q origin HEAD:topic; bad; git push -q origin :topic main`, []string{"api/handler.go"}},
		{"nothing", `git push -q`, nil},
		{"everything", `bad; git push -q --all`, []string{"api/handler.go"}},
		{"mirror", `bad; git push -q --mirror ../mirror.git`, []string{"api/handler.go"}},

		{"by URL", `bad; git push -q ../origin.git main`, []string{"api/handler.go"}},
		{"by URL, nothing new inside", `good; git push -q ../origin.git main`, nil},
		{"by URL, new ref", `bad; git push -q ../origin.git HEAD:topic`, []string{"api/handler.go"}},
		{"by URL, new ref, nothing new inside", `good; git push -q ../origin.git HEAD:topic`, nil},
		{"by URL, no remote at all", `git remote remove origin; good; git push -q ../origin.git main`, nil},
		{"to an empty repository by name: all history is new there", `git remote add mirror ../mirror.git; good; git push -q mirror main`, []string{"api/handler.go"}},
		{"a remote whose name begins alike", `git remote add orig ../mirror.git; git push -q orig main`, []string{"api/handler.go"}},

		{"replaced", `bad; git replace HEAD $(git commit-tree -p HEAD~ -m innocent HEAD~^{tree}); git push -q`, []string{"api/handler.go"}},
		{"not UTF-8", `echo x >"$(printf 'api/\377')"; git add .; git commit -qnm m; git push -q`, []string{`api/\xff`}},
		{"no-verify", `bad; git push -q --no-verify`, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.base()
			out, code := w.try("r", `bad() { echo bad >>api/handler.go; git add .; git commit -qnm bad; }
				good() { echo good >>docs/guide.md; git add .; git commit -qnm good; }
				`+test.script)
			checkRefused(t, out, code, test.refused)
			if len(test.refused) > 0 && !regexp.MustCompile(`(?m)^lease:   .* [0-9a-f]{40}$`).MatchString(out) {
				t.Errorf("no commit is named:\n%s", out)
			}
		})
	}
}

func TestSHA256(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.makeBase("--object-format=sha256")
	w.hold(others("repo/api")...)
	out, code := w.try("r", `echo x >api/handler.go; git commit -qam m`)
	checkRefused(t, out, code, []string{"api/handler.go"})
	w.do("r", `echo x >docs/guide.md; git add docs; git commit -qm m; git push -q; git push -q origin HEAD:topic`)
	out, code = w.try("r", `git commit -qnam m; git push -q`)
	checkRefused(t, out, code, []string{"api/handler.go"})
	out, code = w.try("r", `git push -q origin HEAD:new`)
	checkRefused(t, out, code, []string{"api/handler.go"})
	w.do("r", `git push -q origin :topic`)
	out, code = w.try("r", `git checkout -q --orphan first; git commit -qm m`)
	checkRefused(t, out, code, []string{"api/handler.go"})
}

func TestParseUpdates(t *testing.T) {
	t.Parallel()
	id, none := strings.Repeat("ab", 20), strings.Repeat("0", 40)
	updates, err := parseUpdates(strings.NewReader("HEAD@{1 second ago} " + id + " refs/heads/a " + none + "\n(delete) " + none + " refs/heads/b " + id + "\n"))
	if err != nil || len(updates) != 2 || updates[0] != (refUpdate{id, none}) || updates[1] != (refUpdate{none, id}) {
		t.Errorf("got %v, %v", updates, err)
	}
	for _, bad := range []string{"\n", "a b c\n", "refs/heads/a " + id + " refs/heads/a --all\n", "refs/heads/a " + id[1:] + " refs/heads/a " + none + "\n"} {
		if updates, err := parseUpdates(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is taken for %v", bad, updates)
		}
	}
	if updates, err := parseUpdates(strings.NewReader("")); err != nil || updates != nil {
		t.Errorf("nothing is taken for %v, %v", updates, err)
	}
}

// A file may be called like a commit.
func TestChangeParser(t *testing.T) {
	t.Parallel()
	one, two := strings.Repeat("1a", 20), strings.Repeat("2b", 32)
	var got []Change
	parse := changeParser(func(c Change) { got = append(got, c) })
	for _, token := range []string{one, "A", two, "MM", "a b", two, "D", one} {
		parse(token)
	}
	want := []Change{{Path: two, Commit: one}, {Path: "a b", Commit: one}, {Path: one, Commit: two}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
