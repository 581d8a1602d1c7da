package ledgerfs

import (
	"io"
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
