package ledgerfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// tx reads and writes under the locks of some keys.
type tx struct {
	reader
	locks *keyLocks
	lax   bool // what a process holds until it ends need not survive a power cut
	sure  bool // no generation above those on record and the floor was handed out
}

// begin starts a transaction under the locks that were taken.
func (l *Ledger) begin(locks *keyLocks) (*tx, error) {
	t := &tx{reader: reader{l: l, loaded: map[fslease.Key]fslease.State{}}, locks: locks}
	c, err := t.config()
	if err != nil {
		return nil, l.fail(configFile, err)
	}
	t.lax, t.sure, err = l.settleBoot(&c)
	t.cfg = &c
	return t, err
}

// care returns how a write about rec's lease is to survive. What is bound to a process ends with the boot:
// in the next one it is dead, and every generation is above those that a power cut may have lost.
func (t *tx) care(rec fslease.Record, most care) care {
	h := rec.Holder
	if t.lax && !h.IsTicket() && (h.Evidence == fslease.EvidenceLock || h.Evidence == fslease.EvidencePid) {
		return hint
	}
	return most
}

func (t *tx) Now() fslease.Instant { return t.l.clock.Now() }

// save writes one record of key, as long as the locks still protect it.
func (t *tx) save(name string, key fslease.Key, v json.Marshaler, c care) error {
	data, err := v.MarshalJSON()
	if err != nil {
		return err
	}
	data = fslease.Indent(data)
	if len(data) > fslease.MaxRecordBytes {
		return &fslease.RepositoryError{Fault: fslease.FaultLedger, Path: t.l.file(name), What: fmt.Sprintf("it would have %d bytes, more than the %d that are read", len(data), fslease.MaxRecordBytes)}
	}
	return t.l.writeChecked(name, data, c, func() error { return t.locks.protect(key) })
}

func (t *tx) NextGeneration(key fslease.Key, s fslease.State) (int64, error) {
	c, err := t.config()
	if err != nil {
		return 0, t.l.fail(configFile, err)
	}
	next := max(s.Generation(), c.Floor) + 1
	if !t.sure {
		next = max(next, c.Ceiling+1)
	}
	if next <= c.Ceiling {
		return next, nil
	}
	next, c, err = t.l.raiseCeiling(next)
	if err != nil {
		return 0, err
	}
	t.cfg = &c
	if next > c.Ceiling {
		return 0, &fslease.RepositoryError{Fault: fslease.FaultLedger, Key: key, What: "there is no generation left that a record can hold"}
	}
	return next, nil
}

func (t *tx) Put(rec fslease.Record, lasting bool) error {
	c := synced
	if lasting {
		c = durable
		// A release must work on a full disk: the folder of the tombstone is made while there is room.
		if err := t.makeTombFolder(rec.Key); err != nil {
			return err
		}
		if err := t.settleBuried(rec); err != nil {
			return err
		}
		done, err := t.replaceReleased(rec.Key)
		if err != nil {
			return err
		}
		defer done()
		if rec.Holder, err = t.recordable(rec.Holder); err != nil {
			return err
		}
	}
	st := t.loaded[rec.Key]
	c = t.care(rec, c)
	if old := st.Current(); lasting && old != nil { // a transfer: what takes the place of a lease that survives must survive too
		c = max(c, t.care(*old, durable))
	}
	if err := t.save(leasePath(rec.Key), rec.Key, rec, c); err != nil {
		return err
	}
	t.remember(rec.Key, fslease.State{Lease: &rec, Tomb: st.Tomb})
	return nil
}

// settleBuried makes sure that the lease which the tombstone of a key buried is gone, if it was to survive and
// rec need not. For rec's tombstone, which replaces that one, need not survive either: a power cut may tear it,
// and keep the lease that was buried before.
func (t *tx) settleBuried(rec fslease.Record) error {
	tomb := t.loaded[rec.Key].Tomb
	if tomb == nil || t.care(rec, durable) != hint || t.care(fslease.Record{Holder: tomb.LastHolder}, durable) == hint {
		return nil
	}
	folder := path.Dir(leasePath(rec.Key))
	if err := t.l.fsys.SyncDir(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return t.l.fail(folder, err)
	}
	return nil
}

func (t *tx) makeTombFolder(key fslease.Key) error {
	dir := path.Dir(tombstonePath(key))
	if _, err := t.l.fsys.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return t.l.fail(dir, t.l.mkdirAll(dir, true))
	}
	return nil
}

