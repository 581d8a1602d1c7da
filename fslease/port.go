package fslease

import (
	"context"
	"time"
)

// A Ledger keeps records. It decides nothing: what may be taken, renewed or given up is decided by the
// transitions and Judge, which the Manager calls while the ledger holds the keys still.
//
// Every method may fail with a *RepositoryError. Package ledgertest holds an implementation against the
// rules stated here.
type Ledger interface {
	// View returns a reader that takes no lock and writes nothing. What it reads may be outdated at once.
	View(ctx context.Context) Reader

	// Update runs fn while nobody else changes a record of keys, of what lies below them, or of the
	// leases on their ancestors. It locks as LockPlan says, fails with FaultBusy when a lock is not to
	// be had in bounded time, and may run fn again from the start when the ground moved under it; fn
	// must not wait for anything. What fn wrote stays written even if it then returns an error.
	Update(ctx context.Context, keys []Key, fn func(Tx) error) error

	// TryUpdate is Update that does not wait for a lock: it fails with FaultBusy at once.
	TryUpdate(ctx context.Context, keys []Key, fn func(Tx) error) error

	// Save writes rec if the key's revision is still expected (0: no lease), and fails with a
	// *RevisionConflictError otherwise. rec.Revision must be above expected.
	Save(ctx context.Context, rec Record, expected int64) error

	// Announce makes this process known as a holder with evidence lock, from before it is visible
	// until Close. Command and directory go into the holder as the ledger's settings allow.
	Announce(ctx context.Context, command []string) (Presence, error)

	// Probe says whether a holder lives. Whatever cannot be told is Unknown.
	Probe(h Holder) Verdict

	// TryFence takes the fence of keys, and shares those of their ancestors, all or none, without
	// waiting. If it cannot be had, or a command that outlived its wrapper still runs under an
	// overlapping key, the fence is nil and the keepers are those who are known to be in the way.
	TryFence(ctx context.Context, keys []Key) (Fence, []Keeper, error)
	// Working returns the command that works for h, and keeps a successor out also if it has given up the fence: that of a holder
	// which may have died since, or h itself if that is a command. nil if none is known to run, or the caller descends from it.
	Working(h Holder) (*Keeper, error)

	// Leave takes w out of the queue; one that is gone already is no error. It waits for no lock.
	Leave(w Waiter) error
	// MarkTurn notes that w was seen at now not to take its turn, unless that is noted already;
	// ClearTurn, called by w itself when it is awake, forgets it. Neither waits for a lock.
	MarkTurn(w Waiter, now Instant) error
	ClearTurn(w Waiter) error

	// Clock returns the clock by which records are stamped and judged.
	Clock() Clock

	// NewWaker returns a waker for one waiting process. It never fails: a ledger that cannot notify
	// makes one that only polls.
	NewWaker() Waker
}

// A Reader reads records. A record that is not what it should be is an error (FaultDamaged, FaultNewer),
// never "free" and never "absent".
type Reader interface {
	// Load returns what is on record for key.
	Load(key Key) (State, error)
	// Overlapping returns the states that have a lease among the ancestors of key, the root first, then
	// the state of key itself in any case, then those that have a lease below it.
	Overlapping(key Key) ([]State, error)
	// Walk calls visit with each state at or below prefix (all: ""), in the order of the keys: those
	// with a lease, and with tombs also those with only a tombstone. An error of visit ends the walk.
	// A record that cannot be read is passed to visit as the error.
	Walk(prefix Key, tombs bool, visit func(Key, State, error) error) error
	// Kin calls visit with each lease that process pid may hold, for those pids of which kin is true, and perhaps with others. It ends
	// early, with the context's cause, when ctx does. What cannot be read is passed over.
	Kin(ctx context.Context, kin func(pid int64) bool, visit func(Record)) error
	// Sighting returns the stored sighting of key's lease, nil if there is none.
	Sighting(key Key) (*Sighting, error)
	// Places returns the places in the queues of everything that overlaps one of keys (no keys: all of
	// them), the lowest number first. A waiter for several keys has a place in each one's queue.
	Places(keys ...Key) ([]Place, error)
	// Waiter returns who has a place, nil if nobody has any more.
	Waiter(p Place) (*Waiter, error)
	// Keepers returns the processes that keep the fence of key now, as far as they can be seen, and the
	// commands under an overlapping key that outlived their wrapper, whether somebody buried it yet or not.
	Keepers(key Key) ([]Keeper, error)
	// Ticket returns a ticket, nil if there is none.
	Ticket(id string) (*Ticket, error)
	// Session returns a session of a ticket, nil if there is none.
	Session(id string, generation int64) (*Session, error)
	// Sessions returns the generations of the sessions of a ticket that are on record, in order.
	Sessions(id string) ([]int64, error)
	// Tickets calls visit with each ticket, in the order of the ids.
	Tickets(visit func(id string, t *Ticket, err error) error) error
	// Active returns the ids of the tickets that may have an active session, in order.
	Active() ([]string, error)
}

