package fslease

import (
	"context"
	"fmt"
	"time"
)

// Defaults of a lease.
const (
	DefaultTTL       = 60 * time.Second
	HeartbeatsPerTTL = 4
)

// Forever as a Wait means: without limit.
const Forever time.Duration = -1

// Options of a Manager. The zero value is usable.
type Options struct {
	TTL       time.Duration // DefaultTTL if 0
	Heartbeat time.Duration // TTL / HeartbeatsPerTTL if 0
	// Kin reports whether a holder is this process or one of its ancestors, for which it must not wait.
	Kin func(Holder) bool
	// KinPID reports whether a process of that number may be one of those: it saves reading the records of others. nil: any may.
	KinPID func(pid int64) bool
	// UnderFence reports whether this process runs under a fence in the way of keys, so that whoever gets them waits for its end.
	UnderFence func(keys []Key) bool
}

// A Manager acquires leases on one ledger. It may be used by several goroutines.
type Manager struct {
	ledger Ledger
	opt    Options
}

// NewManager returns a manager of leases on l. A heartbeat that is not at most half the TTL is a
// *ConfigError: one lost renewal would lose the lease.
func NewManager(l Ledger, opt Options) (*Manager, error) {
	m := &Manager{ledger: l, opt: opt}
	if m.opt.TTL == 0 {
		m.opt.TTL = DefaultTTL
	}
	if m.opt.Kin == nil {
		m.opt.Kin = func(Holder) bool { return false }
	}
	if m.opt.KinPID == nil {
		m.opt.KinPID = func(int64) bool { return true }
	}
	if m.opt.UnderFence == nil {
		m.opt.UnderFence = func([]Key) bool { return false }
	}
	_, _, err := m.pace(m.opt.TTL, opt.Heartbeat)
	return m, err
}

// pace fills in and checks how often a lease of ttl is renewed.
func (m *Manager) pace(ttl, heartbeat time.Duration) (time.Duration, time.Duration, error) {
	if ttl == 0 {
		ttl = m.opt.TTL
		if heartbeat == 0 {
			heartbeat = m.opt.Heartbeat
		}
	}
	if heartbeat == 0 {
		heartbeat = ttl / HeartbeatsPerTTL
	}
	if err := CheckTTL(ttl); err != nil {
		return 0, 0, err
	}
	switch {
	case heartbeat <= 0:
		return 0, 0, &ConfigError{What: fmt.Sprintf("the heartbeat %s is not positive", heartbeat), Hint: "leave it out: a quarter of the ttl is used"}
	case 2*heartbeat > ttl:
		return 0, 0, &ConfigError{
			What: fmt.Sprintf("the heartbeat %s is more than half of the ttl %s, so one late renewal would lose the lease", heartbeat, ttl),
			Hint: fmt.Sprintf("use a heartbeat of at most %s, or leave it out", ttl/2),
		}
	}
	return ttl, heartbeat, nil
}

// CheckTTL refuses a TTL that a record cannot hold: below a millisecond, no whole number of them, or above 104 days x 1,000.
func CheckTTL(ttl time.Duration) error {
	switch {
	case ttl < time.Millisecond:
		return &ConfigError{What: fmt.Sprintf("the ttl %s is shorter than 1ms, the smallest there is", ttl), Hint: "use one that is longer than the longest pause of the holder, such as 60s"}
	case ttl%time.Millisecond != 0:
		return &ConfigError{What: fmt.Sprintf("the ttl %s is no whole number of milliseconds", ttl)}
	case ttl.Milliseconds() > maxMilliseconds:
		return &ConfigError{What: fmt.Sprintf("the ttl %s is too long", ttl)}
	}
	return nil
}

// A Request says what is to be acquired and how.
type Request struct {
	Keys      []Key // all or nothing; a key that another one covers is dropped
	TTL       time.Duration
	Heartbeat time.Duration
	Note      string
	Command   []string // what the holder runs, for the record
	Presence  Presence // of the holder; nil: one is made, and ends with the lease

	Wait      time.Duration  // 0: try once; Forever; else at most so long, for lease and fence together
	Fence     bool           // take the fence too
	FenceWait *time.Duration // with Fence: the fence's own limit; nil: what is left of Wait
	Beside    []Record       // with Fence: leases of others that the work runs under too. Their fence is taken with that of the keys; FenceUnder tells whether they are current

	// Under are the leases under which the caller runs, with their tokens. It never waits for those, and
	// passes the queue, in which others wait for it.
	Under map[Key]int64
	// Waiting is told who is in the way, each time that this changes.
	Waiting func(*HeldError)
}

// Acquire takes keys at once or fails with a *HeldError. The lease is renewed until Release or the end of
// ctx, which releases it.
func (m *Manager) Acquire(ctx context.Context, keys ...string) (*Lease, error) {
	return m.acquireNames(ctx, 0, keys)
}

// AcquireWait is Acquire that waits its turn until ctx ends.
func (m *Manager) AcquireWait(ctx context.Context, keys ...string) (*Lease, error) {
	return m.acquireNames(ctx, Forever, keys)
}

func (m *Manager) acquireNames(ctx context.Context, wait time.Duration, names []string) (*Lease, error) {
	keys, err := ParseKeys(names...)
	if err != nil {
		return nil, err
	}
	return m.AcquireRequest(ctx, Request{Keys: keys, Wait: wait})
}

// AcquireRequest takes what req asks for. If ctx ends while it waits, it leaves the queue and returns the
// context's cause. With req.Fence the lease comes with its fence held.
func (m *Manager) AcquireRequest(ctx context.Context, req Request) (*Lease, error) {
	ttl, heartbeat, err := m.pace(req.TTL, req.Heartbeat)
	if err != nil {
		return nil, err
	}
	req.TTL, req.Heartbeat = ttl, heartbeat
	a, err := m.begin(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := a.take(ctx); err != nil {
		a.abandon()
		return nil, err
	}
	l := newLease(ctx, a)
	if req.Fence && a.fence == nil {
		if err := l.awaitFence(ctx, true, a.fenceLimit(), req.Waiting); err != nil {
			_ = l.Release() // err says what went wrong
			return nil, err
		}
	}
	return l, nil
}
