package ledgerfs

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"fslease/fslease"
)

// What belongs to a key is found by its path: the name of a lock file does not always tell the key.

// traces is what lies around of one key.
type traces struct {
	lease, tomb, sighting, lock, fence bool
	temps                              []string // left by writers, full paths
	folder                             bool     // something may be below it
}

// keyFamilies are the folders in which a key has its path, and the endings of its files there.
var keyFamilies = []struct {
	dir  string
	ends map[string]func(*traces) *bool
}{
	{leasesDir, map[string]func(*traces) *bool{".json": func(t *traces) *bool { return &t.lease }}},
	{tombstonesDir, map[string]func(*traces) *bool{".json": func(t *traces) *bool { return &t.tomb }}},
	{sightingsDir, map[string]func(*traces) *bool{".json": func(t *traces) *bool { return &t.sighting }}},
	{locksDir, map[string]func(*traces) *bool{".lock": func(t *traces) *bool { return &t.lock }, ".fence": func(t *traces) *bool { return &t.fence }}},
	{queueDir, nil},
}

func (c *collector) keys(ctx context.Context) error {
	_, err := c.level(ctx, "")
	return err
}

// level goes through the keys whose paths are in the folder at, what is below a key before the key itself.
// It reports whether anything stays.
func (c *collector) level(ctx context.Context, at string) (stays bool, err error) {
	all, stays, err := c.l.tracesIn(at)
	if err != nil {
		return true, err
	}
	for _, seg := range sortedKeys(all) {
		if err := ctx.Err(); err != nil {
			return true, context.Cause(ctx)
		}
		e, below := path.Join(at, seg), false
		if all[seg].folder {
			if below, err = c.level(ctx, e); err != nil {
				return true, err
			}
		}
		left, err := c.key(e, *all[seg], below)
		if err != nil {
			return true, err
		}
		stays = stays || left
	}
	return stays, nil
}

func sortedKeys(m map[string]*traces) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// tracesIn lists the keys in a folder by the last part of their path. waiting says that somebody stands in
// the queue of the key whose folder it is.
func (l *Ledger) tracesIn(at string) (all map[string]*traces, waiting bool, err error) {
	all = map[string]*traces{}
	of := func(seg string) *traces {
		if all[seg] == nil {
			all[seg] = &traces{}
		}
		return all[seg]
	}
	for _, family := range keyFamilies {
		dir := path.Join(family.dir, at)
		names, err := l.list(dir)
		if err != nil {
			return nil, false, err
		}
		for _, n := range names {
			if seg, ok := strings.CutSuffix(n, "/"); ok {
				if !strings.HasPrefix(seg, ".") { // what was set aside
					of(seg).folder = true
				}
				continue
			}
			if family.dir == queueDir {
				waiting = true
				continue
			}
			if isTemporary(n) {
				seg := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(n, "."), ".tmp"), ".json")
				of(seg).temps = append(of(seg).temps, dir+"/"+n)
				continue
			}
			for end, has := range family.ends {
				if seg, ok := strings.CutSuffix(n, end); ok && !strings.HasPrefix(n, ".") {
					*has(of(seg)) = true
				}
			}
		}
	}
	return all, waiting, nil
}

// look is what tracesIn says of one key, now.
func (l *Ledger) look(e string, before traces) (traces, error) {
	t := traces{folder: before.folder}
	for _, family := range keyFamilies {
		for end, has := range family.ends {
			_, err := l.fsys.Stat(path.Join(family.dir, e) + end)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return t, l.fail(path.Join(family.dir, e)+end, err)
			}
			*has(&t) = err == nil
		}
	}
	t.temps = slices.DeleteFunc(before.temps, func(name string) bool { return !l.has(name) })
	return t, nil
}

func (l *Ledger) has(name string) bool {
	_, err := l.fsys.Stat(name)
	return err == nil
}

// A clearing is what is to be removed of one key.
type clearing struct {
	traces
	released bool // the lease, which its tombstone says was given up
	stays    bool // something of the key
}

