package ledgerfs

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"fslease/fslease"
)

// How well a write survives.
type care int

const (
	hint    care = iota // a crash of the process: it means nothing after a reboot
	synced              // a power cut leaves the old record or the new one
	durable             // once it returned, a power cut leaves the new one
)

// maxTries is how often a folder that is gone when a file is to be made in it is made again: a collection
// removes those that are empty.
const maxTries = 10

// write replaces the file name by data: a temporary file in the same directory, synced, then renamed.
// Whoever calls it holds the lock under which name changes. It ends in one of three ways: nil, the data is
// there; an error, nothing changed; FaultUnknown, the directory could not be synced after the rename.
func (l *Ledger) write(name string, data []byte, c care) error {
	return l.writeChecked(name, data, c, nil)
}

// writeChecked is write that asks check once more just before the rename.
func (l *Ledger) writeChecked(name string, data []byte, c care, check func() error) error {
	temp := tempPath(name)
	if err := l.makeTemp(temp, data, c); err != nil {
		return l.fail(name, err)
	}
	if check != nil {
		if err := check(); err != nil {
			_ = l.fsys.Remove(temp)
			return err
		}
	}
	if err := l.fsys.Rename(temp, name); err != nil {
		_ = l.fsys.Remove(temp)
		if check != nil && errors.Is(err, fs.ErrNotExist) {
			return errLockMoved // another one that has the lock cleared our file away
		}
		if errors.Is(err, fs.ErrExist) || l.kind(name) != "" {
			err = &fs.PathError{Op: "rename", Path: name, Err: errNotRegular{l.kind(name)}}
		}
		return l.fail(name, err)
	}
	if c == durable {
		return l.syncAfter(name)
	}
	return nil
}

// syncAfter makes the name durable. The change is visible already, so a failure leaves it unknown.
func (l *Ledger) syncAfter(name string) error {
	if err := l.fsys.SyncDir(path.Dir(name)); err != nil {
		return &fslease.RepositoryError{Fault: fslease.FaultUnknown, Path: l.file(name), What: "cannot tell whether " + l.file(name) + " survives a power cut", Err: err,
			Hint: "look at the disk (dmesg); the next command on this key settles it under a higher generation"}
	}
	return nil
}

// makeTemp writes the temporary file, making its folder and clearing what a crash left in its place.
func (l *Ledger) makeTemp(temp string, data []byte, c care) error {
	for try := 0; ; try++ {
		err := l.fsys.WriteTemp(temp, data, c != hint)
		switch {
		case err == nil || try == maxTries:
			return err
		case errors.Is(err, fs.ErrExist):
			err = l.fsys.Remove(temp)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		case errors.Is(err, fs.ErrNotExist):
			// A folder of records is durable whoever makes it: what is written into it later needs no less.
			if err := l.mkdirAll(path.Dir(temp), !strings.HasPrefix(temp, sightingsDir+"/")); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// link makes the file name appear at once with data in it, making its folder. It is for files that nobody
// replaces.
func (l *Ledger) link(name string, data []byte, sync bool, take func(fd int) error) error {
	for try := 0; ; try++ {
		var err error
		if take == nil {
			err = l.fsys.Link(name, data, sync)
		} else {
			err = l.dir.linkLocked(name, data, sync, take)
		}
		if err == nil || try == maxTries || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := l.mkdirAll(path.Dir(name), false); err != nil {
			return err
		}
	}
}

// mkdirAll makes a folder and those above it. With sync each new one's parent is synced, so that what is
// synced inside it can be found after a power cut.
func (l *Ledger) mkdirAll(dir string, sync bool) error {
	for try := 0; ; try++ {
		err := l.mkdirEach(dir, sync)
		if try == maxTries || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

func (l *Ledger) mkdirEach(dir string, sync bool) error {
	done := ""
	for part := range strings.SplitSeq(dir, "/") {
		parent := done
		done = path.Join(done, part)
		err := l.fsys.Mkdir(done)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if sync {
			if err := l.fsys.SyncDir(path.Join(".", parent)); err != nil {
				return err
			}
		}
	}
	return nil
}
