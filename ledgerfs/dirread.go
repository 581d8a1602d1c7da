package ledgerfs

import (
	"io/fs"
	"os"
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
		if n += m; m == 0 || n > fslease.MaxRecordBytes {
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
