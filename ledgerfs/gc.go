package ledgerfs

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// Collected counts what a collection removed, or would remove.
type Collected struct {
	Tombstones  int `json:"tombstones"`
	Locks       int `json:"locks"` // lock and fence files of keys of which nothing else is left
	Sessions    int `json:"sessions"`
	Journals    int `json:"journals"`
	Aside       int `json:"aside"` // damaged files that were set aside
	Waiters     int `json:"waiters"`
	Sightings   int `json:"sightings"`
	Holders     int `json:"holders"`
	Orphans     int `json:"orphans"`
	Released    int `json:"released"` // leases that their tombstones say were given up
	Temporaries int `json:"temporaries"`
	Folders     int `json:"folders"`
	Busy        int `json:"busy"` // keys that were in use and are left for the next time
}

// litter is the part of c that has no age: what crashes left behind.
func (c Collected) litter() []counted {
	return []counted{
		{c.Waiters, "queue entry of a dead waiter", "queue entries of dead waiters"},
		{c.Sightings, "sighting of no lease", "sightings of no lease"},
		{c.Holders, "file of a dead holder that nothing names", "files of dead holders that nothing names"},
		{c.Orphans, "note of a command that is gone", "notes of commands that are gone"},
		{c.Released, "lease that was given up", "leases that were given up"},
		{c.Temporaries, "temporary file", "temporary files"},
	}
}

// counted is a number of things, with what one and several are called.
type counted struct {
	n         int
	one, many string
}

func (k counted) String() string {
	if k.n == 1 {
		return "1 " + k.one
	}
	return strconv.Itoa(k.n) + " " + k.many
}

// String names what was collected, for people; it is empty if that is nothing.
func (c Collected) String() string {
	all := append([]counted{
		{c.Tombstones, "tombstone", "tombstones"},
		{c.Locks, "lock or fence file", "lock and fence files"},
		{c.Sessions, "ended session", "ended sessions"},
		{c.Journals, "month of the journal", "months of the journal"},
		{c.Aside, "damaged file that was set aside", "damaged files that were set aside"},
	}, c.litter()...)
	return listed(append(all, counted{c.Folders, "empty folder", "empty folders"}))
}

func listed(all []counted) string {
	var parts []string
	for _, k := range all {
		if k.n > 0 {
			parts = append(parts, k.String())
		}
	}
	return strings.Join(parts, ", ")
}

// A collector removes what nobody needs any more. It takes part in the protocol like everybody else: what
// belongs to a key is looked at again and removed under that key's lock, which is never waited for. A key
// in use is left for the next time.
type collector struct {
	l      *Ledger
	r      *reader
	now    time.Time
	before time.Time // what is older goes; the zero time: litter only
	dry    bool
	floor  int64           // every generation handed out from now on is above it; 0: not raised yet
	made   map[string]bool // lock files that the collector itself had to make
	synced map[string]bool // folders of leases
	got    Collected
}

// Collect removes tombstones, the lock and fence files of keys of which nothing else is left, ended
// sessions that are not their ticket's current one, whole months of the journal, and damaged files that
// were set aside, if they are older than olderThan by the wall clock; and, whatever their age, what
// crashes left behind, and empty folders. Tickets stay. What is dated in the future is left alone.
//
// No generation comes back: before the first tombstone goes, the floor is raised durably to the ceiling,
// and only tombstones up to that floor go. What is given up meanwhile stays for the next time. With dry
// nothing is written and nothing locked.
func (l *Ledger) Collect(ctx context.Context, olderThan time.Duration, dry bool) (Collected, error) {
	if err := l.attach(); errors.Is(err, fs.ErrNotExist) {
		return Collected{}, nil
	} else if err != nil {
		return Collected{}, err
	}
	if _, err := l.readConfig(); errors.Is(err, fs.ErrNotExist) {
		return Collected{}, nil
	} else if err != nil {
		return Collected{}, err
	}
	now := l.clock.Now().Wall
	c := l.collector(dry)
	c.before = now.Add(-olderThan)
	err := c.run(ctx, c.leftovers, c.waiters, c.sessions, c.keys, c.holders, c.orphans, c.journals)
	if what := c.got.String(); what != "" && !dry {
		l.Log(fslease.Event{Event: eventGC, Reason: "removed " + what})
	}
	return c.got, err
}