// A Place is a number in the queue of one key.
type Place struct {
	Key    Key
	Number int64
}

// A Tx reads and writes records whose keys are locked.
type Tx interface {
	Reader

	// Now reads the clocks. It is read immediately before a record is written.
	Now() Instant
	// NextGeneration returns the generation that a grant of key gets: above everything on record and the
	// floor, and not above a ceiling that is durable.
	NextGeneration(key Key, s State) (int64, error)
	// Put writes a lease. A durable one survives a power cut once Put returned nil; the others survive a
	// crash of the process.
	Put(rec Record, durable bool) error
	// Bury writes a tombstone, durably, and then removes the lease if it is of rec's generation. A
	// tombstone of that generation that stands is left. A command of rec's holder that may still run is
	// noted before, unless the holder is this process, which gives up by itself. Who really removes the
	// lease of a dead or silent holder logs that it was taken over.
	Bury(rec Record, t Tombstone) error
	// See stores a sighting, unless an older one of the same revision stands.
	See(s Sighting) error
	// Enqueue gives w a number above every entry that overlaps its keys, and stores it.
	Enqueue(w Waiter) (Waiter, error)
	// PutTicket writes a ticket, durably.
	PutTicket(t Ticket) error
	// PutSession writes a session, durably. If one has ended whose process left a command that may still
	// run, that is noted before, so that a successor waits for it.
	PutSession(s Session) error
	// SetActive says whether a ticket may have an active session.
	SetActive(id string, active bool) error
	// Log appends an event to the history, with the time and who did it filled in. It is a hint: its
	// loss is no error.
	Log(e Event)
}

// A Presence is a process that is known to be alive for as long as it lives.
type Presence interface {
	// Holder returns the process as a record names it.
	Holder() Holder
	// Close ends the presence: the process holds nothing any more.
	Close() error
}

// A Fence is held while work runs under a lease. It makes a successor wait.
type Fence interface {
	// Unlock frees the fence, for everybody who inherited it too.
	Unlock() error
	// Close gives up this process's part. The fence stays taken until all who inherited it are gone.
	Close() error
}

// A Keeper is a process that is in the way of a fence.
type Keeper struct {
	PID     int64
	Name    string  // what it runs, for people
	Orphan  bool    // a command that is noted without a holder, not a process that has the fence open
	Process *Holder // to watch for its end; nil if only the pid is known
	Key     Key     // which of the keys asked for it is in the way of; "" if that is not known
	Own     bool    // it is this process, which inherited the fence, or one that it was started from
}

// An Event is one line of the history.
type Event struct {
	At         time.Time
	Event      string
	Key        Key
	Ticket     string
	Generation int64
	Revision   int64
	By         Actor
	Reason     string
}

// An Actor is who did something, for people.
type Actor struct {
	User string
	PID  int64
	Host string
}

// Events of leases.
const (
	EventGranted     = "granted"
	EventReleased    = "released"
	EventLost        = "lost"
	EventTakenOver   = "taken_over"
	EventBroken      = "broken"
	EventTransferred = "transferred"
)

// EventSessionExpired is the event of a ticket's session that lapsed. Those of a ticket itself are ticket_
// and its status.
const EventSessionExpired = "session_expired"

// An Interest is what a waiter waits for.
type Interest struct {
	Keys    []Key    // whose leases may change
	Holders []Holder // whose end matters
	Ahead   *Waiter  // the waiter whose turn comes first; nil at the front
	Keepers []Keeper // processes that keep the fence
}

// A Waker wakes one waiting process. Every wake-up is a hint: read again before you judge.
type Waker interface {
	// Watch sets what is waited for. A change after Watch returned is not missed (unless the ledger can
	// only poll: then Poll is short).
	Watch(Interest)
	// C delivers hints.
	C() <-chan struct{}
	// Poll returns after how long to look again without any hint.
	Poll() time.Duration
	// Close frees what the waker holds. It need not be called on the way to starting a command. A Watch
	// afterwards does nothing.
	Close() error
}

// A Clock reads time and wakes. Tests hand in one of their own, so that TTLs, suspend and stepped clocks
// need no sleeping.
type Clock interface {
	Now() Instant
	// After returns a channel that delivers once d has passed on CLOCK_MONOTONIC, and how to stop it.
	After(d time.Duration) (c <-chan time.Time, stop func() bool)
}
