package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"fslease/fslease"
	"fslease/hostproc"
	"fslease/ledgerfs"
)

// A contestant does a lease's work in this process, on one key of a storage of its own. What it cannot do is nil.
type contestant struct {
	acquire func() error // fails with errHeld if somebody else has the key
	await   func() error // waits for it
	release func() error
	renew   func() error // while it is held
	check   func() error // while it is held
	close   func() error
}

var errHeld = errors.New("held")

// contestants are made in a folder of their own; sqlite is added by a build tag.
var contestants = map[string]func(dir string) (contestant, error){
	"ours":              func(dir string) (contestant, error) { return ours(dir, "k", false) },
	"ours, sync_grants": func(dir string) (contestant, error) { return ours(dir, "k", true) },
	"flock":             bareFlock,
}

const (
	sqliteNormal = "SQLite, synchronous=NORMAL"
	sqliteFull   = "SQLite, synchronous=FULL"
)

func ours(dir, key string, sync bool) (contestant, error) {
	if _, err := ledgerfs.Init(dir, false); err != nil {
		return contestant{}, err
	}
	if sync {
		if err := setSyncGrants(filepath.Join(dir, "ledger.json")); err != nil {
			return contestant{}, err
		}
	}
	l, err := ledgerfs.Open(dir, ledgerfs.Options{Processes: hostproc.New()})
	if err != nil {
		return contestant{}, err
	}
	m, err := fslease.NewManager(l, fslease.Options{})
	if err != nil {
		return contestant{}, err
	}
	ctx := context.Background()
	var lease *fslease.Lease
	return contestant{
		acquire: func() (err error) {
			lease, err = m.Acquire(ctx, key)
			return err
		},
		await: func() (err error) {
			lease, err = m.AcquireWait(ctx, key)
			return err
		},
		release: func() error { return lease.Release() },
		renew:   func() error { return lease.Renew(ctx) },
		check: func() error {
			held, err := m.Check(ctx, fslease.Key(key), lease.Token())
			if err == nil && !held {
				err = errors.New("the key that is held is not held")
			}
			return err
		},
		close: l.Close,
	}, nil
}

// bareFlock takes the lock on a file, and nothing else.
func bareFlock(dir string) (contestant, error) {
	name := filepath.Join(dir, "f")
	fd := -1
	take := func(how int) error {
		var err error
		if fd, err = unix.Open(name, unix.O_RDONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600); err != nil {
			return err
		}
		return unix.Flock(fd, how)
	}
	return contestant{
		acquire: func() error { return take(unix.LOCK_EX | unix.LOCK_NB) },
		await:   func() error { return take(unix.LOCK_EX) },
		release: func() error { return unix.Close(fd) },
		close:   func() error { return nil },
	}, nil
}

// named makes the contestants of the given names, in p, each with a folder of its own.
func (b *bench) named(p place, names ...string) ([]contestant, func(), error) {
	var all []contestant
	done := func() {
		for _, c := range all {
			_ = c.close()
		}
	}
	for _, name := range names {
		dir, err := p.folder()
		if err != nil {
			return nil, done, err
		}
		c, err := contestants[name](dir)
		if err != nil {
			return nil, done, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, c)
	}
	return all, done, nil
}

// timed returns a contestant's turn: what one of n times of do took on average.
func timed(n int, do func() error) func() (time.Duration, error) {
	return func() (time.Duration, error) {
		start := time.Now()
		for range n {
			if err := do(); err != nil {
				return 0, err
			}
		}
		return time.Since(start) / time.Duration(n), nil
	}
}

// library compares what programs do that hold keys themselves.
func library(b *bench) error {
	for _, p := range b.places {
		if err := b.libraryIn(p); err != nil {
			return err
		}
	}
	return nil
}

// A comparison is of two contestants, and how many times faster the first one is to be at acquire + release, on disk.
type comparison struct {
	name, peer string
	floor, aim float64
}

var comparisons = []comparison{
	{"ours", sqliteFull, 2, 5},
	{"ours", sqliteNormal, 0, 0},
	{"ours, sync_grants", sqliteFull, 0, 0},
	{"ours", "flock", 0, 0},
}

// An operation is what the library is measured at.
type operation struct {
	name   string
	held   bool // while the key is held
	writes bool
	of     func(contestant) func() error // nil: it has nothing of the kind
}

const grantAndRelease = "acquire + release"

var operations = []operation{
	{grantAndRelease, false, true, func(c contestant) func() error { return c.toAndFro }},
	{"renew", true, true, func(c contestant) func() error { return c.renew }},
	{"check", true, false, func(c contestant) func() error { return c.check }},
}

// toAndFro takes the key and gives it back.
func (c contestant) toAndFro() error {
	if err := c.acquire(); err != nil {
		return err
	}
	return c.release()
}

