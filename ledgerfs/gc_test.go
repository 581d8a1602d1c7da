package ledgerfs

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// spy tells of each change of the file system before it is made.
type spy struct {
	fsys
	before func(op, name string)
}

func (s spy) Remove(name string) error { s.before("remove", name); return s.fsys.Remove(name) }
func (s spy) Rename(from, to string) error {
	s.before("rename", to)
	return s.fsys.Rename(from, to)
}
func (s spy) SyncDir(name string) error { s.before("sync", name); return s.fsys.SyncDir(name) }

const month = 30 * 24 * time.Hour

var ctx = context.Background()

func tombstone(key string, gen int, at string) string {
	return fmt.Sprintf(`{"schema":1,"key":%q,"generation":%d,"revision":2,"released_at":%q,"reason":"released"}`, key, gen, at)
}

// collect collects and fails the test on an error.
func collect(t *testing.T, l *Ledger, olderThan time.Duration, dry bool) Collected {
	t.Helper()
	c, err := l.Collect(ctx, olderThan, dry)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// age dates a file back.
func age(t *testing.T, l *Ledger, name string) {
	t.Helper()
	long := time.Now().Add(-2 * month)
	if err := os.Chtimes(l.file(name), long, long); err != nil {
		t.Fatal(err)
	}
}

// What is older than asked goes, what is younger or dated in the future stays, and a dry run tells the same
// without doing it.
func TestCollectByAge(t *testing.T) {
	l, m := made(t)
	now := time.Now().UTC()
	for key, at := range map[string]time.Time{"old": now.Add(-2 * month), "young": now.Add(-time.Hour), "future": now.Add(2 * month), "a/b/old": now.Add(-2 * month)} {
		put(t, l, "tombstones/"+key+".json", tombstone(key, 7, at.Format(fslease.TimeFormat)))
		for _, end := range []string{".lock", ".fence"} {
			put(t, l, "locks/"+key+end, "")
			age(t, l, "locks/"+key+end)
		}
	}
	put(t, l, "locks/unused.lock", "")
	put(t, l, "locks/unused-but-old.lock", "")
	age(t, l, "locks/unused-but-old.lock")
	put(t, l, "locks/a.lock", "")
	put(t, l, "locks/a/b.lock", "")
	age(t, l, "locks/a.lock")
	age(t, l, "locks/a/b.lock")
	for _, at := range []time.Time{now, now.AddDate(0, -4, 0), now.AddDate(0, 4, 0)} {
		put(t, l, "journal/"+at.Format("2006-01")+".jsonl", "")
	}
	put(t, l, "journal/notes.txt", "of a person")
	if _, err := m.Acquire(ctx, "held"); err != nil {
		t.Fatal(err)
	}
	age(t, l, "locks/held.lock")

	want := Collected{Tombstones: 2, Locks: 7, Journals: 1, Folders: 4}
	before := filesBelow(t, l, ".")
	if got := collect(t, l, month, true); got != want {
		t.Errorf("a dry run tells of\n%+v, want\n%+v", got, want)
	}
	if after := filesBelow(t, l, "."); !slices.Equal(before, after) {
		t.Errorf("a dry run changed\n%v to\n%v", before, after)
	}
	if got := collect(t, l, month, false); got != want {
		t.Errorf("collected\n%+v, want\n%+v", got, want)
	}
	left := filesBelow(t, l, leasesDir, tombstonesDir, locksDir)
	if want := []string{"leases/held.json", "tombstones/future.json", "tombstones/young.json", "locks/future.fence", "locks/future.lock",
		"locks/held.lock", "locks/unused.lock", "locks/young.fence", "locks/young.lock"}; !slices.Equal(left, want) {
		t.Errorf("left are\n%v, want\n%v", left, want)
	}
	if got := filesBelow(t, l, journalDir); len(got) != 3 {
		t.Errorf("journals left: %v", got)
	}
	if got := collect(t, l, month, false); got != (Collected{}) {
		t.Errorf("a second time: %+v", got)
	}
}

// The floor is on the disk before the first tombstone goes, and every file goes while its lock is had.
func TestCollectOrder(t *testing.T) {
	l, _ := made(t)
	for i := range 3 {
		key := fmt.Sprintf("a/%d", i)
		put(t, l, "tombstones/"+key+".json", tombstone(key, 7, "2020-01-02T03:04:05Z"))
		put(t, l, "locks/"+key+".fence", "")
	}
	free := func(name string) bool {
		fd, _, err := l.dir.openRegular(name, unix.O_RDONLY)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Close(fd) }()
		return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) == nil
	}
	var ops []string
	l.fsys = spy{l.dir, func(op, name string) {
		ops = append(ops, op+" "+name)
		top, rest, _ := strings.Cut(name, "/")
		if op == "remove" && (top == locksDir && free(name) || top == tombstonesDir && free(lockAt(strings.TrimSuffix(rest, ".json")))) {
			t.Errorf("%s is removed without its lock", name)
		}
	}}
	if got := collect(t, l, month, false); got.Tombstones != 3 || got.Locks != 3 {
		t.Errorf("collected %+v", got)
	}
	first := slices.IndexFunc(ops, func(op string) bool { return strings.HasPrefix(op, "remove tombstones/") })
	if first < 0 || !slices.Contains(ops[:first], "rename "+configFile) || !slices.Contains(ops[:first], "sync .") {
		t.Errorf("the floor was not on the disk before the first tombstone went\n%s", strings.Join(ops, "\n"))
	}
	if c, err := l.readConfig(); err != nil || c.Floor != c.Ceiling || c.Floor < 7 {
		t.Errorf("%+v, %v", c, err)
	}
}