// key removes what is old of the key at e, under its lock, so that nobody is in the middle of anything. It
// reports whether something of the key stays.
func (c *collector) key(e string, found traces, below bool) (stays bool, err error) {
	found.lock = found.lock || c.made[lockAt(e)] // since it was listed
	todo, err := c.judge(e, found, below)
	if err != nil || todo.nothing() {
		return todo.stays, err
	}
	if !c.dry {
		locks, err := c.lockPath(e)
		if isBusy(err) {
			c.got.Busy++
			return true, nil
		}
		if err != nil {
			return true, err
		}
		defer locks.unlock()
		now, err := c.l.look(e, found)
		if err != nil {
			return true, err
		}
		if todo, err = c.judge(e, now, below); err != nil {
			return true, err
		}
		if err := locks.current(); errors.Is(err, errLockMoved) {
			c.got.Busy++ // a hand removed it: nobody is kept out any more
			return true, nil
		} else if err != nil {
			return true, err
		}
	} else if len(todo.temps) > 0 && len(c.l.lockOwners(lockAt(e))) > 0 {
		todo.temps = nil // of somebody who is writing
	}
	return c.clear(e, todo)
}

func (t clearing) nothing() bool {
	return !t.released && !t.tomb && !t.sighting && !t.lock && !t.fence && !t.folder && len(t.temps) == 0
}

// judge says what of the key at e may go.
func (c *collector) judge(e string, t traces, below bool) (clearing, error) {
	todo := clearing{}
	if t.lease && t.tomb {
		var err error
		if todo.released, err = c.released(e); err != nil {
			return todo, err
		}
		t.lease = !todo.released
	}
	todo.temps, todo.sighting, todo.stays = t.temps, t.sighting && !t.lease, t.lease
	if t.tomb && !t.lease && c.aged() {
		old, err := c.oldTombstone(e)
		if err != nil {
			return todo, err
		}
		todo.tomb = old
	}
	todo.stays = todo.stays || t.tomb && !todo.tomb
	todo.folder = t.folder && !below && c.aged()
	todo.stays = todo.stays || t.folder && !todo.folder
	if !todo.stays && (todo.tomb || c.made[lockAt(e)] || c.oldFile(lockAt(e)) || !t.lock && c.oldFile(fenceAt(e))) {
		todo.lock, todo.fence = t.lock, t.fence
	}
	todo.stays = todo.stays || t.lock && !todo.lock || t.fence && !todo.fence
	return todo, nil
}

// released reports whether the lease at e was given up, and only its file is still there: whoever removes a lease writes its tombstone
// first, and may have died in between. What cannot be read stays.
func (c *collector) released(e string) (bool, error) {
	var rec fslease.Record
	var t fslease.Tombstone
	ok, err := c.r.load(path.Join(leasesDir, e)+".json", "", &rec)
	if ok && err == nil {
		ok, err = c.r.load(path.Join(tombstonesDir, e)+".json", "", &t)
	}
	if err != nil || !ok {
		return false, ignoreUnreadable(err)
	}
	return fslease.State{Lease: &rec, Tomb: &t}.Current() == nil, nil
}

// oldTombstone reports whether the tombstone at e is old enough, and of a generation that is not handed out
// again without it. One that cannot be read stays.
func (c *collector) oldTombstone(e string) (bool, error) {
	var t fslease.Tombstone
	ok, err := c.r.load(path.Join(tombstonesDir, e)+".json", "", &t)
	if err != nil || !ok || !c.old(t.ReleasedAt) {
		return false, ignoreUnreadable(err)
	}
	if c.dry {
		return true, nil
	}
	if c.floor == 0 {
		cfg, err := c.l.raiseFloor(0)
		if err != nil {
			return false, err
		}
		c.floor = cfg.Floor
	}
	return t.Generation <= c.floor, nil
}

// ignoreUnreadable lets pass what is wrong with a record alone.
func ignoreUnreadable(err error) error {
	var re *fslease.RepositoryError
	if errors.As(err, &re) && (re.Fault == fslease.FaultDamaged || re.Fault == fslease.FaultNewer) {
		return nil
	}
	return err
}

// raiseFloor makes every generation handed out from now on higher than all that ever were, and than least,
// durably.
func (l *Ledger) raiseFloor(least int64) (config, error) {
	return l.changeConfig(func(c *config) {
		c.Ceiling = max(c.Ceiling, least)
		c.Floor = c.Ceiling
	})
}

