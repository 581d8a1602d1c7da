// Package ledgertest holds an implementation of fslease.Ledger against the rules that the Manager relies on.
//
// Each case opens a new store, works on it through several handles as several processes would, and prints
// the rule that it checks when it fails. Nothing here fails on slowness, only on wrongness.
package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"fslease/fslease"
)

// A Harness is one new store. What a ledger cannot do stays nil, and the cases that need it are skipped
// with a message that names it.
type Harness struct {
	// Open opens the store as a further process. The ledger closes itself with the test.
	Open func() fslease.Ledger

	// Kill ends the process that has l open, without any cleaning up.
	Kill func(l fslease.Ledger)
	// Fork starts a child of l's process, which inherits the fences that l holds, and returns how to kill it.
	Fork func(l fslease.Ledger) (kill func())
	// Advance lets time pass on the clock of all handles. Nil: it passes by itself.
	Advance func(time.Duration)
	// StepWall moves the wall clock alone.
	StepWall func(time.Duration)
	// Plant overwrites the lease of key with data, or removes it if data is nil, as a hand does.
	Plant func(key fslease.Key, data []byte)
}

// A testCase is one rule and what checks it.
type testCase struct {
	name string
	rule string
	run  func(*suite)
}

// Run runs every case on a new store each.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"records", recordCases}, {"generations", generationCases}, {"locks", lockCases}, {"overlap", overlapCases},
		{"sightings", sightingCases}, {"queue", queueCases}, {"fence", fenceCases}, {"presence", presenceCases},
		{"tickets", ticketCases}, {"waker", wakerCases},
		{"acquire", acquireCases}, {"takeover", takeoverCases}, {"wait", waitCases}, {"work", workCases}, {"tokens", tokenCases}, {"sessions", sessionCases}, {"starts", startCases}, {"endings", endingCases}, {"scope", scopeCases}, {"strays", strayCases},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					t.Cleanup(func() {
						if t.Failed() {
							t.Logf("rule: %s", c.rule)
						}
					})
					c.run(&suite{T: t, Harness: open(t)})
				})
			}
		})
	}
}

// patience is how long something may take that must happen. It only guards against hanging.
const patience = 60 * time.Second

// A suite is one run of one case.
type suite struct {
	*testing.T
	Harness
}

// Context is one that does not end with the case: leases are given up one by one before the store goes.
func (s *suite) Context() context.Context { return context.Background() }

// need skips the case if the harness lacks a power.
func (s *suite) need(has bool, power string) {
	s.Helper()
	if !has {
		s.Skip("not run: needs a harness with " + power)
	}
}

// ok fails the case at once if err is one.
func (s *suite) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%v (%T)", err, err)
	}
}

// is fails unless err is target.
func (s *suite) is(err, target error) {
	s.Helper()
	if !errors.Is(err, target) {
		s.Fatalf("error %v (%T), want one that is: %v", err, err, target)
	}
}

// manager returns a manager on a further handle.
func (s *suite) manager() (*fslease.Manager, fslease.Ledger) {
	s.Helper()
	l := s.Open()
	m, err := fslease.NewManager(l, fslease.Options{})
	s.ok(err)
	return m, l
}

// announce makes l's process known as a holder, until the end of the case.
func (s *suite) announce(l fslease.Ledger) fslease.Holder {
	s.Helper()
	p, err := l.Announce(s.Context(), []string{"make", "deploy"})
	s.ok(err)
	s.Cleanup(func() { _ = p.Close() })
	return p.Holder()
}

// update is Ledger.Update that must succeed.
func (s *suite) update(l fslease.Ledger, fn func(fslease.Tx) error, keys ...fslease.Key) {
	s.Helper()
	s.ok(l.Update(s.Context(), keys, fn))
}

func (s *suite) load(l fslease.Ledger, key fslease.Key) fslease.State {
	s.Helper()
	st, err := l.View(s.Context()).Load(key)
	s.ok(err)
	return st
}

