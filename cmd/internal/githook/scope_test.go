package githook

import (
	"errors"
	"slices"
	"testing"

	"fslease/fslease"
)

func TestCheckScope(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		script    string
		base      string
		outside   []string
		untouched []fslease.Key
	}{
		{"nothing", ``, "", nil, []fslease.Key{"repo/api", "repo/web"}},
		{"commits since the upstream", `echo x >api/handler.go; echo x >docs/guide.md; git commit -qam m`, "", []string{"docs/guide.md"}, []fslease.Key{"repo/web"}},
		{"commits since a base", `echo x >docs/guide.md; git commit -qam m; git tag t; mkdir web; echo x >web/x; git add .; git commit -qm m`, "t", nil, []fslease.Key{"repo/api"}},
		{"no upstream, no base: no commits", `git checkout -qb topic; echo x >docs/guide.md; git commit -qam m`, "", nil, []fslease.Key{"repo/api", "repo/web"}},
		{"detached, no base: no commits", `git checkout -q --detach; echo x >docs/guide.md; git commit -qam m`, "", nil, []fslease.Key{"repo/api", "repo/web"}},
		{"taken back in a later commit", `echo x >docs/guide.md; git commit -qam m; git revert --no-edit HEAD`, "", []string{"docs/guide.md"}, []fslease.Key{"repo/api", "repo/web"}},
		{"the index", `echo x >docs/guide.md; git add .; git restore --worktree -s HEAD docs`, "", []string{"docs/guide.md"}, []fslease.Key{"repo/api", "repo/web"}},
		{"the work tree", `rm docs/guide.md; mkdir web; echo x >web/x; echo x >api/handler.go`, "", []string{"docs/guide.md"}, nil},
		{"only touched", `touch -d 2001-01-01 docs/guide.md`, "", nil, []fslease.Key{"repo/api", "repo/web"}},
		{"unknown and ignored files", `echo '*.o' >api/.gitignore; mkdir -p web/a/b; echo x >web/a/b/c; echo x >"$(printf 'n\n\377')"; mkdir -p new/a; echo x >new/a/b; echo x >api/x.o`, "", []string{"n\n\xff", "new/a/b"}, nil},
		{"renamed out", `git mv api/handler.go docs/handler.go`, "", []string{"docs/handler.go"}, []fslease.Key{"repo/web"}},
		{"a merge carries no more than it changes", `git checkout -qb side; echo x >docs/guide.md; git commit -qam m; git checkout -q main; git merge -q --no-ff --no-commit side; echo x >api/handler.go; git add .`, "", nil, []fslease.Key{"repo/web"}},
		{"an unmerged path", `git checkout -qb side; echo x >docs/guide.md; git commit -qam m; git checkout -q main; echo y >docs/guide.md; git commit -qam m; git merge -q side || true`, "HEAD", []string{"docs/guide.md"}, []fslease.Key{"repo/api", "repo/web"}},
		{"paths are from the top wherever it is asked", `git config diff.relative true; git config status.relativePaths true; echo x >docs/guide.md`, "", []string{"docs/guide.md"}, []fslease.Key{"repo/api", "repo/web"}},
		{"first commit", `git checkout -q --orphan new; git rm -rq --cached api; rm -r api`, "", []string{"docs/guide.md"}, []fslease.Key{"repo/api", "repo/web"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.base()
			w.hold()
			w.do("r", test.script)
			w.do("r", "mkdir -p sub")
			report, err := w.repo("r/sub").CheckScope(t.Context(), []fslease.Key{"repo/api", "terminal-1", "repo/web"}, test.base)
			if err != nil {
				t.Fatal(err)
			}
			var outside []string
			for _, c := range report.Outside {
				outside = append(outside, c.Path)
			}
			if !slices.Equal(outside, test.outside) || !slices.Equal(report.Untouched, test.untouched) {
				t.Errorf("outside %q, want %q; untouched %q, want %q", outside, test.outside, report.Untouched, test.untouched)
			}
		})
	}
}

func TestCheckScopeBase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base()
	for _, base := range []string{"nowhere", "-x", "HEAD:docs"} {
		if _, err := w.repo("r").CheckScope(t.Context(), nil, base); !errors.Is(err, fslease.ErrConfig) {
			t.Errorf("base %s: %v", base, err)
		}
	}
	report, err := w.repo("r").CheckScope(t.Context(), nil, "main")
	if head := w.do("r", "git rev-parse HEAD"); err != nil || report.Base+"\n" != head {
		t.Errorf("base is %s, %v", report.Base, err)
	}
	if _, err := w.repo(".").CheckScope(t.Context(), nil, ""); err == nil {
		t.Error("there is no repository, but an answer")
	}
}

// Asking changes nothing, not even what git remembers of the files' times.
func TestCheckScopeWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.base()
	w.do("r", "git status; touch -d 2001-01-01 docs/guide.md")
	before := w.snapshot("r/.git")
	if _, err := w.repo("r").CheckScope(t.Context(), nil, ""); err != nil {
		t.Fatal(err)
	}
	if w.snapshot("r/.git") != before {
		t.Error("something was written")
	}
}
