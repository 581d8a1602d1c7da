package ledgerfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// fsys is what the ledger asks of a file system: enough to write durably, and no more, so that a test can
// stand in one that forgets what was not synced. Paths are relative to the ledger; no link is followed.
type fsys interface {
	// ReadFile reads a regular file of at most MaxRecordBytes+1 bytes.
	ReadFile(name string) ([]byte, error)
	// WriteTemp makes the file name, which must not exist, with data in it. It is synced if sync is set.
	// If it fails there is no file, as far as it could be removed.
	WriteTemp(name string, data []byte, sync bool) error
	// Link makes the file name appear with data in it at once, or fails with fs.ErrExist.
	Link(name string, data []byte) error
	Rename(from, to string) error
	Remove(name string) error
	Mkdir(name string) error
	SyncDir(name string) error
	// List returns the names in a folder, sorted; folders end in a slash.
	List(name string) ([]string, error)
}

// dirFS is the ledger's directory.
type dirFS struct {
	root  int // descriptor of the directory
	file  uint32
	dir   uint32
	uid   int // owner of the ledger; files get it where that is permitted
	gid   int
	chown bool
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
	d := &dirFS{root: fd, file: 0o600, dir: 0o700, uid: int(st.Uid), gid: int(st.Gid)}
	if st.Mode&unix.S_ISGID != 0 && st.Mode&0o070 == 0o070 {
		d.file, d.dir = 0o660, unix.S_ISGID|0o770
	}
	d.chown = d.uid != os.Geteuid() || d.gid != os.Getegid()
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
			if kind := d.kind(name); kind != "" {
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
func (d *dirFS) kind(name string) string {
	st, err := d.stat(name)
	if err != nil || st.Mode&unix.S_IFMT == unix.S_IFREG {
		return ""
	}
	return kindOf(st.Mode)
}

func (d *dirFS) stat(name string) (unix.Stat_t, error) {
	var st unix.Stat_t
	err := d.in(name, func(dir int, base string) error {
		return unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err != nil {
		return st, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return st, nil
}

func (d *dirFS) ReadFile(name string) ([]byte, error) {
	fd, st, err := d.openRegular(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() { _ = f.Close() }()
	if st.Size > fslease.MaxRecordBytes {
		return io.ReadAll(io.LimitReader(f, fslease.MaxRecordBytes+1))
	}
	buf := make([]byte, st.Size+1)
	n, err := io.ReadFull(f, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return buf[:n], nil
	}
	if err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(io.LimitReader(f, fslease.MaxRecordBytes)) // it grew meanwhile
	return append(buf, rest...), err
}

func (d *dirFS) WriteTemp(name string, data []byte, sync bool) error {
	fd, err := d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, d.file)
	if err != nil {
		return err
	}
	if err := d.fill(fd, name, data, sync); err != nil {
		_ = d.Remove(name)
		return err
	}
	return nil
}

// fill writes data to the new file fd, gives it the ledger's mode and owner, and closes it.
func (d *dirFS) fill(fd int, name string, data []byte, sync bool) error {
	f := os.NewFile(uintptr(fd), name)
	_, err := f.Write(data)
	if err == nil {
		err = d.adopt(fd, d.file)
	}
	if err == nil && sync {
		err = ignoreEINTR(func() error { return unix.Fsync(fd) }) // never tried again: a second one lies
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		var pe *fs.PathError
		if !errors.As(err, &pe) {
			err = &fs.PathError{Op: "write", Path: name, Err: err}
		}
	}
	return err
}

// adopt gives a new file or folder the mode and, where that is permitted, the owner of the ledger.
func (d *dirFS) adopt(fd int, mode uint32) error {
	if d.chown {
		if err := unix.Fchown(fd, d.uid, d.gid); err != nil {
			_ = unix.Fchown(fd, -1, d.gid)
		}
	}
	return unix.Fchmod(fd, mode)
}

func (d *dirFS) Link(name string, data []byte) error {
	return d.linkLocked(name, data, nil)
}

// linkLocked is Link that lets take have the descriptor before the file is visible. If take is not nil it
// owns the descriptor afterwards, even if linking fails.
func (d *dirFS) linkLocked(name string, data []byte, take func(fd int) error) error {
	return d.in(name, func(dir int, base string) error {
		fd, err := ignoreEINTR2(func() (int, error) {
			return unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, d.file)
		})
		if err == unix.EOPNOTSUPP || err == unix.EISDIR || err == unix.EINVAL {
			return d.linkNamed(dir, base, name, data, take)
		}
		if err != nil {
			return &fs.PathError{Op: "create", Path: name, Err: err}
		}
		if take == nil {
			defer func() { _ = unix.Close(fd) }()
		} else if err := take(fd); err != nil {
			return err
		}
		if err := writeAll(fd, data); err != nil {
			return &fs.PathError{Op: "write", Path: name, Err: err}
		}
		if err := d.adopt(fd, d.file); err != nil {
			return &fs.PathError{Op: "chmod", Path: name, Err: err}
		}
		if err := unix.Linkat(fd, "", dir, base, unix.AT_EMPTY_PATH); err != nil {
			if err != unix.EEXIST { // without the capability for an empty path
				err = unix.Linkat(unix.AT_FDCWD, procFD(fd), dir, base, unix.AT_SYMLINK_FOLLOW)
			}
			if err != nil {
				return &fs.PathError{Op: "link", Path: name, Err: err}
			}
		}
		return nil
	})
}

// linkNamed does it on file systems without unnamed files.
func (d *dirFS) linkNamed(dir int, base, name string, data []byte, take func(fd int) error) error {
	temp := "." + base + "." + newID() + ".tmp"
	fd, err := unix.Openat(dir, temp, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, d.file)
	if err != nil {
		return &fs.PathError{Op: "create", Path: name, Err: err}
	}
	defer func() { _ = unix.Unlinkat(dir, temp, 0) }()
	if take == nil {
		defer func() { _ = unix.Close(fd) }()
	} else if err := take(fd); err != nil {
		return err
	}
	err = writeAll(fd, data)
	if err == nil {
		err = d.adopt(fd, d.file)
	}
	if err == nil {
		err = unix.Linkat(dir, temp, dir, base, 0)
	}
	if err != nil {
		return &fs.PathError{Op: "link", Path: name, Err: err}
	}
	return nil
}

func writeAll(fd int, data []byte) error {
	for len(data) > 0 {
		n, err := ignoreEINTR2(func() (int, error) { return unix.Write(fd, data) })
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrShortWrite
		}
		data = data[n:]
	}
	return nil
}

func (d *dirFS) Rename(from, to string) error {
	return d.in(from, func(fromDir int, fromBase string) error {
		return d.in(to, func(toDir int, toBase string) error {
			if err := unix.Renameat(fromDir, fromBase, toDir, toBase); err != nil {
				return &fs.PathError{Op: "rename", Path: to, Err: err}
			}
			return nil
		})
	})
}

func (d *dirFS) Remove(name string) error {
	return d.in(name, func(dir int, base string) error {
		if err := unix.Unlinkat(dir, base, 0); err != nil {
			return &fs.PathError{Op: "remove", Path: name, Err: err}
		}
		return nil
	})
}

func (d *dirFS) Mkdir(name string) error {
	return d.in(name, func(dir int, base string) error {
		if err := unix.Mkdirat(dir, base, d.dir&0o777); err != nil {
			return &fs.PathError{Op: "mkdir", Path: name, Err: err}
		}
		fd, err := unix.Openat(dir, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return &fs.PathError{Op: "open", Path: name, Err: err}
		}
		defer func() { _ = unix.Close(fd) }()
		return d.adopt(fd, d.dir)
	})
}

func (d *dirFS) SyncDir(name string) error {
	fd, err := d.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	err = ignoreEINTR(func() error { return unix.Fsync(fd) })
	_ = unix.Close(fd)
	if err != nil {
		return &fs.PathError{Op: "sync", Path: name, Err: err}
	}
	return nil
}

func (d *dirFS) List(name string) ([]string, error) {
	fd, err := d.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		n := e.Name()
		if e.IsDir() {
			n += "/"
		}
		names = append(names, n)
	}
	slices.Sort(names)
	return names, nil
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
