package githook

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"fslease/fslease"
)

// A hooksDir is where git looks for the hooks of a repository.
type hooksDir struct {
	path    string // absolute
	setting string // core.hooksPath as it is configured, empty if it is not
	scope   string // of the setting: local, worktree, global, system or command
}

func (r Repo) hooksDir(ctx context.Context) (hooksDir, error) {
	path, err := r.path(ctx, "hooks")
	if err != nil {
		return hooksDir{}, err
	}
	dir := hooksDir{path: path}
	value, set, err := r.config(ctx, "core.hooksPath", "-z", "--show-scope")
	if !set || err != nil {
		return dir, err
	}
	dir.scope, value, _ = strings.Cut(value, "\x00")
	dir.setting = strings.TrimSuffix(value, "\x00")
	return dir, nil
}

// foreign returns a *fslease.ConfigError if the directory is not this repository's own.
func (d hooksDir) foreign() error {
	switch d.scope {
	case "", "local", "worktree":
		return nil
	}
	return &fslease.ConfigError{
		What: "core.hooksPath is " + Escape(d.setting) + " in the " + d.scope + " configuration: a hook there would run in every repository",
		Hint: `put lease hook run NAME "$@" into the hooks there yourself, or give this repository its own: git config --local core.hooksPath "$(git rev-parse --path-format=absolute --git-common-dir)/hooks"`,
	}
}

// relative reports whether each worktree of the repository has hooks of its own, or none: git takes a
// relative core.hooksPath from the top of the worktree in which it runs.
func (d hooksDir) relative() bool {
	return d.setting != "" && !filepath.IsAbs(d.setting) && !strings.HasPrefix(d.setting, "~")
}

// A hookFile is what is found where a hook is looked for.
type hookFile struct {
	name string
	path string
	mode fs.FileMode // of the path itself, not of what a link points to; 0: nothing is there
	text string      // of a regular file, or of what a link points to
	ours bool
}

func readHook(dir, name string) (hookFile, error) {
	h := hookFile{name: name, path: filepath.Join(dir, name)}
	info, err := os.Lstat(h.path)
	if isNotThere(err) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	h.mode = info.Mode()
	if !h.mode.IsRegular() && h.mode.Type() != fs.ModeSymlink {
		return h, &fslease.ConfigError{What: Escape(h.path) + " is no file: no hook of git's", Hint: "move it out of the way"}
	}
	text, err := os.ReadFile(h.path)
	if isNotThere(err) {
		return h, nil // a link to nothing
	}
	h.text, h.ours = string(text), h.mode.IsRegular() && isOurs(string(text))
	return h, err
}

// isNotThere reports whether nothing is at a path; what should be a directory above it may be a file, such as
// /dev/null, or the .git of a linked worktree.
func isNotThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// readHooks reads what is found where git looks for each of our hooks.
func readHooks(dir string) ([]hookFile, error) {
	found := make([]hookFile, len(Names))
	for i, name := range Names {
		hook, err := readHook(dir, name)
		if err != nil {
			return nil, err
		}
		found[i] = hook
	}
	return found, nil
}

func (h hookFile) exists() bool { return h.mode != 0 }

// previous is where the hook goes that stood there before ours.
func (h hookFile) previous() string { return h.path + previousSuffix }

// renamed reports whether such a hook is there.
func (h hookFile) renamed() bool {
	_, err := os.Lstat(h.previous())
	return err == nil
}

// readsOwnName reports whether a script uses $0 for more than to find its directory. (The patterns are
// made here: at start-up every command of lease would pay for them.)
func (h hookFile) readsOwnName() bool {
	ownName := regexp.MustCompile(`\$(0|\{0)`)
	ownDirectory := regexp.MustCompile(`dirname\s+(--\s+)?"?\$(0|\{0\})`)
	return ownName.MatchString(ownDirectory.ReplaceAllString(h.text, ""))
}
