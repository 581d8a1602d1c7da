package githook

import (
	"context"
	"fmt"
	"strings"

	"fslease/fslease"
)

// A ScopeReport compares what a ticket declared with what was really changed.
type ScopeReport struct {
	Base      string        // object id of the commit since which commits count; empty: none do
	Outside   []Change      // changes in no key of the scope, each path once
	Untouched []fslease.Key // keys of the scope in which nothing was changed
}

// CheckScope compares scope with what was changed since base in commits, in the index and in the work
// tree, files that git does not know (and does not ignore) included. Without base it is the upstream of the
// current branch; where there is none, no commit counts. A base that names no commit is a
// *fslease.ConfigError. Keys outside the repository's prefix, such as terminal-1, are not git's to judge.
func (r Repo) CheckScope(ctx context.Context, scope []fslease.Key, base string) (ScopeReport, error) {
	prefix, err := r.Prefix(ctx)
	if err != nil {
		return ScopeReport{}, err
	}
	base, err = r.base(ctx, base)
	if err != nil {
		return ScopeReport{}, err
	}
	changes, err := r.since(ctx, base)
	if err != nil {
		return ScopeReport{}, err
	}
	setKeys(changes, prefix)
	report := ScopeReport{Base: base}
	declared, touched := overlapOf(scope), make([]bool, len(scope))
	seen := make(map[string]bool)
	for _, c := range changes {
		if seen[c.Path] {
			continue
		}
		seen[c.Path] = true
		inside := false
		declared.each(c.Key, func(i int) { inside, touched[i] = true, true })
		if !inside {
			report.Outside = append(report.Outside, c)
		}
	}
	for i, key := range scope {
		if !touched[i] && key.Overlaps(prefix) {
			report.Untouched = append(report.Untouched, key)
		}
	}
	return report, nil
}

// base returns the object id of the commit that rev names, or of the current branch's upstream.
func (r Repo) base(ctx context.Context, rev string) (string, error) {
	if rev != "" {
		id, err := r.commit(ctx, rev)
		if id == "" && err == nil {
			err = &fslease.ConfigError{What: fmt.Sprintf("%s names no commit", rev), Hint: "git log shows those there are"}
		}
		return id, err
	}
	upstream, err := r.output(ctx, "for-each-ref", "--format=%(if)%(HEAD)%(then)%(upstream)%(end)", "refs/heads")
	if upstream = strings.TrimSpace(upstream); upstream == "" || err != nil {
		return "", err
	}
	return r.commit(ctx, upstream)
}

// since returns what was changed since base (empty: no commit counts) in commits, index and work tree.
func (r Repo) since(ctx context.Context, base string) ([]Change, error) {
	var changes []Change
	if base != "" {
		committed, err := r.committed(ctx, []string{"HEAD", "^" + base})
		if err != nil {
			return nil, err
		}
		changes = committed
	}
	staged, err := r.Staged(ctx)
	if err != nil {
		return nil, err
	}
	changes = append(changes, staged...)
	// status compares contents where diff-files would take a file for changed that was only touched. Its
	// first letter is about the index, where Staged knows merges; the second is about the work tree.
	work := func(entry string) {
		if len(entry) > 3 && entry[1] != ' ' {
			changes = append(changes, Change{Path: entry[3:]})
		}
	}
	err = r.tokens(ctx, nil, work, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=none")
	return changes, err
}
