package githook

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A refUpdate is a line of what git tells pre-push: an object id for the ref here, and one for the ref
// there.
type refUpdate struct{ local, remote string }

// parseUpdates reads the standard input of pre-push. Lines are split from the right, as the first field
// is what the user typed and may have spaces in it (HEAD@{1 second ago}).
func parseUpdates(r io.Reader) ([]refUpdate, error) {
	var updates []refUpdate
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f := strings.Split(lines.Text(), " ")
		if len(f) < 4 || !isObjectID(f[len(f)-3]) || !isObjectID(f[len(f)-1]) {
			return nil, fmt.Errorf("standard input has the line %.200q, not LOCAL-REF ID REMOTE-REF ID as git gives it to pre-push", lines.Text())
		}
		updates = append(updates, refUpdate{local: f[len(f)-3], remote: f[len(f)-1]})
	}
	return updates, lines.Err()
}

// isNone reports whether an object id is all zero: a ref that is not there.
func isNone(id string) bool { return strings.Trim(id, "0") == "" }

// Pushed returns what the commits change that are about to be pushed to remote, a name or a URL. Commits
// that the remote is known to have are not: those behind its remote-tracking refs and behind the refs that
// git just saw there, as far as they are known here (after a push was forced without a fetch they are
// not). A URL that is no remote's name has no refs of its own: then those of all remotes count.
func (r Repo) Pushed(ctx context.Context, remote string, stdin io.Reader) ([]Change, error) {
	updates, err := parseUpdates(stdin)
	if err != nil {
		return nil, err
	}
	var revs, there []string
	for _, u := range updates {
		if isNone(u.local) {
			continue // a deletion carries nothing
		}
		revs = append(revs, u.local)
	}
	if len(revs) == 0 {
		return nil, nil
	}
	for _, u := range updates {
		if !isNone(u.remote) {
			there = append(there, u.remote)
		}
	}
	known, err := r.knownCommits(ctx, there)
	if err != nil {
		return nil, err
	}
	for _, id := range known {
		revs = append(revs, "^"+id)
	}
	names, err := r.lines(ctx, "remote")
	if err != nil {
		return nil, err
	}
	tracking := "--remotes"
	if slices.Contains(names, remote) {
		tracking += "=" + remote
	}
	return r.committed(ctx, revs, "--not", tracking)
}

// knownCommits returns those of ids that are commits, or tags, in this repository.
func (r Repo) knownCommits(ctx context.Context, ids []string) ([]string, error) {
	var out strings.Builder
	stdin := strings.NewReader(strings.Join(ids, "\n"))
	if err := r.run(ctx, stdin, &out, "cat-file", "--batch-check=%(objectname) %(objecttype)"); err != nil {
		return nil, err
	}
	var known []string
	for line := range strings.Lines(out.String()) {
		id, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == "commit" || kind == "tag" {
			known = append(known, id)
		}
	}
	return known, nil
}
