package ledgerfs

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// dirFS is the ledger's directory.
type dirFS struct {
	root int         // descriptor of the directory
	self unix.Stat_t // which one that is
	file uint32
	dir  uint32
	uid  int // owner of the ledger; files get it where that is permitted
	gid  int
}

// openRoot opens the ledger's directory and reads from it who and what mode new files get: 0600 and 0700,
// or in a shared ledger (2770) 0660 and 2770, whatever the umask.
func openRoot(dir string) (*dirFS, error) {
	fd, err := ignoreEINTR2(func() (int, error) {
		return unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return nil, &fs.PathError{Op: "stat", Path: dir, Err: err}
	}
	d := &dirFS{root: fd, self: st, file: 0o600, dir: 0o700, uid: int(st.Uid), gid: int(st.Gid)}
	if st.Mode&unix.S_ISGID != 0 && st.Mode&0o070 == 0o070 {
		d.file, d.dir = 0o660, unix.S_ISGID|0o770
	}
	return d, nil
}

func (d *dirFS) Close() error { return unix.Close(d.root) }

func ignoreEINTR(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}

func ignoreEINTR2(f func() (int, error)) (int, error) {
	for {
		if n, err := f(); err != unix.EINTR {
			return n, err
		}
	}
}

// open opens name below the ledger without following a link anywhere on the way.
func (d *dirFS) open(name string, flags int, mode uint32) (int, error) {
	flags |= unix.O_CLOEXEC | unix.O_NOFOLLOW
	fd, err := ignoreEINTR2(func() (int, error) {
		return unix.Openat2(d.root, name, &unix.OpenHow{
			Flags: uint64(flags), Mode: uint64(mode), Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
		})
	})
	if err == unix.ENOSYS || err == unix.EPERM { // older kernels, and sandboxes that do not know the call
		fd, err = d.openStepwise(name, flags, mode)
	}
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

// openStepwise does the same one folder at a time.
func (d *dirFS) openStepwise(name string, flags int, mode uint32) (int, error) {
	at := d.root
	parts := strings.Split(name, "/")
	for i, part := range parts {
		f, m := unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(0)
		if i == len(parts)-1 {
			f, m = flags, mode
		}
		next, err := ignoreEINTR2(func() (int, error) { return unix.Openat(at, part, f, m) })
		if at != d.root {
			_ = unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// in calls f with a descriptor of the folder of name, and the last part of name.
func (d *dirFS) in(name string, f func(dir int, base string) error) error {
	folder, base := path.Split(name)
	if folder == "" {
		return f(d.root, base)
	}
	fd, err := d.open(path.Clean(folder), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return f(fd, base)
}

// errNotRegular is what stands where a regular file is expected.
type errNotRegular struct{ kind string }

func (e errNotRegular) Error() string { return "is " + e.kind + ", not a regular file" }

func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFSOCK:
		return "a socket"
	default:
		return "a device"
	}
}

// openRegular opens an existing regular file; anything else is refused, never waited on.
func (d *dirFS) openRegular(name string, flags int) (int, unix.Stat_t, error) {
	var st unix.Stat_t
	fd, err := d.open(name, flags|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.EISDIR) {
			if kind := kindAt(d, name); kind != "" {
				err = &fs.PathError{Op: "open", Path: name, Err: errNotRegular{kind}}
			}
		}
		return -1, st, err
	}
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return -1, st, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		_ = unix.Close(fd)
		return -1, st, &fs.PathError{Op: "open", Path: name, Err: errNotRegular{kindOf(st.Mode)}}
	}
	return fd, st, nil
}

// kind says what name is if it is not a regular file.
func (l *Ledger) kind(name string) string { return kindAt(l.fsys, name) }

func kindAt(f fsys, name string) string {
	st, err := f.Stat(name)
	if err != nil || st.Mode&unix.S_IFMT == unix.S_IFREG {
		return ""
	}
	return kindOf(st.Mode)
}

// sameFile reports whether two looks met the same file.
func sameFile(a, b unix.Stat_t) bool { return a.Dev == b.Dev && a.Ino == b.Ino }

// Stat is asked most often of all, whether a lock file is still the one that was locked. So it makes one call of it, which
// follows a folder that is a link: what is opened, locked or changed goes by open, and never does.
func (d *dirFS) Stat(name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.root, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return st, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return st, nil
}
