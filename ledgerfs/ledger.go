// Package ledgerfs keeps a ledger in a directory: one JSON file a lease, tombstone, ticket and session,
// written atomically under per-key lock files. "Who holds it right now?" is answered by ls and cat.
package ledgerfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// Processes is what a ledger asks about processes. Package hostproc answers from the operating system.
type Processes interface {
	// Self returns this process as a holder, without id and evidence.
	Self() (fslease.Holder, error)
	// Judge says whether a holder's process lives, by pid, start time, boot and namespaces; local says
	// that the ledger cannot be reached from another machine.
	Judge(h fslease.Holder, local bool) fslease.Verdict
	// Ancestor reports whether this process descends from the process pid.
	Ancestor(pid int) bool
	// Death returns a channel that is closed when that very process has ended, and how to stop watching.
	// It fails if the process cannot be watched from here.
	Death(h fslease.Holder) (dead <-chan struct{}, stop func(), err error)
}

// Options of a ledger.
type Options struct {
	Processes Processes
	Clock     fslease.Clock // the system's if nil
	LockWait  time.Duration // how long a lock file is tried for; 10 s if 0
}

// A Ledger is a directory. It implements fslease.Ledger. Several handles, in one process or many, may be
// open on one directory.
type Ledger struct {
	path  string
	opt   Options
	clock fslease.Clock

	mu      sync.Mutex
	fsys    fsys
	dir     *dirFS
	network string // name of the network file system it lies on, "" for a local one
	made    bool   // ledger.json was seen
	users   int    // changes under way
	closing bool   // the handle is to be freed after them
	self    *fslease.Holder

	understood lastConfig

	lookAround sync.Once
	around     []string // the descriptors of fences that this process was started with
}

var _ fslease.Ledger = (*Ledger)(nil)

// Open opens the ledger at path. A path that does not exist (its parent does) or is an empty directory
// reads as an empty ledger and becomes one at the first Update or Announce. A directory with other content and
// no ledger.json, and one on a network file system without the setting allow_network, are refused.
func Open(path string, opt Options) (*Ledger, error) {
	l := &Ledger{path: path, opt: opt, clock: opt.Clock}
	if l.opt.LockWait == 0 {
		l.opt.LockWait = 10 * time.Second
	}
	if l.clock == nil {
		l.clock = &systemClock{l: l}
	}
	err := l.attach()
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	return l, err
}

// Path returns the ledger's directory as it was given to Open.
func (l *Ledger) Path() string { return l.path }

// Close frees the handle. Leases, fences and presences made through it stay what they are: a lease that is being renewed goes on, and
// what is not freed now is once that is done.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir == nil {
		return nil
	}
	if l.closing = l.users > 0; l.closing {
		return nil
	}
	err := l.dir.Close()
	l.dir, l.fsys = nil, nil
	return err
}

// use keeps the handle open for one change, as renewals come whenever they are due.
func (l *Ledger) use() (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
	return func() {
		l.mu.Lock()
		l.users--
		last := l.closing && l.users == 0
		l.mu.Unlock()
		if last {
			_ = l.Close() // only descriptors that were read from
		}
	}
}

// Clock returns the clock by which records are stamped.
func (l *Ledger) Clock() fslease.Clock { return l.clock }

// attach opens the directory, which must exist.
func (l *Ledger) attach() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dir != nil {
		return nil
	}
	dir, err := openRoot(l.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return l.fail("", err)
	}
	network, err := networkFS(dir.root)
	if err == nil && network != "" {
		err = allowNetwork(dir, l.path, network)
	}
	if err != nil {
		_ = dir.Close()
		return err
	}
	l.dir, l.network = dir, network
	if l.fsys == nil {
		l.fsys = dir
	}
	return nil
}