func (b *bench) libraryIn(p place) error {
	names := []string{"ours", "ours, sync_grants", "flock"}
	if contestants[sqliteFull] != nil {
		names = append(names, sqliteNormal, sqliteFull)
	}
	all, done, err := b.named(p, names...)
	defer done()
	if err != nil {
		return err
	}
	for _, op := range operations {
		took, err := b.operate(op, names, all)
		if err != nil {
			return fmt.Errorf("%s: %w", op.name, err)
		}
		for _, c := range comparisons {
			if c.peer == sqliteFull && (p != b.disk() || !op.writes) {
				continue // the same as NORMAL
			}
			r := row{figure: fmt.Sprintf("library: %s, %s, %s", op.name, c.name, p.name), ours: took[c.name], peer: c.peer, theirs: took[c.peer], faster: true}
			if p == b.disk() && op.name == grantAndRelease {
				r.floor, r.aim = c.floor, c.aim
			}
			switch {
			case took[c.peer] != nil:
			case c.peer == "flock":
				continue // it has nothing of the kind
			default:
				r.notRun = b.withoutSQLite()
			}
			b.add(r)
		}
	}
	return nil
}

// operate measures one operation of all who have it.
func (b *bench) operate(op operation, names []string, all []contestant) (map[string]series, error) {
	var who []string
	var runs []func() (time.Duration, error)
	for i, c := range all {
		do := op.of(c)
		if do == nil {
			continue
		}
		if op.held {
			if err := c.acquire(); err != nil {
				return nil, err
			}
			defer c.release()
		}
		who = append(who, names[i])
		runs = append(runs, timed(b.times(10, 1), do))
	}
	measured, err := race(b.times(100, 1), runs...)
	took := map[string]series{}
	for i := range measured {
		took[who[i]] = measured[i]
	}
	return took, err
}

// withoutSQLite says why there is no SQLite to compare with; "" if there is.
func (b *bench) withoutSQLite() string {
	switch {
	case contestants[sqliteFull] != nil:
		return ""
	case b.onlyOurs:
		return "--only-ours"
	}
	return "its client needs a C compiler"
}

// setSyncGrants makes the ledger sync every grant.
func setSyncGrants(file string) error {
	return edit(file, func(fields map[string]any) { fields["settings"] = map[string]any{"sync_grants": true} })
}

// handover measures how long after a release the one who waited has the key, between processes.
func handover(b *bench) error {
	for _, p := range b.places {
		names := []string{"ours", "flock"}
		if contestants[sqliteNormal] != nil {
			names = append(names, sqliteNormal)
		}
		var runs []func() (time.Duration, error)
		for _, name := range names {
			turn, stop, err := b.pair(p, name)
			defer stop()
			if err != nil {
				return err
			}
			runs = append(runs, turn)
		}
		took, err := race(b.times(150, 1), runs...)
		if err != nil {
			return err
		}
		title := "library: from release to grant of a waiter, " + p.name
		b.add(row{figure: title, ours: took[0], peer: "flock", theirs: took[1]})
		r := row{figure: title, ours: took[0], peer: sqliteNormal + ", looking again every ms", notRun: b.withoutSQLite()}
		if len(took) > 2 {
			r.theirs = took[2]
		}
		b.add(r)
	}
	return nil
}

// pair starts two processes that hand the key of one storage to and fro. A turn is from the moment before one releases
// it until the other one has it.
func (b *bench) pair(p place, name string) (turn func() (time.Duration, error), stop func(), err error) {
	var both []*child
	stop = func() {
		for _, c := range both {
			c.kill()
		}
	}
	dir, err := p.folder()
	if err != nil {
		return nil, stop, err
	}
	for range 2 {
		c, err := b.start(nil, b.self, "worker", name, dir)
		if err != nil {
			return nil, stop, err
		}
		both = append(both, c)
		if _, err := c.line(); err != nil { // one after the other: they make the storage
			return nil, stop, err
		}
	}
	holder, next := both[0], both[1]
	if _, err := holder.does("w"); err != nil {
		return nil, stop, err
	}
	return func() (time.Duration, error) {
		if _, err := next.in.Write([]byte("w")); err != nil {
			return 0, err
		}
		time.Sleep(20 * time.Millisecond) // it waits
		released, err := holder.does("r")
		if err != nil {
			return 0, err
		}
		granted, err := next.number()
		holder, next = next, holder
		return time.Duration(granted - released), err
	}, stop, nil
}

// does sends a worker a word and returns its answer.
func (c *child) does(word string) (int64, error) {
	if _, err := c.in.Write([]byte(word)); err != nil {
		return 0, err
	}
	return c.number()
}

// worker is a process that takes (w) and releases (r) a key as it is told on its standard input, and answers each time
// with the time on CLOCK_MONOTONIC: after it got the key, before it releases it.
func worker(args []string) error {
	c, err := contestants[args[0]](args[1])
	if err != nil {
		return err
	}
	defer c.close()
	fmt.Println("ready")
	for word := make([]byte, 1); ; {
		if _, err := os.Stdin.Read(word); err != nil {
			return nil // nobody is left who asks
		}
		at := monotonic()
		switch word[0] {
		case 'w':
			if err = c.await(); err == nil {
				at = monotonic()
			}
		case 'r':
			err = c.release()
		}
		if err != nil {
			return err
		}
		fmt.Println(at)
	}
}

func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}
