package scarcity

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fslease/internal/torture/kit"
)

// A want is a way in which something is scarce.
type want struct {
	name string
	as   int // user who works, 0: root
	// before makes the place of the ledger, nil if an ordinary directory will do.
	before func(t *kit.T, l *kit.Ledger) error
	// begin takes away, and returns how commands are run from now on and how all is given back.
	begin    func(t *kit.T, l *kit.Ledger) (poor *kit.Ledger, end func() error, err error)
	says     []string // an error has one of these words
	releases bool     // giving back works all the same
}

const nobody = 65534

var wants = []want{
	{name: "a full disk", releases: true, says: []string{"no space left"},
		before: tmpfs("size=512k"), begin: filled(4096)},
	{name: "no inodes", releases: true, says: []string{"no space left"},
		before: tmpfs("size=8m,nr_inodes=220"), begin: filled(0)},
	{name: "files that may not grow", releases: true, says: []string{"file too large"}, begin: limited("-f", 0, 4)},
	{name: "few descriptors", says: []string{"too many open files", "raise ulimit -n"}, begin: limited("-n", 3, 20)},
	{name: "a file system that became read-only", says: []string{"read-only file system"},
		before: tmpfs("size=8m"), begin: readOnly},
	{name: "no permission", as: nobody, says: []string{"permission denied"}, before: owned, begin: closed},
	{name: "16 KiB from the start", releases: true, says: []string{"no space left"},
		before: tmpfs("size=16k"), begin: fromTheStart},
}

func tmpfs(options string) func(*kit.T, *kit.Ledger) error {
	return func(_ *kit.T, l *kit.Ledger) error {
		if err := os.Mkdir(l.Dir, 0o700); err != nil {
			return err
		}
		return unix.Mount("tmpfs", l.Dir, "tmpfs", 0, "mode=0700,"+options)
	}
}

// filled takes all room in files of a size, or with size 0 all inodes, and gives some of it back: where it ends is
// drawn.
func filled(size int) func(*kit.T, *kit.Ledger) (*kit.Ledger, func() error, error) {
	return func(t *kit.T, l *kit.Ledger) (*kit.Ledger, func() error, error) {
		filler := filepath.Join(l.Dir, "leases", ".filler.tmp") // named like what a crash leaves, and passed over by all
		if err := os.Mkdir(filler, 0o700); err != nil {
			return l, nil, err
		}
		n := 0
		for {
			err := os.WriteFile(filepath.Join(filler, fmt.Sprint(n)), make([]byte, size), 0o600)
			if errors.Is(err, syscall.ENOSPC) {
				break
			}
			if err != nil {
				return l, nil, err
			}
			n++
		}
		for i := range min(n, []int{0, 0, 1, 2, 3, 4, 6}[t.IntN(7)]) {
			if err := os.Remove(filepath.Join(filler, fmt.Sprint(i))); err != nil {
				return l, nil, err
			}
		}
		return l, func() error { return os.RemoveAll(filler) }, nil
	}
}

// limited runs commands under a resource limit, drawn from least to most.
func limited(which string, least, most int) func(*kit.T, *kit.Ledger) (*kit.Ledger, func() error, error) {
	return func(t *kit.T, l *kit.Ledger) (*kit.Ledger, func() error, error) {
		limit := fmt.Sprintf("ulimit %s %d", which, least+t.IntN(most-least+1))
		return l.In("sh", "-c", limit+` && exec "$@"`, "sh"), func() error { return nil }, nil
	}
}

func readOnly(_ *kit.T, l *kit.Ledger) (*kit.Ledger, func() error, error) {
	err := unix.Mount("", l.Dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")
	return l, func() error { return unix.Mount("", l.Dir, "", unix.MS_REMOUNT, "size=8m") }, err
}

func owned(_ *kit.T, l *kit.Ledger) error {
	return errors.Join(os.Mkdir(l.Dir, 0o700), os.Chown(l.Dir, nobody, nobody))
}

// closed takes all permission of one thing in the ledger, drawn, or of the ledger.
func closed(t *kit.T, l *kit.Ledger) (*kit.Ledger, func() error, error) {
	var all []string
	err := filepath.WalkDir(l.Dir, func(name string, _ fs.DirEntry, err error) error {
		all = append(all, name)
		return err
	})
	if err != nil {
		return l, nil, err
	}
	name := all[t.IntN(len(all))]
	if t.IntN(3) == 0 {
		name = l.Dir
	}
	info, err := os.Stat(name)
	if err != nil {
		return l, nil, err
	}
	t.Logf("no permission for %s", strings.TrimPrefix(name, l.Dir))
	return l, func() error { return os.Chmod(name, info.Mode().Perm()) }, os.Chmod(name, 0)
}

// fromTheStart leaves as little room as there is, and makes more of it at the end.
func fromTheStart(_ *kit.T, l *kit.Ledger) (*kit.Ledger, func() error, error) {
	return l, func() error { return unix.Mount("", l.Dir, "", unix.MS_REMOUNT, "size=1m") }, nil
}
