// Package ledgermem keeps a ledger in memory, for tests and for programs of one process.
//
// A Store is what would be the directory; a Handle on it stands for one process. Handles lock, probe and
// fence each other as processes do, and a test can kill one, at the write of its choice too. Records are
// kept as the bytes that a file would hold, so what does not survive being written to a file does not
// survive here either. Nothing outlives the program: there is no power cut to be safe from, and a store
// whose last handle is gone is free for the collector.
package ledgermem

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"fslease/fslease"
)

// Options of a Store. The zero value is usable.
type Options struct {
	// Clock stamps and judges records. Nil: the time of the Go runtime, in a synctest bubble the bubble's.
	Clock fslease.Clock
	// Log is told each event of the history. Nil: there is no history.
	Log func(fslease.Event)
}

// A Store is one ledger. Its handles may be used by several goroutines.
type Store struct {
	clock fslease.Clock
	log   func(fslease.Event)

	mu        sync.Mutex // held for moments only; the locks of keys are in locks
	freed     chan struct{}
	locks     map[fslease.Key]*keyLock
	ceiling   int64
	leases    map[fslease.Key][]byte
	tombs     map[fslease.Key][]byte
	sightings map[fslease.Key]fslease.Sighting
	tickets   map[string][]byte
	sessions  map[string]map[int64][]byte
	active    map[string]bool
	queue     map[fslease.Place]fslease.Waiter
	processes map[int64]*Handle
	presences map[string]*presence
	hidden    map[string]bool
	fences    map[*fenceBody]bool
	wakers    map[*waker]bool
}

// New makes an empty store.
func New(o Options) *Store {
	s := &Store{
		clock: o.Clock, log: o.Log,
		freed:     make(chan struct{}),
		locks:     map[fslease.Key]*keyLock{},
		ceiling:   ceilingStep,
		leases:    map[fslease.Key][]byte{},
		tombs:     map[fslease.Key][]byte{},
		sightings: map[fslease.Key]fslease.Sighting{},
		tickets:   map[string][]byte{},
		sessions:  map[string]map[int64][]byte{},
		active:    map[string]bool{},
		queue:     map[fslease.Place]fslease.Waiter{},
		processes: map[int64]*Handle{},
		presences: map[string]*presence{},
		hidden:    map[string]bool{},
		fences:    map[*fenceBody]bool{},
		wakers:    map[*waker]bool{},
	}
	if s.clock == nil {
		s.clock = runtimeClock{start: time.Now()}
	}
	if s.log == nil {
		s.log = func(fslease.Event) {}
	}
	return s
}

// Plant puts data where the lease of key is kept, as a hand with an editor does. No data: the lease is gone.
func (s *Store) Plant(key fslease.Key, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if data == nil {
		delete(s.leases, key)
	} else {
		s.leases[key] = append([]byte(nil), data...)
	}
	s.leaseChanged(key)
}

// Hide makes the liveness of a holder impossible to tell, as another namespace does.
func (s *Store) Hide(h fslease.Holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hidden[h.ID] = true
}

// ceilingStep is how far the ceiling of generations is raised at a time.
const ceilingStep = 1000

// state returns what is on record for key. The store is locked.
func (s *Store) state(key fslease.Key) (fslease.State, error) {
	var st fslease.State
	if data, ok := s.leases[key]; ok {
		var rec fslease.Record
		if err := s.decode("lease", key, &rec, data); err != nil {
			return st, err
		}
		if err := s.checkPlace("lease", key, rec.Key, rec.Generation); err != nil {
			return st, err
		}
		st.Lease = &rec
	}
	if data, ok := s.tombs[key]; ok {
		var tomb fslease.Tombstone
		if err := s.decode("tombstone", key, &tomb, data); err != nil {
			return st, err
		}
		if err := s.checkPlace("tombstone", key, tomb.Key, tomb.Generation); err != nil {
			return st, err
		}
		st.Tomb = &tomb
	}
	return st, nil
}

// decode reads what a file would hold; what is the kind of the record.
func (s *Store) decode(what string, key fslease.Key, into interface{ UnmarshalJSON([]byte) error }, data []byte) error {
	err := into.UnmarshalJSON(data)
	if err == nil {
		return nil
	}
	fault := fslease.FaultDamaged
	if errors.Is(err, fslease.ErrNewerSchema) {
		fault = fslease.FaultNewer
	}
	return &fslease.RepositoryError{Fault: fault, Path: path(what, key), Key: key, What: "the " + what + " cannot be understood", Err: err}
}

// checkPlace refuses a record that stands at the wrong place or has a generation that was never allowed.
func (s *Store) checkPlace(what string, at, key fslease.Key, generation int64) error {
	damaged := func(why string) error {
		return &fslease.RepositoryError{Fault: fslease.FaultDamaged, Path: path(what, at), Key: at, What: why}
	}
	switch {
	case key != at:
		return damaged(fmt.Sprintf("the %s is of another key, %s", what, key))
	case generation > s.ceiling:
		return damaged(fmt.Sprintf("the %s has generation %d, above the ceiling %d", what, generation, s.ceiling))
	}
	return nil
}

// path names a record in messages: there is no file to name.
func path(what string, key fslease.Key) string { return fmt.Sprintf("memory:%s/%s", what, key) }
