package ledgerfs

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// fsys is what the ledger asks of a file system: enough to write durably, and no more, so that a test can
// stand in one that forgets what was not synced. Paths are relative to the ledger; no link is followed, but by Stat on the way.
type fsys interface {
	// ReadFile reads a regular file of at most MaxRecordBytes+1 bytes.
	ReadFile(name string) ([]byte, error)
	// WriteTemp makes the file name, which must not exist, with data in it. It is synced if sync is set.
	// If it fails there is no file, as far as it could be removed.
	WriteTemp(name string, data []byte, sync bool) error
	// Link makes the file name appear with data in it at once, or fails with fs.ErrExist. The data is synced
	// before if sync is set.
	Link(name string, data []byte, sync bool) error
	Rename(from, to string) error
	Remove(name string) error
	Mkdir(name string) error
	// Rmdir removes a folder that is empty.
	Rmdir(name string) error
	SyncDir(name string) error
	// List returns the names in a folder, sorted; folders end in a slash.
	List(name string) ([]string, error)
	Stat(name string) (unix.Stat_t, error)
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// noRoom reports whether a file could not be written, but one can be renamed.
func noRoom(err error) bool { return noSpace(err) || errors.Is(err, syscall.EFBIG) }
