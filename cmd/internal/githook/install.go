package githook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fslease/fslease"
)

// A Plan is what installing or uninstalling does, in order. Making one changes nothing.
type Plan struct {
	Steps []Step `json:"steps"`
	// Frameworks that run this repository's hooks. If there are any, Steps is empty: what they write
	// they write again, so the lines to add go into their files, by hand.
	Frameworks []Framework `json:"frameworks,omitempty"`
	Notes      []string    `json:"notes,omitempty"` // what the user should know
}

// A Step changes one hook.
type Step struct {
	Hook string `json:"hook"` // its name
	Path string `json:"path"`
	To   string `json:"to,omitempty"`   // rename Path to this, first
	Text string `json:"text,omitempty"` // then write this to Path; if both are empty, remove Path
}

// String says what the step does.
func (s Step) String() string {
	path, to := Escape(s.Path), Escape(s.To)
	switch {
	case s.Text != "" && s.To != "":
		return fmt.Sprintf("write %s, after what stands there is renamed to %s", path, to)
	case s.Text != "":
		return "write " + path
	case s.To != "":
		return fmt.Sprintf("rename %s to %s", path, to)
	default:
		return "remove " + path
	}
}

// Install plans how our hooks get where git looks for them. A hook that stands there is renamed, to be
// called by ours; one of ours is written again. It is a *fslease.ConfigError if core.hooksPath comes from
// beyond the repository, or if both a hook that is not ours and one that was renamed before stand there.
func Install(ctx context.Context, r Repo) (Plan, error) {
	dir, err := r.hooksDir(ctx)
	if err != nil {
		return Plan{}, err
	}
	if err := dir.foreign(); err != nil {
		return Plan{}, err
	}
	if info, err := os.Stat(dir.path); err == nil && !info.IsDir() {
		return Plan{}, &fslease.ConfigError{
			What: "git looks for hooks in " + Escape(dir.path) + ", which is no directory",
			Hint: "git config --show-origin core.hooksPath says where that is set",
		}
	}
	frameworks, err := r.frameworks(ctx, dir.path)
	if err != nil || len(frameworks) > 0 {
		return Plan{Frameworks: frameworks}, err
	}
	found, err := readHooks(dir.path)
	if err != nil {
		return Plan{}, err
	}
	var plan Plan
	for _, hook := range found {
		step := Step{Hook: hook.name, Path: hook.path, Text: script(hook.name)}
		if hook.exists() && !hook.ours {
			if hook.renamed() {
				return Plan{}, &fslease.ConfigError{
					What: fmt.Sprintf("%s is not lease's, and %s stands beside it already", Escape(hook.path), Escape(hook.previous())),
					Hint: "keep one of the two under the first name, move the other out of the way, and install again",
				}
			}
			step.To = hook.previous()
			if hook.readsOwnName() {
				plan.Notes = append(plan.Notes, fmt.Sprintf("%s looks at its own name ($0), which is now %s", Escape(hook.path), Escape(hook.previous())))
			}
		}
		plan.Steps = append(plan.Steps, step)
	}
	if dir.relative() {
		plan.Notes = append(plan.Notes, fmt.Sprintf("core.hooksPath is relative (%s): git looks for it in each worktree, and runs no hook in one that does not have it", Escape(dir.setting)))
	}
	return plan, nil
}

// Uninstall plans how our hooks go and the hooks come back that stood there before, as they were. Hooks that
// are not ours stay. It also looks where git looks by default: a core.hooksPath that was set after the
// hooks had been installed would hide them.
func Uninstall(ctx context.Context, r Repo) (Plan, error) {
	dirs, err := r.uninstallDirs(ctx)
	if err != nil {
		return Plan{}, err
	}
	var plan Plan
	for _, dir := range dirs {
		found, err := readHooks(dir)
		if err != nil {
			return Plan{}, err
		}
		for _, hook := range found {
			switch {
			case hook.renamed() && (hook.ours || !hook.exists()): // over ours, so that a hook is there at any time
				plan.Steps = append(plan.Steps, Step{Hook: hook.name, Path: hook.previous(), To: hook.path})
			case hook.renamed():
				plan.Notes = append(plan.Notes, fmt.Sprintf("%s is not lease's: it stays, and so does %s", Escape(hook.path), Escape(hook.previous())))
			case hook.ours:
				plan.Steps = append(plan.Steps, Step{Hook: hook.name, Path: hook.path})
			}
		}
	}
	return plan, nil
}

// uninstallDirs returns where hooks of ours may be: where git looks now, if that is the repository's own,
// and where it looks by default.
func (r Repo) uninstallDirs(ctx context.Context) ([]string, error) {
	dir, err := r.hooksDir(ctx)
	if err != nil {
		return nil, err
	}
	common, err := r.output(ctx, "rev-parse", "--git-common-dir")
	if err != nil {
		return nil, err
	}
	dirs := []string{filepath.Join(r.abs(common), "hooks")}
	if dir.foreign() == nil && !sameFile(dir.path, dirs[0]) {
		dirs = append(dirs, dir.path)
	}
	return dirs, nil
}

// sameFile reports whether two paths lead to the same file, or are the same path.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// Do carries out the plan's steps. When one fails those before it stand; planning again goes on from there.
func (p Plan) Do() error {
	for _, s := range p.Steps {
		if err := s.do(); err != nil {
			return err
		}
	}
	return nil
}

func (s Step) do() error {
	switch {
	case s.Text != "":
		return writeHook(s.Path, s.To, s.Text)
	case s.To != "":
		return os.Rename(s.Path, s.To)
	default:
		return os.Remove(s.Path)
	}
}

// writeHook puts an executable file at path; what stands there is renamed to keep, if that is given. Git
// never sees half a file, and when the disk is full the old hook is still there.
func writeHook(path, keep, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".lease-hook-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Chmod(0o755), f.Sync(), f.Close()); err != nil {
		return err
	}
	if keep != "" {
		if err := os.Rename(path, keep); err != nil {
			return err
		}
	}
	return os.Rename(f.Name(), path)
}
