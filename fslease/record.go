package fslease

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Schema is the version of the records this package writes. A record with a higher one is held, not understood.
const Schema = 1

// Limits of what records hold.
const (
	MaxNumber      = 1<<53 - 1 // generations, revisions, milliseconds, pids
	MaxNoteBytes   = 1024
	MaxCommandSize = 4096 // bytes of argv in a record
	MaxRecordBytes = 1 << 20
)

// TimeFormat is how records and messages show a point in time: RFC 3339, UTC, milliseconds.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// Kinds of holders.
const (
	KindProcess = "process"
	KindTicket  = "ticket"
)

// Evidence says how the end of a holder process is proven.
type Evidence string

const (
	EvidenceLock Evidence = "lock" // the process keeps an exclusive lock on its own liveness file
	EvidencePid  Evidence = "pid"  // pid, start time, boot and namespaces
	EvidenceNone Evidence = "none" // nothing: the TTL alone
)

// A Holder is who holds a lease: a process or a ticket's session.
type Holder struct {
	Kind string

	// Of a process. ID is 32 hex digits. Inodes and namespaces are those of the kernel on which it runs;
	// 0 stands for "not known".
	ID            string
	Evidence      Evidence
	Host          string // for people, never identity
	MachineID     string
	BootID        string
	BootIDGenuine bool
	PID           int64
	StartTime     int64 // clock ticks after boot, in its time namespace
	PIDNS         int64
	TimeNS        int64
	PidfdInode    int64
	HolderInode   int64 // of the liveness file, evidence lock only
	UID           int64
	User          string
	Command       []string
	Cwd           string
	Exec          bool // the command took its wrapper's place: nobody is left to release for it

	// Of a ticket.
	Ticket  string
	Session int64 // the generation of the session

	Extra map[string]json.RawMessage // fields of newer versions, kept on rewrite
}

// IsTicket reports whether a ticket's session holds, not a process.
func (h Holder) IsTicket() bool { return h.Kind == KindTicket }

// SameClock reports whether CLOCK_MONOTONIC of the holder is the one that now was read from.
func (h Holder) SameClock(now Instant) bool {
	return h.BootID != "" && h.BootID == now.BootID && h.TimeNS == now.TimeNS
}

// Describe names the holder for people.
func (h Holder) Describe() string {
	if len(h.Command) == 0 {
		return h.name()
	}
	return h.name() + " running " + strings.Join(h.Command, " ")
}

// DescribeIdle names a holder whose command has not begun.
func (h Holder) DescribeIdle() string {
	if len(h.Command) == 0 {
		return h.name()
	}
	return h.name() + " (to run " + strings.Join(h.Command, " ") + ")"
}

// name is who the holder is.
func (h Holder) name() string {
	if h.IsTicket() {
		return "ticket " + h.Ticket
	}
	who := h.User
	if who == "" {
		who = "somebody"
	}
	if h.Host != "" {
		who += "@" + h.Host
	}
	if h.PID != 0 {
		who += fmt.Sprintf(" pid %d", h.PID)
	}
	return who
}

// A Record is the lease of a key: the JSON file under leases/.
type Record struct {
	Key         Key
	Generation  int64
	Revision    int64
	AcquiredAt  time.Time
	RenewedAt   time.Time
	TTL         time.Duration // 0: held as long as the holder lives
	RenewedMono int64         // CLOCK_MONOTONIC in ns on the holder's clock; 0: not known
	Note        string
	Holder      Holder

	Extra map[string]json.RawMessage
}

// Why a lease was given up.
type Reason string

const (
	ReasonReleased    Reason = "released"
	ReasonDead        Reason = "dead"
	ReasonExpired     Reason = "expired"
	ReasonBroken      Reason = "broken"
	ReasonTransferred Reason = "transferred"
)

// Takeover reports whether somebody else took the key because the holder was dead or silent.
func (r Reason) Takeover() bool { return r == ReasonDead || r == ReasonExpired }

// A Tombstone is how a key was last given up. It keeps the generation.
type Tombstone struct {
	Key        Key
	Generation int64
	Revision   int64
	ReleasedAt time.Time
	Reason     Reason
	LastHolder Holder
	Unclean    int64 // how many times in a row the key was given up other than by release or transfer

	Extra map[string]json.RawMessage
}

// A State is all that a ledger has on record for one key. The zero State is a key never held.
type State struct {
	Lease *Record
	Tomb  *Tombstone
}

// Current returns the lease unless it was given up: a lease whose generation is not above its
// tombstone's is released, however the crash between the two writes left the files.
func (s State) Current() *Record {
	if s.Lease == nil || s.Tomb != nil && s.Lease.Generation <= s.Tomb.Generation {
		return nil
	}
	return s.Lease
}

// Generation returns the highest generation on record, 0 if there is none.
func (s State) Generation() int64 {
	var g int64
	if s.Lease != nil {
		g = s.Lease.Generation
	}
	if s.Tomb != nil {
		g = max(g, s.Tomb.Generation)
	}
	return g
}

// Revision returns the highest revision on record, 0 if there is none.
func (s State) Revision() int64 {
	var r int64
	if s.Lease != nil {
		r = s.Lease.Revision
	}
	if s.Tomb != nil {
		r = max(r, s.Tomb.Revision)
	}
	return r
}

// An Instant is one reading of an observer's clocks. Wall is for people only: nothing about a process
// lease is decided by it.
type Instant struct {
	Wall   time.Time
	Mono   int64 // CLOCK_MONOTONIC, ns; does not count suspend
	BootID string
	TimeNS int64
	Ahead  int64 // by how many ns Mono is ahead of CLOCK_MONOTONIC in the initial time namespace
}

// A Sighting says that an observer saw a revision of a record, and when on its monotonic clock.
type Sighting struct {
	Key        Key
	Generation int64
	Revision   int64
	BootID     string
	TimeNS     int64
	Mono       int64
}

// Of reports whether s is a sighting of just this revision, on the clock of now.
func (s *Sighting) Of(rec Record, now Instant) bool {
	return s != nil && s.Generation == rec.Generation && s.Revision == rec.Revision &&
		s.BootID == now.BootID && s.TimeNS == now.TimeNS && s.Mono <= now.Mono
}

// A Waiter is a place in the queue of its keys. It names the process that waits, not the holder to be.
type Waiter struct {
	Number int64 // one for all its keys; smaller ones of overlapping keys go first
	Keys   []Key
	Holder Holder
	Since  time.Time
	Note   string
	Holds  []string // ids of the holders under whose leases it runs
	Turn   *Instant // when it was first seen not to take its turn (Mono, BootID, TimeNS); nil: it was not
}

// Overlaps reports whether one of w's keys overlaps one of keys.
func (w Waiter) Overlaps(keys []Key) bool {
	for _, k := range w.Keys {
		if k.OverlapsAny(keys) {
			return true
		}
	}
	return false
}
