package ledgerfs

import (
	"io"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"
)

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

// fill is put that closes the file.
func (d *dirFS) fill(fd int, name string, data []byte, sync bool) error {
	err := d.put(fd, data, sync)
	if cerr := unix.Close(fd); err == nil {
		err = cerr
	}
	if err != nil {
		return &fs.PathError{Op: "write", Path: name, Err: err}
	}
	return nil
}

// put writes data to the new file fd, and gives it the ledger's mode and owner. It is synced if sync is set.
func (d *dirFS) put(fd int, data []byte, sync bool) error {
	err := writeAll(fd, data)
	if err == nil {
		err = d.adopt(fd, d.file)
	}
	if err == nil && sync {
		err = ignoreEINTR(func() error { return unix.Fsync(fd) }) // never tried again: a second one lies
	}
	return err
}

// adopt gives a new file or folder the mode and, where that is permitted, the owner of the ledger. It mostly has them: to look
// is cheaper than to set them again, which a journaling file system writes down.
func (d *dirFS) adopt(fd int, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	given := false // some file systems change the mode with the owner
	if int(st.Uid) != d.uid || int(st.Gid) != d.gid {
		given = unix.Fchown(fd, d.uid, d.gid) == nil
		if !given && int(st.Gid) != d.gid {
			given = unix.Fchown(fd, -1, d.gid) == nil
		}
	}
	if !given && st.Mode&0o7777 == mode {
		return nil
	}
	return unix.Fchmod(fd, mode)
}

func (d *dirFS) Link(name string, data []byte, sync bool) error {
	return d.linkLocked(name, data, sync, nil)
}

// linkLocked is Link that lets take have the descriptor before the file is visible. If take is not nil it
// owns the descriptor afterwards, even if linking fails.
func (d *dirFS) linkLocked(name string, data []byte, sync bool, take func(fd int) error) error {
	return d.in(name, func(dir int, base string) error {
		fd, err := ignoreEINTR2(func() (int, error) {
			return unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, d.file)
		})
		if err == unix.EOPNOTSUPP || err == unix.EISDIR || err == unix.EINVAL {
			return d.linkNamed(dir, base, name, data, sync, take)
		}
		if err != nil {
			return &fs.PathError{Op: "create", Path: name, Err: err}
		}
		if take == nil {
			defer func() { _ = unix.Close(fd) }()
		} else if err := take(fd); err != nil {
			return err
		}
		if err := d.put(fd, data, sync); err != nil {
			return &fs.PathError{Op: "write", Path: name, Err: err}
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
func (d *dirFS) linkNamed(dir int, base, name string, data []byte, sync bool, take func(fd int) error) error {
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
	err = d.put(fd, data, sync)
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
	if path.Dir(from) == path.Dir(to) {
		return d.in(to, func(dir int, base string) error {
			if err := replace(dir, path.Base(from), base); err != nil {
				return &fs.PathError{Op: "rename", Path: to, Err: err}
			}
			return nil
		})
	}
	return d.in(from, func(fromDir int, fromBase string) error {
		return d.in(to, func(toDir int, toBase string) error {
			if err := unix.Renameat(fromDir, fromBase, toDir, toBase); err != nil {
				return &fs.PathError{Op: "rename", Path: to, Err: err}
			}
			return nil
		})
	})
}

// replace renames a file over another in the same folder. Where there is one already they change places, and the old one is
// removed under the new one's name: ext4 begins to write a new file to the disk when it is renamed
// over another (measured: 125 us, this way 26 us). Killed in between, the old one is left behind as the temporary file.
func replace(dir int, from, to string) error {
	var st unix.Stat_t
	if unix.Fstatat(dir, to, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG &&
		unix.Renameat2(dir, from, dir, to, unix.RENAME_EXCHANGE) == nil {
		_ = unix.Unlinkat(dir, from, 0)
		return nil
	}
	return unix.Renameat(dir, from, dir, to)
}

func (d *dirFS) Remove(name string) error {
	return d.in(name, func(dir int, base string) error {
		if err := unix.Unlinkat(dir, base, 0); err != nil {
			return &fs.PathError{Op: "remove", Path: name, Err: err}
		}
		return nil
	})
}

func (d *dirFS) Rmdir(name string) error {
	return d.in(name, func(dir int, base string) error {
		if err := unix.Unlinkat(dir, base, unix.AT_REMOVEDIR); err != nil {
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
	err = syncFolder(fd)
	_ = unix.Close(fd)
	if err != nil {
		return &fs.PathError{Op: "sync", Path: name, Err: err}
	}
	return nil
}

// syncFolder syncs an open folder. An xfs that has shut down since the change (its disk failed) forgot it, and
// syncs the folder with success: there is nothing left to be written. But it cannot be looked at any more.
func syncFolder(fd int) error {
	err := ignoreEINTR(func() error { return unix.Fsync(fd) })
	if err == nil {
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
	}
	return err
}
