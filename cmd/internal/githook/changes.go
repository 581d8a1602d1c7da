package githook

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"fslease/fslease"
)

// A Change is a path that a commit adds, changes or deletes. A rename is two of them.
type Change struct {
	Path   string // as git names it: bytes, from the top of the work tree
	Commit string // object id; empty: not committed yet
	Key    fslease.Key
}

// setKeys gives each change the key of its path.
func setKeys(changes []Change, prefix fslease.Key) {
	for i := range changes {
		changes[i].Key = KeyOf(prefix, changes[i].Path)
	}
}

// As asked for by all who compare. Without --no-renames a record may have one path or two, and the side
// that a rename leaves would be lost; without --ignore-submodules=none a repository can hide the bump of
// a submodule, in commits as well as in the index.
var nameStatus = []string{"-z", "--no-renames", "--ignore-submodules=none", "--name-status"}

// Staged returns what the commit that is being made changes. When it concludes a merge these are the
// paths that differ from all parents: the rest was only carried over.
func (r Repo) Staged(ctx context.Context) ([]Change, error) {
	parents, err := r.parents(ctx)
	if err != nil {
		return nil, err
	}
	var staged []string
	for i, parent := range parents {
		differs := make(map[string]bool)
		var paths []string
		parse := changeParser(func(c Change) {
			differs[c.Path] = true
			paths = append(paths, c.Path)
		})
		// A path that was only announced (add -N) is in no commit.
		args := append([]string{"diff-index", "--cached", "--ita-invisible-in-index"}, nameStatus...)
		if err := r.tokens(ctx, nil, parse, append(args, parent, "--")...); err != nil {
			return nil, err
		}
		if i > 0 {
			paths = keep(staged, differs)
		}
		staged = paths
	}
	changes := make([]Change, len(staged))
	for i, path := range staged {
		changes[i].Path = path
	}
	return changes, nil
}

func keep(paths []string, which map[string]bool) []string {
	kept := paths[:0]
	for _, p := range paths {
		if which[p] {
			kept = append(kept, p)
		}
	}
	return kept
}

// parents returns the parents of the commit that is being made; the empty tree for a first commit.
func (r Repo) parents(ctx context.Context) ([]string, error) {
	head, err := r.commit(ctx, "HEAD")
	if head == "" && err == nil {
		head, err = r.output(ctx, "hash-object", "-t", "tree", os.DevNull)
	}
	if err != nil {
		return nil, err
	}
	file, err := r.path(ctx, "MERGE_HEAD")
	if err != nil {
		return nil, err
	}
	merged, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return append([]string{head}, strings.Fields(string(merged))...), nil
}

// commit returns the object id of the commit that rev names, empty if it names none.
func (r Repo) commit(ctx context.Context, rev string) (string, error) {
	id, err := r.output(ctx, "rev-parse", "--quiet", "--verify", "--end-of-options", rev+"^{commit}")
	if failed, ok := errors.AsType[*gitError](err); ok && failed.code == 1 {
		return "", nil
	}
	return id, err
}

// committed returns what each commit changes that can be reached from revs (a name or object id each,
// with ^ before those from which it must not be reached, too), newest commit first, each path once. A
// merge changes what differs from all its parents.
func (r Repo) committed(ctx context.Context, revs []string, options ...string) ([]Change, error) {
	// What is pushed are the real objects, not those that refs/replace puts in their place.
	const real = "--no-replace-objects"
	var commits strings.Builder
	list := append([]string{real, "rev-list", "--stdin"}, options...)
	if err := r.run(ctx, strings.NewReader(strings.Join(revs, "\n")+"\n"), &commits, list...); err != nil {
		return nil, err
	}
	var changes []Change
	seen := make(map[string]bool)
	parse := changeParser(func(c Change) {
		if !seen[c.Path] {
			seen[c.Path] = true
			changes = append(changes, c)
		}
	})
	diff := append([]string{real, "diff-tree", "--stdin", "--root", "-r", "--cc"}, nameStatus...)
	err := r.tokens(ctx, strings.NewReader(commits.String()), parse, diff...)
	return changes, err
}

// changeParser returns a function that takes the output of nameStatus token by token: an object id is
// the commit of what follows; else a status, one letter for each parent, and then its path.
func changeParser(visit func(Change)) func(token string) {
	var commit string
	path := false
	return func(token string) {
		switch {
		case path:
			visit(Change{Path: token, Commit: commit})
			path = false
		case isObjectID(token):
			commit = token
		default:
			path = true
		}
	}
}

// isObjectID reports whether s is a SHA-1 or SHA-256 as git writes it.
func isObjectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
