package history

import (
	"strings"
	"sync/atomic"
	"time"

	"fslease/internal/torture/kit"
)

// What a call does.
type kind int

const (
	run1 kind = iota // a run
	acquire
	renew
	release
	transfer
	breaks
	check
	fenced
)

// A call is one command that a worker gave, and what came of it. Times are CLOCK_MONOTONIC in nanoseconds.
type call struct {
	worker string
	id     string // of the work that ran under it
	kind   kind
	args   []string
	keys   []string
	token  int64
	ttl    time.Duration // 0: as long as the holder lives
	owner  *owner        // the process that holds what the call takes; nil: the call itself, or nobody
	waits  bool

	start, end int64
	killed     bool  // the command itself was: nobody knows what it did
	killedAt   int64 // just before, 0: it was not killed, nor what it ran
	result     kit.Result
	tokens     map[string]int64 // that it was given
	work       *kit.Work        // that ran under it
}

// An owner is a process that leases are bound to.
type owner struct {
	process *kit.Process
	deadAt  atomic.Int64 // just before it was killed, 0: it was not
}

func (o *owner) kill() {
	o.deadAt.Store(kit.Mono())
	_ = o.process.Process.Kill() // it may have ended
}

// asks reports whether a call wants keys that others may have.
func (c *call) asks() bool { return c.kind == run1 || c.kind == acquire }

// forever is when what has no end may be taken over.
const forever = int64(1) << 62

// until returns from when on somebody else may take what the call took without being told.
func (c *call) until() int64 {
	until := forever
	if c.ttl > 0 {
		until = c.start + int64(c.ttl)
	}
	if c.owner != nil {
		if dead := c.owner.deadAt.Load(); dead != 0 {
			until = min(until, dead)
		}
	}
	if c.kind == run1 && c.killed {
		until = min(until, c.killedAt)
	}
	return until
}

// unknown reports whether nobody was told what the call did.
func (c *call) unknown() bool { return c.killed || c.busy() }

// busy reports whether the call gave up because a lock could not be had.
func (c *call) busy() bool {
	return (c.result.Code == 74 || c.result.Code == 125) && strings.Contains(c.result.Stderr, " is busy: ")
}

func (c *call) String() string { return strings.Join(c.args, " ") }
