package ledgerfs

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

func (d *dirFS) ReadFile(name string) ([]byte, error) {
	fd, st, err := d.openRegular(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	// Package os would ask the poller about every file.
	buf := make([]byte, min(st.Size, fslease.MaxRecordBytes)+1)
	for n := 0; ; {
		m, err := ignoreEINTR2(func() (int, error) { return unix.Read(fd, buf[n:]) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: name, Err: err}
		}
		// The end is where it was said to be, or where nothing more comes: a disk that fails gives what comes before, and no error.
		if n += m; m == 0 || n == int(st.Size) || n > fslease.MaxRecordBytes {
			return buf[:n], nil
		}
		if n == len(buf) { // it grew meanwhile
			buf = append(buf, make([]byte, min(n, fslease.MaxRecordBytes+1-n))...)
		}
	}
}

func (d *dirFS) List(name string) ([]string, error) {
	fd, err := d.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	var names []string
	buf := make([]byte, 8<<10)
	for {
		n, err := ignoreEINTR2(func() (int, error) { return unix.Getdents(fd, buf) })
		if err != nil {
			return nil, &fs.PathError{Op: "list", Path: name, Err: err}
		}
		if n == 0 {
			slices.Sort(names)
			return names, nil
		}
		names = appendEntries(names, fd, buf[:n])
	}
}

// appendEntries takes the names out of what the kernel says of the folder fd: for each an inode and an offset of 8 bytes, the
// entry's length of 2, its type of 1, and the name up to a zero. (A queue is listed at each look of each waiter, and
// package os makes an object of each entry.)
func appendEntries(names []string, fd int, entries []byte) []string {
	const header = 19
	for len(entries) >= header {
		length := int(binary.NativeEndian.Uint16(entries[16:]))
		if length < header || length > len(entries) {
			return names // no kernel says so
		}
		kind, raw := entries[18], entries[header:length]
		entries = entries[length:]
		n := string(raw[:max(bytes.IndexByte(raw, 0), 0)])
		if n == "" || n == "." || n == ".." {
			continue
		}
		if kind == unix.DT_UNKNOWN { // some file systems do not say
			var st unix.Stat_t
			if unix.Fstatat(fd, n, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
				kind = unix.DT_DIR
			}
		}
		if kind == unix.DT_DIR {
			n += "/"
		}
		names = append(names, n)
	}
	return names
}
