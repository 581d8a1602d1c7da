package ledgerfs

import (
	"strings"

	"golang.org/x/sys/unix"

	"fslease/internal/crashstate"
)

// crashFS keeps the records of a ledger in a memory that knows what was synced. What is locked or appended to, and
// means nothing after a power cut (lock files, liveness files, the journal), is in a real directory.
type crashFS struct {
	*crashstate.Disk
	real *dirFS
}

func (c crashFS) outside(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return top == locksDir || top == holdersDir || top == journalDir || top == configLock
}

func (c crashFS) ReadFile(name string) ([]byte, error) {
	if c.outside(name) {
		return c.real.ReadFile(name)
	}
	return c.Disk.ReadFile(name)
}

func (c crashFS) WriteTemp(name string, data []byte, sync bool) error {
	f, err := c.Create(name)
	if err != nil {
		return err
	}
	f.Write(data)
	if sync {
		f.Sync()
	}
	return nil
}

func (c crashFS) Link(name string, data []byte, sync bool) error {
	if c.outside(name) {
		return c.real.Link(name, data, sync)
	}
	f := c.Unnamed()
	f.Write(data)
	if sync {
		f.Sync()
	}
	return f.Link(name)
}

func (c crashFS) Rename(from, to string) error {
	if c.outside(from) {
		return c.real.Rename(from, to)
	}
	return c.Disk.Rename(from, to)
}

func (c crashFS) Remove(name string) error {
	if c.outside(name) {
		return c.real.Remove(name)
	}
	return c.Disk.Remove(name)
}

func (c crashFS) Mkdir(name string) error {
	if c.outside(name) {
		return c.real.Mkdir(name)
	}
	return c.Disk.Mkdir(name)
}

func (c crashFS) Rmdir(name string) error {
	if c.outside(name) {
		return c.real.Rmdir(name)
	}
	return c.Disk.Rmdir(name)
}

func (c crashFS) List(name string) ([]string, error) {
	if c.outside(name) {
		return c.real.List(name)
	}
	return c.Disk.List(name)
}

func (c crashFS) Stat(name string) (unix.Stat_t, error) {
	if c.outside(name) {
		return c.real.Stat(name)
	}
	folder, size, err := c.Disk.Stat(name)
	st := unix.Stat_t{Mode: unix.S_IFREG | 0o600, Uid: uint32(c.real.uid), Gid: uint32(c.real.gid), Size: int64(size)}
	if folder {
		st.Mode = unix.S_IFDIR | 0o700
	}
	return st, err
}