// ready makes the directory a ledger if it is none yet, and checks that the path still leads to it.
func (l *Ledger) ready() error {
	if err := l.attach(); errors.Is(err, fs.ErrNotExist) {
		if _, err := Init(l.path, false); err != nil {
			return err
		}
		if err := l.attach(); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if !l.made {
		if _, err := l.fsys.Stat(configFile); errors.Is(err, fs.ErrNotExist) {
			if _, err := Init(l.path, false); err != nil {
				return err
			}
		}
		l.made = true
	}
	return l.checkRoot()
}

// errMoved is the error of a ledger whose directory was renamed away, removed or replaced under it.
var errMoved = errors.New("the ledger directory was moved or replaced while it was in use")

func (l *Ledger) checkRoot() error {
	var there unix.Stat_t
	err := unix.Stat(l.path, &there)
	if err == nil && sameFile(there, l.dir.self) {
		return nil
	}
	if err != nil && err != unix.ENOENT && err != unix.ENOTDIR {
		return l.fail("", &fs.PathError{Op: "stat", Path: l.path, Err: err})
	}
	return &fslease.RepositoryError{Fault: fslease.FaultLedger, Path: l.path, What: errMoved.Error(), Err: nil,
		Hint: "what was held under it has to be acquired again"}
}

// local reports that no other machine reaches the ledger, so that process evidence counts.
func (l *Ledger) local() bool { return l.network == "" }

// who returns this process, found out once.
func (l *Ledger) who() (fslease.Holder, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.self == nil {
		h, err := l.opt.Processes.Self()
		if err != nil {
			return h, err
		}
		l.self = &h
	}
	return *l.self, nil
}

// View returns a reader that takes no lock and writes nothing.
func (l *Ledger) View(context.Context) fslease.Reader {
	if l.attach() != nil && l.fsys == nil {
		return emptyReader{}
	}
	r := &reader{l: l}
	if _, err := r.config(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.broken = err // a ledger that cannot be understood is not an empty one
	}
	return r
}

// Probe says whether a holder lives.
func (l *Ledger) Probe(h fslease.Holder) fslease.Verdict {
	switch {
	case h.IsTicket():
		return fslease.Verdict{Life: fslease.Unknown, Reason: "held by a ticket"}
	case h.Evidence == fslease.EvidenceNone:
		return fslease.Verdict{Life: fslease.Unknown, Reason: "no process is bound to it"}
	case h.Evidence == fslease.EvidenceLock:
		if v, ok := l.probeLock(h); ok {
			return v
		}
	}
	if !l.local() {
		return fslease.Verdict{Life: fslease.Unknown, Reason: "process evidence does not count on " + l.network}
	}
	return l.opt.Processes.Judge(h, l.local())
}

// systemClock reads the clocks of this machine.
type systemClock struct {
	l      *Ledger
	once   sync.Once
	offset int64 // of this time namespace
}

func (c *systemClock) Now() fslease.Instant {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail for this clock
	now := fslease.Instant{Wall: time.Now().UTC(), Mono: ts.Nano()}
	if self, err := c.l.who(); err == nil {
		now.BootID, now.TimeNS, now.Ahead = self.BootID, self.TimeNS, c.ahead(self.TimeNS)
	}
	return now
}

// initialTimeNS is the inode of the initial time namespace.
const initialTimeNS = 0xEFFFFFFA

// ahead returns by how much CLOCK_MONOTONIC is ahead in this process's time namespace.
func (c *systemClock) ahead(ns int64) int64 {
	if ns == initialTimeNS || ns == 0 {
		return 0
	}
	c.once.Do(func() {
		data, err := os.ReadFile("/proc/self/timens_offsets")
		if err != nil {
			return // no /proc: then the boot is not known either
		}
		for line := range strings.Lines(string(data)) {
			var sec, nsec int64
			if n, _ := fmt.Sscanf(line, "monotonic %d %d", &sec, &nsec); n == 2 {
				c.offset = sec*int64(time.Second) + nsec
			}
		}
	})
	return c.offset
}

func (c *systemClock) After(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// owner names the user a path belongs to, for messages.
func owner(path string) string {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return ""
	}
	return userName(int(st.Uid))
}