// A generation that was handed out after the floor was raised is not forgotten, even if the clock was set
// back so that its tombstone looks old.
func TestCollectLeavesWhatIsAboveTheFloor(t *testing.T) {
	l, _ := made(t)
	put(t, l, "tombstones/a.json", tombstone("a", 7, "2020-01-02T03:04:05Z"))
	put(t, l, "tombstones/b.json", tombstone("b", 9, "2020-01-02T03:04:05Z"))
	l.fsys = spy{l.dir, func(op, name string) {
		if op == "remove" && name == "tombstones/a.json" {
			if _, _, err := l.raiseCeiling(1500); err != nil { // as grants do
				t.Fatal(err)
			}
			put(t, l, "tombstones/b.json", tombstone("b", 1500, "2020-01-02T03:04:05Z"))
		}
	}}
	if got := collect(t, l, month, false); got.Tombstones != 1 {
		t.Errorf("collected %+v", got)
	}
	if _, err := os.Stat(l.file("tombstones/b.json")); err != nil {
		t.Errorf("the generation 1500 of b is forgotten: %v", err)
	}
	l.fsys = l.dir
	if got := collect(t, l, month, false); got.Tombstones != 1 {
		t.Errorf("the next time: %+v", got)
	}
}

// What dead processes left goes whatever its age: but a liveness file only when nothing names it, for it is
// what proves that its holder is dead.
func TestCollectWhatTheDeadLeft(t *testing.T) {
	l, _ := made(t)
	announce := func() *Presence {
		p, err := l.Announce(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.(*Presence).drop)
		return p.(*Presence)
	}
	living, dead, named, waiter, session, gaveUp := announce(), announce(), announce(), announce(), announce(), announce()
	hold := func(key fslease.Key, h fslease.Holder) {
		err := l.Update(ctx, []fslease.Key{key}, func(tx fslease.Tx) error {
			return tx.Put(fslease.Granted(fslease.State{}, fslease.Grant{Key: key, Holder: h}, 1, tx.Now()), true)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	hold("named", named.Holder())
	hold("given/up", gaveUp.Holder()) // by somebody who died before the lease was unlinked
	given, err := fslease.Tombstone{Key: "given/up", Generation: 1, Revision: 2, ReleasedAt: time.Now(), Reason: fslease.ReasonReleased, LastHolder: gaveUp.Holder()}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	put(t, l, tombstonePath("given/up"), string(given))
	gone := named.Holder()
	gone.PID, gone.StartTime, gone.PidfdInode = 1, 1, 0 // pid 1 began at another time
	for _, p := range []*Presence{dead, named} {
		if err := p.NoteCommand([]fslease.Record{{Key: "k", Generation: 1}}, gone); err != nil {
			t.Fatal(err)
		}
	}
	enter := func(h fslease.Holder) fslease.Waiter {
		var w fslease.Waiter
		err := l.Update(ctx, []fslease.Key{"named", "other"}, func(tx fslease.Tx) (err error) {
			w, err = tx.Enqueue(fslease.Waiter{Keys: []fslease.Key{"named", "other"}, Holder: h, Since: tx.Now().Wall})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	enter(living.Holder())
	w := enter(waiter.Holder())
	if err := l.MarkTurn(w, l.clock.Now()); err != nil {
		t.Fatal(err)
	}
	put(t, l, "queue/named/000009.json", "{")
	sessionHolder := session.Holder()
	err = l.Update(ctx, []fslease.Key{"ticket:42"}, func(tx fslease.Tx) error {
		return tx.PutSession(fslease.NewSession("42", 3, time.Hour, &sessionHolder, tx.Now()))
	})
	if err != nil {
		t.Fatal(err)
	}
	orphan, err := fslease.CommandNote{Keys: []fslease.Key{"k"}, Generation: 1, Process: gone}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	put(t, l, orphanPath(gone.ID), string(orphan))
	put(t, l, "sightings/nobody.json", "")
	put(t, l, "sightings/named.json", "")
	put(t, l, "leases/.named.json.tmp", "half a rec")
	for _, p := range []*Presence{dead, named, waiter, session, gaveUp} {
		p.drop()
	}

	want := Collected{Waiters: 3, Sightings: 1, Holders: 2, Orphans: 1, Released: 1, Temporaries: 1}
	if got := collect(t, l, month, true); got != want {
		t.Errorf("a dry run tells of\n%+v, want\n%+v", got, want)
	}
	// With the entry of the dead waiter goes its mark, and its file, which nothing names any more; with the lease that was given up
	// its holder's.
	want.Waiters++
	want.Holders += 2
	if got := collect(t, l, month, false); got != want {
		t.Errorf("collected\n%+v, want\n%+v", got, want)
	}
	var left []string
	for _, id := range []string{living.holder.ID, named.holder.ID, session.holder.ID} {
		left = append(left, holderPath(id))
	}
	left = append(left, commandPath(named.holder.ID))
	slices.Sort(left)
	got := filesBelow(t, l, holdersDir)
	slices.Sort(got)
	if !slices.Equal(got, left) {
		t.Errorf("left are\n%v, want\n%v", got, left)
	}
	if v := l.Probe(named.Holder()); v.Life != fslease.Dead {
		t.Errorf("the holder that a lease names is not known to be dead any more: %+v", v)
	}
}

// A key in use keeps all its files: while somebody has its lock, while a command keeps its fence, while
// somebody waits for it, and while something is held below it.
func TestCollectLeavesWhatIsInUse(t *testing.T) {
	for name, use := range map[string]func(t *testing.T, l *Ledger){
		"lock": func(t *testing.T, l *Ledger) {
			f, err := l.lockFile("locks/k.lock", true, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(f.unlock)
		},
		"fence": func(t *testing.T, l *Ledger) {
			f, keepers, err := l.TryFence(ctx, []fslease.Key{"k/below"})
			if err != nil || f == nil {
				t.Fatal(keepers, err)
			}
			t.Cleanup(func() { _ = f.Unlock() })
		},
		"waiter": func(t *testing.T, l *Ledger) {
			p, err := l.Announce(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			err = l.Update(ctx, []fslease.Key{"k"}, func(tx fslease.Tx) error {
				_, err := tx.Enqueue(fslease.Waiter{Keys: []fslease.Key{"k"}, Holder: p.Holder(), Since: tx.Now().Wall})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		},
		"below": func(t *testing.T, l *Ledger) {
			if _, err := manager(t, l).Acquire(ctx, "k/below"); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := made(t)
			put(t, l, "locks/k.lock", "")
			put(t, l, "locks/k.fence", "")
			use(t, l)
			collect(t, l, -time.Hour, false)
			if names := filesBelow(t, l, locksDir); !slices.Contains(names, "locks/k.lock") || !slices.Contains(names, "locks/k.fence") {
				t.Errorf("left are %v", names)
			}
		})
	}
}

// Sessions that ended go, but the one that a ticket names stays with it, and so does one that is active.
// Tickets stay.
func TestCollectSessions(t *testing.T) {
	l, _ := made(t)
	err := l.Update(ctx, []fslease.Key{"ticket:42", "ticket:43"}, func(tx fslease.Tx) error {
		for id, n := range map[string]int64{"42": 4, "43": 1} {
			for gen := int64(1); gen <= n; gen++ {
				s := fslease.NewSession(id, gen, time.Hour, nil, tx.Now())
				if gen != 3 {
					s = s.Ended(fslease.SessionEnded)
				}
				if err := tx.PutSession(s); err != nil {
					return err
				}
				age(t, l, sessionPath(id, gen))
			}
		}
		return tx.PutTicket(fslease.Ticket{ID: "42", Status: fslease.Done, Session: 4})
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := collect(t, l, month, false); got.Sessions != 3 {
		t.Errorf("collected %+v", got)
	}
	want := []string{"sessions/42", "sessions/42/3.json", "sessions/42/4.json", "tickets/42.json"}
	if got := filesBelow(t, l, sessionsDir, ticketsDir); !slices.Equal(got, want) {
		t.Errorf("left are %v, want %v", got, want)
	}
}

// What was set aside is kept as long as everything else, from when it was set aside.
func TestCollectWhatWasSetAside(t *testing.T) {
	l, _ := made(t)
	put(t, l, "leases/k.json", "{")
	age(t, l, "leases/k.json")
	aside, err := l.setAside("leases/k.json")
	if err != nil {
		t.Fatal(err)
	}
	if got := collect(t, l, month, false); got.Aside != 0 {
		t.Errorf("collected %+v", got)
	}
	if got := collect(t, l, -time.Hour, false); got.Aside != 1 || l.has(aside) {
		t.Errorf("collected %+v", got)
	}
}

// A ledger that does not exist is not made, and one with damaged records loses none of them.
func TestCollectOnOddLedgers(t *testing.T) {
	dir := path.Join(t.TempDir(), "none")
	if got := collect(t, opened(t, dir), 0, false); got != (Collected{}) {
		t.Errorf("collected %+v", got)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a ledger was made")
	}
	l, _ := made(t)
	put(t, l, "leases/damaged.json", "{")
	put(t, l, "tombstones/damaged-too.json", "")
	put(t, l, "tombstones/newer.json", `{"schema":2}`)
	put(t, l, "tickets/7.json", "?")
	put(t, l, "sessions/7/1.json", "?")
	put(t, l, "orphans/"+strings.Repeat("a", 32)+".json", "?")
	before := filesBelow(t, l, ".")
	collect(t, l, -time.Hour, false)
	if after := filesBelow(t, l, "."); len(after) < len(before) {
		t.Errorf("was\n%v, is\n%v", before, after)
	}
}
