package ledgerfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// A lockedFile is a lock file that is locked and was still at its path after the locking.
type lockedFile struct {
	l    *Ledger
	name string
	fd   int
	at   unix.Stat_t // which file that is
}

// unlock frees the lock for whoever inherited the descriptor between a fork and an exec too.
func (f *lockedFile) unlock() {
	_ = unix.Flock(f.fd, unix.LOCK_UN)
	_ = unix.Close(f.fd)
}

// errLockMoved says that a lock file was removed or replaced under us: the lock protects nothing any more.
var errLockMoved = errors.New("lock file was replaced")

// current fails with errLockMoved unless the file that is locked is still the one at the path.
func (f *lockedFile) current() error {
	st, err := f.l.fsys.Stat(f.name)
	if errors.Is(err, fs.ErrNotExist) {
		return errLockMoved
	}
	if err != nil {
		return f.l.fail(f.name, err)
	}
	if !sameFile(st, f.at) {
		return errLockMoved
	}
	return nil
}

// lockFile locks a lock file and makes it if it is missing. It is opened without creating it first: the
// kernel's protection of sticky directories refuses O_CREAT on another's file.
func (l *Ledger) lockFile(name string, exclusive bool, wait time.Duration) (*lockedFile, error) {
	return l.lock(name, exclusive, wait, func() error { return l.fail(name, l.makeEmpty(name)) })
}

// lock locks the file name within wait, and calls missing as long as there is none. Each locking opens the file anew: two
// on one descriptor would be one.
func (l *Ledger) lock(name string, exclusive bool, wait time.Duration, missing func() error) (*lockedFile, error) {
	deadline := time.Now().Add(wait)
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		fd, st, err := l.dir.openRegular(name, l.lockable())
		if errors.Is(err, fs.ErrNotExist) {
			err = missing()
			if err == nil {
				continue
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		if err != nil {
			return nil, l.fail(name, err)
		}
		f := &lockedFile{l: l, name: name, fd: fd, at: st}
		err = flock(fd, how|unix.LOCK_NB)
		if err == unix.EWOULDBLOCK {
			if wait == 0 {
				f.unlock()
				return nil, l.busy(name, "locked just now", "try again")
			}
			var late bool
			if late, err = f.waitFor(how, deadline); late {
				return nil, l.stuck(name)
			}
		}
		if err == nil {
			if err = f.current(); err == nil {
				return f, nil
			}
		} else {
			err = &fs.PathError{Op: "lock", Path: name, Err: err}
		}
		f.unlock()
		if !errors.Is(err, errLockMoved) {
			return nil, l.fail(name, err)
		}
	}
}

// lockable is how a file is opened that is to be locked: on a network file system a lock may need one that can be written.
func (l *Ledger) lockable() int {
	if l.local() {
		return unix.O_RDONLY
	}
	return unix.O_RDWR
}

func flock(fd, how int) error {
	return ignoreEINTR(func() error { return unix.Flock(fd, how) })
}

// waitFor blocks in the kernel, which wakes in order and at once, until the deadline. If that is too late the file is left to a
// goroutine that unlocks it as soon as it gets it.
func (f *lockedFile) waitFor(how int, deadline time.Time) (late bool, err error) {
	got := make(chan error, 1)
	go func() { got <- flock(f.fd, how) }()
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case err := <-got:
		return false, err
	case <-timer.C:
		go func() {
			<-got
			f.unlock()
		}()
		return true, nil
	}
}

// stuck names who has the lock: most likely a process that was stopped while it held it.
func (l *Ledger) stuck(name string) error {
	who := ""
	if pids := l.lockOwners(name); len(pids) > 0 {
		who = " by pid " + strings.Trim(fmt.Sprint(pids), "[]")
	}
	return l.busy(name, "locked"+who+" for longer than a change takes",
		"a process that was stopped (kill -STOP, ^Z) while it changed a record holds it: continue or end that process")
}

func (l *Ledger) busy(name, what, hint string) error {
	return &fslease.RepositoryError{Fault: fslease.FaultBusy, Path: l.file(name), What: l.file(name) + " is busy: " + what, Hint: hint}
}

