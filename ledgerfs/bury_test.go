package ledgerfs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// failing lets an operation on a file fail, as long as it does.
type failing struct {
	fsys
	fails func(op, name string) error
}

func (f failing) Remove(name string) error {
	if err := f.fails("remove", name); err != nil {
		return err
	}
	return f.fsys.Remove(name)
}

func (f failing) SyncDir(name string) error {
	if err := f.fails("sync", name); err != nil {
		return err
	}
	return f.fsys.SyncDir(name)
}

func (f failing) Stat(name string) (unix.Stat_t, error) {
	if err := f.fails("stat", name); err != nil {
		return unix.Stat_t{}, err
	}
	return f.fsys.Stat(name)
}

// held makes a lease that no process is bound to, and a ledger in which some operation fails, once.
func held(t *testing.T, op, name string, err error) (*Ledger, *fslease.Manager, fslease.Record) {
	t.Helper()
	l, m := made(t)
	self, e := l.who()
	if e != nil {
		t.Fatal(e)
	}
	self.ID, self.Evidence = NewHolderID(), fslease.EvidenceNone
	records, e := m.AcquireFor(ctx, fslease.Request{Keys: []fslease.Key{"k"}}, fslease.Handover{Holder: self, TTL: time.Hour})
	if e != nil {
		t.Fatal(e)
	}
	l.fsys = failing{l.dir, func(o, n string) error {
		if o != op || n != name || err == nil {
			return nil
		}
		defer func() { err = nil }()
		return err
	}}
	return l, m, records[0]
}

// A key whose lock file goes while it is given up is given up all the same, also beside one that was lost before.
func TestReleasedBesideALostKey(t *testing.T) {
	l, m := made(t)
	lease, err := m.Acquire(ctx, "b", "c")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Break(ctx, "b", "test", nil); err != nil {
		t.Fatal(err)
	}
	looks := 0
	l.fsys = failing{l.dir, func(op, name string) error {
		if op == "stat" && name == "locks/c.lock" {
			if looks++; looks == 2 { // the first is by who has just locked it
				return unix.ENOENT
			}
		}
		return nil
	}}
	if err := lease.Release(); !errors.Is(err, fslease.ErrLost) {
		t.Errorf("release: %v", err)
	}
	if looks < 2 || l.has("leases/c.json") {
		t.Errorf("after %d looks at its lock file c is held still", looks)
	}
}

// Once its tombstone is written a lease is given up, and it is said so: what is left of it the next one clears.
func TestReleasedAlthoughTheFileStays(t *testing.T) {
	l, m, rec := held(t, "remove", "leases/k.json", unix.EIO)
	if err := m.ReleaseToken(ctx, rec.Key, rec.Generation); err != nil {
		t.Errorf("release: %v", err)
	}
	if !l.has("leases/k.json") {
		t.Fatal("the file went")
	}
	if err := m.ReleaseToken(ctx, rec.Key, rec.Generation); !errors.Is(err, fslease.ErrLost) {
		t.Errorf("released twice: %v", err)
	}
	if got := collect(t, l, month, false); got.Released != 1 || l.has("leases/k.json") {
		t.Errorf("collected %+v", got)
	}
}

// A folder that cannot be synced, even for want of space, leaves it unknown whether a tombstone was written; nothing is tried in
// its place.
func TestBrokenUnsurely(t *testing.T) {
	_, m, rec := held(t, "sync", "tombstones", unix.ENOSPC)
	_, err := m.Break(ctx, rec.Key, "test", nil)
	var re *fslease.RepositoryError
	if !errors.As(err, &re) || re.Fault != fslease.FaultUnknown {
		t.Errorf("broken: %v (%T), which does not say that it is unknown", err, err)
	}
}

// gc leaves a key alone of which it cannot tell what there is.
func TestCollectLeavesWhatItCannotSee(t *testing.T) {
	l, m, rec := held(t, "stat", "leases/k.json", unix.EIO)
	before := l.fsys
	l.fsys = l.dir
	if err := m.ReleaseToken(ctx, rec.Key, rec.Generation); err != nil {
		t.Fatal(err)
	}
	l.fsys = before
	if _, err := l.Collect(ctx, -time.Hour, false); err == nil || !strings.Contains(err.Error(), "leases/k.json") {
		t.Errorf("collected: %v", err)
	}
	if !l.has("tombstones/k.json") {
		t.Error("the tombstone went although a lease may stand beside it")
	}
}