// Events of maintenance, in the journal.
const (
	eventGC       = "gc"
	eventRepaired = "repaired"
)

// collector returns one for litter only.
func (l *Ledger) collector(dry bool) *collector {
	return &collector{l: l, r: &reader{l: l}, now: time.Now(), dry: dry, made: map[string]bool{}, synced: map[string]bool{}}
}

func (c *collector) run(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// aged reports whether c removes what has an age at all.
func (c *collector) aged() bool { return !c.before.IsZero() }

func (c *collector) old(t time.Time) bool { return c.aged() && t.Before(c.before) }

// oldFile reports whether a file was last written long enough ago.
func (c *collector) oldFile(name string) bool {
	st, err := c.l.fsys.Stat(name)
	return err == nil && c.old(time.Unix(st.Mtim.Unix()))
}

// drop removes a file and counts it. One that is gone already is not counted.
func (c *collector) drop(name string, count *int) error {
	if c.dry && !c.l.has(name) {
		return nil
	}
	if !c.dry {
		err := c.l.fsys.Remove(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return c.l.fail(name, err)
		}
	}
	*count++
	return nil
}

// rmdir removes a folder if it is empty, and reports whether it is gone.
func (c *collector) rmdir(name string) (bool, error) {
	if !c.dry {
		err := c.l.fsys.Rmdir(name)
		switch {
		case errors.Is(err, unix.ENOENT):
			return true, nil
		case errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.EEXIST):
			return false, nil
		case err != nil:
			return false, c.l.fail(name, err)
		}
	}
	c.got.Folders++
	return true, nil
}

// list is List for a folder that may be missing.
func (l *Ledger) list(name string) ([]string, error) {
	names, err := l.fsys.List(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, l.fail(name, err)
}

// journals removes the months that ended long enough ago.
func (c *collector) journals(context.Context) error {
	names, err := c.l.list(journalDir)
	for _, n := range names {
		month, ok := journalMonth(n)
		if ok && c.old(month.AddDate(0, 1, 0)) {
			if err := c.drop(journalDir+"/"+n, &c.got.Journals); err != nil {
				return err
			}
		}
	}
	return err
}

// temporaryPatience is after how long a temporary file is litter wherever that cannot be told by a lock. To
// lose it is an error for whoever is still writing it, and nothing else.
const temporaryPatience = time.Hour

// leftovers removes the temporary files of writers that have died, all but those of keys, which are swept
// under the key's lock; and damaged files by when they were set aside, which a renaming does not write
// into the time of the last change of their content.
func (c *collector) leftovers(context.Context) error {
	return c.l.walkAll(".", func(name string, folder bool) error {
		if folder || !isTemporary(name) && !isAside(name) {
			return nil
		}
		st, err := c.l.fsys.Stat(name)
		switch {
		case err != nil: // gone
		case isAside(name) && c.old(time.Unix(st.Ctim.Unix())):
			return c.drop(name, &c.got.Aside)
		case isTemporary(name) && !ofKey(name) && c.now.Sub(time.Unix(st.Mtim.Unix())) > temporaryPatience:
			return c.drop(name, &c.got.Temporaries)
		}
		return nil
	})
}

func isTemporary(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") && strings.HasSuffix(base, ".tmp")
}

// isAside reports whether name is what setAside makes.
func isAside(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".") && strings.Contains(base, ".damaged-")
}

// ofKey reports whether a file is written under the lock of the key that its path names.
func ofKey(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return top == leasesDir || top == tombstonesDir || top == sightingsDir
}

// walkAll calls visit with everything below a folder, folders before what is in them.
func (l *Ledger) walkAll(dir string, visit func(name string, folder bool) error) error {
	names, err := l.list(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		name, folder := strings.CutSuffix(n, "/")
		if dir != "." {
			name = dir + "/" + name
		}
		if err := visit(name, folder); err != nil {
			return err
		}
		if folder {
			if err := l.walkAll(name, visit); err != nil {
				return err
			}
		}
	}
	return nil
}