// makeEmpty makes an empty file with the mode and owner of the ledger; that somebody else did is fine.
func (l *Ledger) makeEmpty(name string) error {
	fd, err := l.dir.open(name, unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL, l.dir.file)
	for try := 0; errors.Is(err, fs.ErrNotExist) && try < maxTries; try++ {
		if err := l.mkdirAll(path.Dir(name), false); err != nil {
			return err
		}
		fd, err = l.dir.open(name, unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL, l.dir.file)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	return l.dir.adopt(fd, l.dir.file)
}

// keyLocks are the locks of one critical section.
type keyLocks struct {
	files     []*lockedFile
	keys      []fslease.Key // of the files
	exclusive []fslease.Key
}

// lockKeys takes the locks of keys and their ancestors in the order that cannot deadlock.
func (l *Ledger) lockKeys(keys []fslease.Key, wait time.Duration) (*keyLocks, error) {
	locks := &keyLocks{}
	for _, p := range fslease.LockPlan(keys) {
		f, err := l.lockFile(lockPath(p.Key), p.Exclusive, wait)
		if err != nil {
			locks.unlock()
			var re *fslease.RepositoryError
			if errors.As(err, &re) {
				re.Key = p.Key
			}
			return nil, err
		}
		locks.files, locks.keys = append(locks.files, f), append(locks.keys, p.Key)
		if p.Exclusive {
			locks.exclusive = append(locks.exclusive, p.Key)
		}
	}
	return locks, nil
}

func (k *keyLocks) unlock() {
	for _, f := range slices.Backward(k.files) {
		f.unlock()
	}
}

// current fails with errLockMoved if one of the locks protects nothing any more.
func (k *keyLocks) current() error {
	for _, f := range k.files {
		if err := f.current(); err != nil {
			return err
		}
	}
	return nil
}

// protect is current for the locks that the record of key is changed under.
func (k *keyLocks) protect(key fslease.Key) error {
	for i, f := range k.files {
		if !k.keys[i].Covers(key) {
			continue
		}
		if err := f.current(); err != nil {
			return err
		}
	}
	return nil
}

// covers reports whether the record of key may be changed freely: its own or an ancestor's lock is
// exclusive.
func (k *keyLocks) covers(key fslease.Key) bool {
	return slices.ContainsFunc(k.exclusive, func(e fslease.Key) bool { return e.Covers(key) })
}

// Update runs fn under the locks of keys.
func (l *Ledger) Update(_ context.Context, keys []fslease.Key, fn func(fslease.Tx) error) error {
	return l.update(keys, l.opt.LockWait, fn)
}

// TryUpdate is Update that does not wait for a lock.
func (l *Ledger) TryUpdate(_ context.Context, keys []fslease.Key, fn func(fslease.Tx) error) error {
	return l.update(keys, 0, fn)
}

func (l *Ledger) update(keys []fslease.Key, wait time.Duration, fn func(fslease.Tx) error) error {
	defer l.use()()
	if err := l.ready(); err != nil {
		return err
	}
	for {
		locks, err := l.lockKeys(keys, wait)
		if err != nil {
			return err
		}
		var t *tx
		if t, err = l.begin(locks); err == nil {
			err = fn(t)
		}
		locks.unlock()
		if !errors.Is(err, errLockMoved) {
			return err
		}
		if err := l.checkRoot(); err != nil {
			return err
		}
	}
}

// Save writes rec if the revision on record is still expected.
func (l *Ledger) Save(ctx context.Context, rec fslease.Record, expected int64) error {
	return l.Update(ctx, []fslease.Key{rec.Key}, func(tx fslease.Tx) error {
		st, err := tx.Load(rec.Key)
		if err != nil {
			return err
		}
		var revision int64
		if cur := st.Current(); cur != nil {
			revision = cur.Revision
		}
		if revision != expected || rec.Revision <= st.Revision() {
			return &fslease.RevisionConflictError{Key: rec.Key, Expected: expected, Revision: revision}
		}
		return tx.Put(rec, st.Generation() != rec.Generation)
	})
}
