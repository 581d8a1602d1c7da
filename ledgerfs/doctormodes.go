package ledgerfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// A modeFault is one way in which owner or mode of a file can be wrong.
type modeFault struct {
	level Level
	what  string // of the files
	hint  string
	fits  func(d *dirFS, st unix.Stat_t, folder bool) bool
	names []string
}

// want returns the mode that files and folders of this ledger have.
func (d *dirFS) want(folder bool) uint32 {
	if folder {
		return d.dir
	}
	return d.file
}

func (d *dirFS) shared() bool { return d.file == 0o660 }

// modeFaults lists the ways, the worst first; a file counts for the first that fits.
func modeFaults() []*modeFault {
	const repaired = "lease doctor --repair, by their owner or root, corrects it"
	return []*modeFault{
		{Broken, "writable by users who are no part of this ledger", repaired, func(d *dirFS, st unix.Stat_t, folder bool) bool {
			return st.Mode&0o022&^d.want(folder) != 0
		}, nil},
		{Broken, "of somebody else than the ledger's owner", "lease doctor --repair by root corrects it", func(d *dirFS, st unix.Stat_t, _ bool) bool {
			return int(st.Uid) != d.uid && !d.shared()
		}, nil},
		{Broken, "of another group than the ledger's", repaired, func(d *dirFS, st unix.Stat_t, _ bool) bool {
			return int(st.Gid) != d.gid && d.shared()
		}, nil},
		{Broken, "sticky: one user cannot replace what another one wrote", repaired, func(_ *dirFS, st unix.Stat_t, folder bool) bool {
			return folder && st.Mode&unix.S_ISVTX != 0
		}, nil},
		{Broken, "not usable by those whom the ledger is for", repaired, func(d *dirFS, st unix.Stat_t, folder bool) bool {
			needed := d.want(folder) & 0o777
			if !folder {
				needed &= 0o440 // a record is replaced, not written to
			}
			return st.Mode&needed != needed
		}, nil},
		{Warning, "readable by users who are no part of this ledger", repaired, func(d *dirFS, st unix.Stat_t, folder bool) bool {
			return st.Mode&0o055&^d.want(folder) != 0
		}, nil},
	}
}

// modes looks at owner and mode of everything: folders 0700 and files 0600, in a shared ledger 2770 and
// 0660. Files are counted by what is wrong with them.
func (e *examination) modes() {
	e.rootMode()
	faults := modeFaults()
	err := e.l.walkAll(".", func(name string, folder bool) error {
		st, err := e.l.fsys.Stat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK || isTemporary(name) || strings.HasPrefix(name, ".doctor-") {
			return nil
		}
		if err != nil {
			return err
		}
		for _, f := range faults {
			if f.fits(e.l.dir, st, folder) {
				f.names = append(f.names, name)
				break
			}
		}
		return nil
	})
	if err != nil {
		e.trouble("permissions", Broken, e.l.fail("", err))
	}
	fine := err == nil
	for _, fault := range faults {
		fault.names = slices.DeleteFunc(fault.names, func(name string) bool { // it was just being made
			st, err := e.l.fsys.Stat(name)
			return err != nil || !fault.fits(e.l.dir, st, st.Mode&unix.S_IFMT == unix.S_IFDIR)
		})
		if len(fault.names) == 0 {
			continue
		}
		fine = false
		f := e.add(Finding{Check: "permissions", Level: fault.level, Path: e.l.file(fault.names[0]), Hint: fault.hint})
		f.What = counted{len(fault.names), "file or folder", "files and folders, this is the first"}.String() + ": " + fault.what
		names := fault.names
		f.mend = func(context.Context) (string, error) { return e.l.mendModes(names) }
	}
	if fine {
		e.ok("permissions", "files and folders belong to whom they should, and to nobody else")
	}
}

// rootMode looks at the directory itself, whose mode somebody chose.
func (e *examination) rootMode() {
	var st unix.Stat_t
	if err := unix.Fstat(e.l.dir.root, &st); err != nil {
		return // the walk fails too
	}
	const hint = "chmod 700 it, or make it shared: chmod 2770"
	switch {
	case st.Mode&unix.S_ISVTX != 0 && st.Mode&0o022 != 0:
		e.warn("permissions", "others may write the ledger, though not remove what is in it: they can put files into it", hint)
	case st.Mode&0o002 != 0:
		e.broken("permissions", "everybody may write the ledger, so anybody can remove what is in it", hint)
	case st.Mode&0o020 != 0 && !e.l.dir.shared():
		e.warn("permissions", "the group may write the ledger, but it is not shared: the group can remove what is in it, and read none of it", hint)
	}
}

// mendModes gives files the owner and mode of the ledger.
func (l *Ledger) mendModes(names []string) (string, error) {
	done := 0
	var first error
	for _, name := range names {
		switch err := l.mendMode(name); {
		case err == nil:
			done++
		case first == nil && !errors.Is(err, fs.ErrNotExist):
			first = l.fail(name, err)
		}
	}
	if done == 0 {
		return "", first
	}
	return fmt.Sprintf("gave %s the owner and mode of the ledger", counted{done, "file or folder", "files and folders"}), first
}

func (l *Ledger) mendMode(name string) error {
	st, err := l.fsys.Stat(name)
	if err != nil {
		return err
	}
	folder := st.Mode&unix.S_IFMT == unix.S_IFDIR
	if !folder && st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	return l.dir.in(name, func(dir int, base string) error {
		if int(st.Uid) != l.dir.uid && !l.dir.shared() || int(st.Gid) != l.dir.gid && l.dir.shared() {
			if err := unix.Fchownat(dir, base, l.dir.uid, l.dir.gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
				return &fs.PathError{Op: "chown", Path: name, Err: err}
			}
		}
		// A descriptor that may do nothing is enough to change a mode by, and follows no link.
		fd, err := unix.Openat(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return &fs.PathError{Op: "open", Path: name, Err: err}
		}
		defer func() { _ = unix.Close(fd) }()
		if err := unix.Chmod(procFD(fd), l.dir.want(folder)); err != nil {
			return &fs.PathError{Op: "chmod", Path: name, Err: err}
		}
		return nil
	})
}

func hintOf(err error) string {
	var re *fslease.RepositoryError
	if errors.As(err, &re) {
		return re.Hint
	}
	return ""
}
