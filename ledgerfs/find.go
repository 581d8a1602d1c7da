package ledgerfs

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"fslease/fslease"
)

// FindOptions say where to look for a ledger.
type FindOptions struct {
	Dir string // named by the user; "" if none was
}

// Find returns the absolute path of the ledger to use: the one named; else $LEASE_LEDGER; else the nearest
// .lease/ upward from the working directory that may be trusted; else lease/ in the git common directory,
// if it exists; else lease/ in the user's state directory. Whether there is a ledger yet does not matter
// but for the middle ones.
func Find(o FindOptions) (string, error) {
	for _, named := range []string{o.Dir, os.Getenv("LEASE_LEDGER")} {
		if named != "" {
			return absolute(named)
		}
	}
	if dir := FindHere(); dir != "" {
		return dir, nil
	}
	return stateDir()
}

// FindHere returns the ledger that Find finds from the working directory if none is named, "" if it would
// take the user's own, which belongs to no place.
func FindHere() string {
	wd, err := os.Getwd()
	if err != nil {
		return ""
	}
	if dir := upward(wd); dir != "" {
		return dir
	}
	if common := gitCommonDir(wd); common != "" {
		if dir := filepath.Join(common, "lease"); isDir(dir) {
			return dir
		}
	}
	return ""
}

// InitPath returns where a ledger is made for the working directory: in the git common directory, which
// all worktrees share, or as ./.lease.
func InitPath() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if common := gitCommonDir(wd); common != "" {
		return filepath.Join(common, "lease"), nil
	}
	return filepath.Join(wd, ".lease"), nil
}

func absolute(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", &fslease.RepositoryError{Fault: fslease.FaultLedger, Path: path, What: "cannot tell the working directory", Err: err, Hint: "name the ledger by an absolute path"}
	}
	return abs, nil
}

// upward looks for .lease from dir up to $HOME or the edge of the file system.
func upward(dir string) string {
	top := home()
	var device uint64
	for {
		var st syscall.Stat_t
		if syscall.Stat(dir, &st) != nil || device != 0 && uint64(st.Dev) != device {
			return ""
		}
		device = uint64(st.Dev)
		if found := filepath.Join(dir, ".lease"); trusted(found) {
			return found
		}
		parent := filepath.Dir(dir)
		if dir == top || parent == dir {
			return ""
		}
		dir = parent
	}
}

// trusted reports whether a ledger that was merely found may be used: a directory that belongs to this
// user or root and that nobody else may write, or a shared one of a group of this user's. Anybody can make
// a .lease in /tmp.
func trusted(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st := info.Sys().(*syscall.Stat_t)
	perm := info.Mode().Perm()
	if perm&0o002 != 0 {
		return false
	}
	own := int(st.Uid) == os.Geteuid() || st.Uid == 0
	if perm&0o020 == 0 {
		return own
	}
	return perm&0o770 == 0o770 && info.Mode()&os.ModeSetgid != 0 && inGroup(int(st.Gid))
}

func inGroup(gid int) bool {
	groups, err := os.Getgroups()
	return gid == os.Getegid() || err == nil && slices.Contains(groups, gid)
}

// gitCommonDir returns the git common directory of the repository around dir, "" if there is none. The
// plain layouts are read here; git is asked only where GIT_DIR is set.
func gitCommonDir(dir string) string {
	if os.Getenv("GIT_DIR") != "" {
		out, err := exec.Command("git", "rev-parse", "--path-format=absolute", "--git-common-dir").Output()
		if err != nil {
			return ""
		}
		return strings.TrimSuffix(string(out), "\n")
	}
	for {
		dotGit := filepath.Join(dir, ".git")
		if info, err := os.Stat(dotGit); err == nil {
			if info.IsDir() {
				return commonOf(dotGit)
			}
			return commonOf(linkedGitDir(dir, dotGit))
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// linkedGitDir follows a .git file (linked worktrees, submodules).
func linkedGitDir(dir, dotGit string) string {
	data, err := os.ReadFile(dotGit)
	target, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	return target
}

// commonOf returns the common directory of a git directory: itself, unless a file in it names another.
func commonOf(gitDir string) string {
	if gitDir == "" || !exists(filepath.Join(gitDir, "HEAD")) {
		return ""
	}
	data, err := os.ReadFile(filepath.Join(gitDir, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir
	}
	if err != nil {
		return ""
	}
	common := strings.TrimSpace(string(data))
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitDir, common)
	}
	return common
}

// stateDir is the last resort, which is made with its parents when it is first used.
func stateDir() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		h := home()
		if !filepath.IsAbs(h) {
			return "", &fslease.RepositoryError{Fault: fslease.FaultLedger, What: "there is no ledger to use: HOME is not set", Hint: "name one with --ledger DIR or LEASE_LEDGER"}
		}
		state = filepath.Join(h, ".local", "state")
	}
	return filepath.Join(state, "lease"), nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