// grant writes a lease of key, which must be free, for h.
func (s *suite) grant(l fslease.Ledger, key fslease.Key, h fslease.Holder, ttl time.Duration) fslease.Record {
	s.Helper()
	var rec fslease.Record
	s.update(l, func(tx fslease.Tx) (err error) {
		rec, err = put(tx, key, h, ttl)
		return err
	}, key)
	return rec
}

// put writes a lease of key at its next generation.
func put(tx fslease.Tx, key fslease.Key, h fslease.Holder, ttl time.Duration) (fslease.Record, error) {
	st, err := tx.Load(key)
	if err != nil {
		return fslease.Record{}, err
	}
	if st.Current() != nil {
		return fslease.Record{}, fmt.Errorf("%s is held by %s", key, st.Lease.Holder.Describe())
	}
	g, err := tx.NextGeneration(key, st)
	if err != nil {
		return fslease.Record{}, err
	}
	rec := fslease.Granted(st, fslease.Grant{Key: key, Holder: h, TTL: ttl, Note: "nightly"}, g, tx.Now())
	return rec, tx.Put(rec, true)
}

// bury gives up the lease of key.
func (s *suite) bury(l fslease.Ledger, key fslease.Key, reason fslease.Reason) fslease.Tombstone {
	s.Helper()
	var tomb fslease.Tombstone
	s.update(l, func(tx fslease.Tx) error {
		st, err := tx.Load(key)
		if err != nil {
			return err
		}
		if st.Current() == nil {
			return fmt.Errorf("%s is not held", key)
		}
		tomb = fslease.Buried(*st.Lease, st.Tomb, reason, tx.Now())
		return tx.Bury(*st.Lease, tomb)
	}, key)
	return tomb
}

// stranger is a holder on another machine, of which nothing can be told.
func stranger() fslease.Holder {
	return fslease.Holder{
		Kind: fslease.KindProcess, ID: "5747a46e72000000000000000000c0de", Evidence: fslease.EvidenceNone,
		Host: "elsewhere", BootID: "5747a46e-0000-4000-8000-000000000002", PID: 4242, User: "ann", Command: []string{"make", "deploy"},
	}
}

// race runs fn n times at once and waits for all.
func (s *suite) race(n int, fn func(i int)) {
	s.Helper()
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			fn(i)
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	close(start)
	wait(s, done, "everybody to come through")
}

// wait waits for c. Where time stands still it lets some pass now and then, for polling.
func wait[T any](s *suite, c <-chan T, what string) T {
	s.Helper()
	guard := time.After(patience)
	for {
		select {
		case v := <-c:
			return v
		case <-guard:
			s.Fatalf("waited %s in vain for %s", patience, what)
		case <-time.After(20 * time.Millisecond):
			if s.Advance != nil {
				s.Advance(20 * time.Millisecond)
			}
		}
	}
}

// async runs fn and delivers what it returns.
func async(fn func() error) <-chan error {
	c := make(chan error, 1)
	go func() { c <- fn() }()
	return c
}

// stays fails if c delivers soon. That it does not for a moment proves nothing, that it does is an error.
func stays[T any](s *suite, c <-chan T, what string) {
	s.Helper()
	select {
	case v := <-c:
		s.Fatalf("%s ended with %v", what, v)
	case <-time.After(50 * time.Millisecond):
	}
}

// keep gives lease up when the case is over, if it was not before.
func (s *suite) keep(lease *fslease.Lease, err error) (*fslease.Lease, error) {
	if lease != nil {
		s.Cleanup(func() { _ = lease.Release() })
	}
	return lease, err
}

// hang is a context that ends long after everything should be over.
func (s *suite) hang() context.Context {
	ctx, cancel := context.WithTimeoutCause(s.Context(), patience, errors.New("hung"))
	s.Cleanup(cancel)
	return ctx
}

func keys(names ...string) []fslease.Key {
	out := make([]fslease.Key, len(names))
	for i, n := range names {
		out[i] = fslease.Key(n)
	}
	return out
}