func (t *tx) Bury(rec fslease.Record, tomb fslease.Tombstone) error {
	unlock, err := t.alone(rec.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another one that passes by buried it just now
	}
	if err != nil {
		return err
	}
	defer unlock()
	if !t.l.isSelf(rec.Holder) { // who gives up by itself has waited for its command
		if err := t.l.noteOrphan(rec.Holder); err != nil {
			return err
		}
	}
	// Under the key's own lock nothing has changed since it was read.
	st, known := t.loaded[rec.Key]
	if !known || !t.locks.covers(rec.Key) {
		if st, err = t.Load(rec.Key); err != nil {
			return err
		}
	}
	name := tombstonePath(rec.Key)
	if st.Tomb == nil || st.Tomb.Generation < tomb.Generation {
		if err := t.l.noteExec(rec); err != nil {
			return err
		}
		c := durable
		if tomb.Reason != fslease.ReasonBroken && tomb.Reason != fslease.ReasonTransferred {
			c = t.care(rec, c)
		}
		err := t.save(name, rec.Key, tomb, c)
		if noRoom(err) && !unsure(err) && st.Lease != nil && st.Lease.Generation == rec.Generation {
			return t.buryInPlace(rec, tomb, err)
		}
		if err != nil {
			return err
		}
	}
	if st.Tomb == nil || st.Tomb.Generation < tomb.Generation {
		st.Tomb = &tomb
	}
	if st.Lease != nil && st.Lease.Generation > rec.Generation {
		t.remember(rec.Key, st)
		return nil // a successor has the file
	}
	t.remember(rec.Key, fslease.State{Tomb: st.Tomb})
	free := t.holdFile(rec.Key)
	defer free()
	// The tombstone counts. What is left of the lease if it cannot be removed, or may be a successor's, the next one clears.
	switch err := t.locks.protect(rec.Key); {
	case errors.Is(err, errLockMoved):
		t.l.clearReleased(rec.Key)
	case err == nil && t.l.fsys.Remove(leasePath(rec.Key)) == nil:
		t.logTakeover(rec, tomb)
	}
	return nil
}

// holdFile locks the file of a lease that is to be removed: whoever takes its place waits for that lock, so that the removal does
// not meet a successor although the key's lock file goes after the last look at it. As long as the locks protect it nobody has it.
func (t *tx) holdFile(key fslease.Key) (free func()) {
	fd, _, err := t.l.dir.openRegular(leasePath(key), unix.O_RDONLY)
	if err != nil {
		return func() {}
	}
	_ = ignoreEINTR(func() error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	return func() { _ = unix.Close(fd) }
}

// replaceReleased returns once nobody is about to remove the file of a lease that was given up: see holdFile.
func (t *tx) replaceReleased(key fslease.Key) (done func(), err error) {
	st := t.loaded[key]
	if st.Lease == nil || st.Current() != nil {
		return func() {}, nil
	}
	f, err := t.l.lockExisting(leasePath(key))
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	return f.unlock, nil
}

// clearReleased removes the file of a lease that was given up, if it is no successor's and nobody is in the way. It is for who has lost
// the lock that protected the removal, and may have others: so it waits for none. What it leaves is cleared by the next holder, or by gc.
func (l *Ledger) clearReleased(key fslease.Key) {
	_ = l.TryUpdate(context.Background(), []fslease.Key{key}, func(tx fslease.Tx) error {
		st, err := tx.Load(key)
		if err != nil || st.Lease == nil || st.Current() != nil {
			return err
		}
		return l.fsys.Remove(leasePath(key))
	})
}

// unsure reports whether a write may have been applied although it failed.
func unsure(err error) bool {
	var re *fslease.RepositoryError
	return errors.As(err, &re) && re.Fault == fslease.FaultUnknown
}

// logTakeover is for the one of several that really removed the lease.
func (t *tx) logTakeover(rec fslease.Record, tomb fslease.Tombstone) {
	if tomb.Reason.Takeover() {
		t.Log(fslease.Event{Event: fslease.EventTakenOver, Key: rec.Key, Generation: rec.Generation, Revision: tomb.Revision, Reason: string(tomb.Reason)})
	}
}

// buryInPlace is for where nothing can be written (a full disk, ulimit -f): the lease file itself becomes the
// tombstone, which needs no room.
func (t *tx) buryInPlace(rec fslease.Record, tomb fslease.Tombstone, full error) error {
	if err := t.locks.protect(rec.Key); err != nil {
		return err
	}
	err := t.l.fsys.Rename(leasePath(rec.Key), tombstonePath(rec.Key))
	if err != nil {
		return full
	}
	delete(t.loaded, rec.Key)
	t.logTakeover(rec, tomb)
	if err := t.l.syncAfter(tombstonePath(rec.Key)); err != nil {
		return err
	}
	return t.l.syncAfter(leasePath(rec.Key))
}

// alone makes this process the only one that changes what belongs to key. Under the key's exclusive lock
// it is that already; those who share the lock of an ancestor take turns by a lock on its lease file.
func (t *tx) alone(key fslease.Key) (unlock func(), err error) {
	if t.locks.covers(key) {
		return func() {}, nil
	}
	name := leasePath(key)
	if _, err := t.l.fsys.Stat(name); err != nil {
		return nil, err
	}
	f, err := t.l.lockExisting(name)
	if err != nil {
		return nil, err
	}
	return f.unlock, nil
}

func (t *tx) See(s fslease.Sighting) error {
	unlock, err := t.alone(s.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the lease is gone: nothing to be seen
	}
	if err != nil {
		return err
	}
	defer unlock()
	stored, err := t.Sighting(s.Key)
	if err != nil {
		return err
	}
	same := stored != nil && stored.Generation == s.Generation && stored.Revision == s.Revision && stored.BootID == s.BootID && stored.TimeNS == s.TimeNS
	if same && stored.Mono <= s.Mono {
		return nil
	}
	return t.save(sightingPath(s.Key), s.Key, s, hint)
}

// lockExisting locks a file exclusively that nobody makes if it is missing.
func (l *Ledger) lockExisting(name string) (*lockedFile, error) {
	return l.lock(name, true, l.opt.LockWait, func() error { return &fs.PathError{Op: "lock", Path: name, Err: unix.ENOENT} })
}