// clear removes what todo says: the records first, the lock last.
func (c *collector) clear(e string, todo clearing) (stays bool, err error) {
	for _, name := range todo.temps {
		if err := c.drop(name, &c.got.Temporaries); err != nil {
			return true, err
		}
	}
	if todo.released {
		if err := c.dropReleased(e); err != nil {
			return true, err
		}
	}
	if todo.tomb {
		if err := c.settleLease(e); err != nil {
			return true, err
		}
		if err := c.drop(path.Join(tombstonesDir, e)+".json", &c.got.Tombstones); err != nil {
			return true, err
		}
	}
	if todo.sighting {
		if err := c.drop(path.Join(sightingsDir, e)+".json", &c.got.Sightings); err != nil {
			return true, err
		}
	}
	if todo.folder {
		for _, family := range keyFamilies {
			if c.dry && !c.l.has(path.Join(family.dir, e)) {
				continue
			}
			gone, err := c.rmdir(path.Join(family.dir, e))
			if err != nil || !gone {
				return true, err
			}
		}
	}
	if todo.fence {
		if kept, err := c.fence(fenceAt(e)); err != nil || kept {
			return true, err
		}
	}
	if todo.lock {
		count := &c.got.Locks
		if c.made[lockAt(e)] {
			count = new(int) // it was not there before
		}
		if err := c.drop(lockAt(e), count); err != nil {
			return true, err
		}
	}
	return todo.stays, nil
}

// dropReleased removes a lease that was given up. Its tombstone is made durable first: a power cut must not leave neither.
func (c *collector) dropReleased(e string) error {
	if !c.dry {
		dir := path.Dir(path.Join(tombstonesDir, e))
		if err := c.l.fsys.SyncDir(dir); err != nil {
			return c.l.fail(dir, err)
		}
	}
	delete(c.synced, path.Dir(path.Join(leasesDir, e)))
	return c.drop(path.Join(leasesDir, e)+".json", &c.got.Released)
}

// settleLease makes sure, once a folder, that the leases that were removed from it stay so: in a power cut the
// removal of the tombstone that says so may reach the disk first.
func (c *collector) settleLease(e string) error {
	folder := path.Dir(path.Join(leasesDir, e))
	if c.dry || c.synced[folder] {
		return nil
	}
	c.synced[folder] = true
	err := c.l.fsys.SyncDir(folder)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return c.l.fail(folder, err)
	case folder == leasesDir:
		return nil // there never was a lease
	}
	return c.settleLease(path.Dir(e)) // the folder went too
}

// fence removes a fence file unless some command keeps the fence. It is had while the file goes: whoever
// opened it before finds it gone once it has the lock.
func (c *collector) fence(name string) (kept bool, err error) {
	if c.dry {
		return false, c.drop(name, &c.got.Locks)
	}
	f := &Fence{}
	defer func() { _ = f.Close() }()
	if free, err := c.l.addFence(f, name, true); err != nil || !free {
		return true, err
	}
	return false, c.drop(name, &c.got.Locks)
}

func lockAt(e string) string  { return path.Join(locksDir, e) + ".lock" }
func fenceAt(e string) string { return path.Join(locksDir, e) + ".fence" }

// lockPath takes the lock of the key at e and, shared, those above it, without waiting.
func (c *collector) lockPath(e string) (*keyLocks, error) {
	return c.l.lockPath(e, 0, func(name string) { c.made[name] = true })
}

// lockPath takes the lock of the key at e within wait and, shared, those above it. missing is told of lock
// files that have to be made.
func (l *Ledger) lockPath(e string, wait time.Duration, missing func(name string)) (*keyLocks, error) {
	locks := &keyLocks{}
	segs := strings.Split(e, "/")
	for i := range segs {
		name := lockAt(path.Join(segs[:i+1]...))
		f, err := l.lock(name, i == len(segs)-1, wait, func() error {
			missing(name)
			return l.makeEmpty(name)
		})
		if err != nil {
			locks.unlock()
			return nil, err
		}
		locks.files = append(locks.files, f)
	}
	return locks, nil
}

func isBusy(err error) bool {
	var re *fslease.RepositoryError
	return errors.As(err, &re) && re.Fault == fslease.FaultBusy
}
