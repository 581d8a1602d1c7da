package githook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A HookStatus says what git does in one worktree when it comes to one hook.
type HookStatus struct {
	Worktree string `json:"worktree"`
	Hook     string `json:"hook"`
	Path     string `json:"path"`               // where git looks for it
	OK       bool   `json:"ok"`                 // lease is asked
	Reason   string `json:"reason"`             // why it is not, or how that is known
	Previous string `json:"previous,omitempty"` // the hook that ours calls first
	Lease    string `json:"lease,omitempty"`    // the lease that the hook finds by PATH, if it says so
}

// Status says for every worktree of the repository, and for each hook, whether git asks lease. It does not
// guess: where our hook lies, git is made to run it (git hook run, since git 2.36) with an argument on which
// it does nothing but answer. Hooks that are not ours are never run.
func Status(ctx context.Context, r Repo) ([]HookStatus, error) {
	worktrees, err := r.worktrees(ctx)
	if err != nil {
		return nil, err
	}
	var all []HookStatus
	for _, dir := range worktrees {
		w, err := r.elsewhere(ctx, dir)
		if err != nil {
			return nil, err
		}
		where, err := w.hooksDir(ctx)
		if err != nil {
			return nil, err
		}
		for _, name := range Names {
			s, err := w.hookStatus(ctx, where, name)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

// worktrees returns the work trees of the repository that are there, the main one first.
func (r Repo) worktrees(ctx context.Context) ([]string, error) {
	var dirs []string
	attribute := func(a string) {
		if dir, ok := strings.CutPrefix(a, "worktree "); ok {
			dirs = append(dirs, dir)
		} else if a == "bare" {
			dirs = dirs[:len(dirs)-1]
		}
	}
	if err := r.tokens(ctx, nil, attribute, "worktree", "list", "--porcelain", "-z"); err != nil {
		return nil, err
	}
	there := dirs[:0]
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err == nil {
			there = append(there, dir)
		}
	}
	return there, nil
}

func (r Repo) hookStatus(ctx context.Context, dir hooksDir, name string) (HookStatus, error) {
	s := HookStatus{Worktree: r.dir, Hook: name, Path: filepath.Join(dir.path, name)}
	hook, err := readHook(dir.path, name)
	if err != nil {
		return s, err
	}
	info, err := os.Stat(hook.path) // what a link leads to
	switch {
	case isNotThere(err):
		err = nil
		s.Reason = "there is no hook"
		if dir.relative() {
			s.Reason += ": core.hooksPath is relative (" + Escape(dir.setting) + "), so git looks for it in each worktree"
		}
	case err != nil:
	case info.Mode()&0o111 == 0:
		s.Reason = "it is not executable: git passes over it"
	case hook.ours:
		if before, err := os.Stat(hook.previous()); err == nil && before.Mode().IsRegular() {
			s.Previous = hook.previous()
		}
		s.OK, s.Lease, s.Reason = r.probe(ctx, name)
	default:
		s.OK, s.Reason, err = r.asksLease(ctx, hook)
	}
	return s, err
}

// probe makes git run our hook, which answers where it finds lease.
func (r Repo) probe(ctx context.Context, name string) (ok bool, lease, reason string) {
	var out bytes.Buffer
	err := r.run(ctx, nil, &out, "hook", "run", name, "--", probeArgument)
	failed, answered := errors.AsType[*gitError](err)
	if !answered || failed.code != probeStatus {
		return false, "", "git does not run it: " + fmt.Sprint(err)
	}
	// Git sends what a hook prints to its own standard error.
	lease = strings.TrimSpace(out.String() + failed.stderr)
	if lease == "" {
		return false, "", "git runs it, but it finds no lease by PATH"
	}
	return true, lease, "git runs it"
}

// asksLease looks for the call of lease in a hook that is not ours, and in the files of the frameworks that
// may have written it. That proves less than a probe does, and the reason names the file.
func (r Repo) asksLease(ctx context.Context, hook hookFile) (ok bool, reason string, err error) {
	call := "lease hook run " + hook.name
	if strings.Contains(hook.text, call) {
		return true, "not lease's, but it has " + call, nil
	}
	top, err := r.top(ctx)
	if err != nil {
		return false, "", err
	}
	for _, m := range managers {
		for _, file := range m.callers(top, hook.name) {
			if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), call) {
				return true, "not lease's, but " + Escape(file) + " has " + call, nil
			}
		}
	}
	return false, "it is not lease's, and nothing says that it asks lease", nil
}
