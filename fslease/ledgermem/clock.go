package ledgermem

import (
	"slices"
	"sync"
	"time"

	"fslease/fslease"
)

// bootID is that of every machine whose boots nobody tells apart.
const bootID = "00000000-0000-4000-8000-000000000001"

// runtimeClock is the clock of the Go runtime.
type runtimeClock struct{ start time.Time }

func (c runtimeClock) Now() fslease.Instant {
	now := time.Now()
	return fslease.Instant{Wall: now, Mono: int64(time.Second + now.Sub(c.start)), BootID: bootID, TimeNS: 1}
}

func (c runtimeClock) After(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// A Clock is driven by hand: it stands still until it is told to move.
type Clock struct {
	mu     sync.Mutex
	now    fslease.Instant
	timers []*timer
}

type timer struct {
	at int64 // CLOCK_MONOTONIC
	c  chan time.Time
}

// NewClock makes a clock that shows start. A zero boot id or monotonic time is filled in.
func NewClock(start fslease.Instant) *Clock {
	if start.BootID == "" {
		start.BootID, start.TimeNS = bootID, 1
	}
	if start.Mono == 0 {
		start.Mono = int64(time.Hour)
	}
	return &Clock{now: start}
}

// Now returns what the clock shows.
func (c *Clock) Now() fslease.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// After returns a channel that delivers once the clock was advanced by d, and how to stop it.
func (c *Clock) After(d time.Duration) (<-chan time.Time, func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{at: c.now.Mono + int64(d), c: make(chan time.Time, 1)}
	c.timers = append(c.timers, t)
	c.fire()
	return t.c, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		before := len(c.timers)
		c.timers = slices.DeleteFunc(c.timers, func(o *timer) bool { return o == t })
		return len(c.timers) < before
	}
}

// Advance lets d pass, on the wall and on CLOCK_MONOTONIC, and wakes who waited for it.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Wall = c.now.Wall.Add(d)
	c.now.Mono += int64(d)
	c.fire()
}

// StepWall moves the wall clock alone, as an operator or a time server does, and as it looks to a process
// after the machine was suspended: CLOCK_MONOTONIC does not count that.
func (c *Clock) StepWall(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Wall = c.now.Wall.Add(d)
}

func (c *Clock) fire() {
	c.timers = slices.DeleteFunc(c.timers, func(t *timer) bool {
		if t.at > c.now.Mono {
			return false
		}
		t.c <- c.now.Wall
		return true
	})
}
