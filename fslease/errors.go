package fslease

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Sentinels for errors.Is; each matches every error of the type named beside it.
var (
	ErrHeld             = errors.New("held by someone else")          // *HeldError
	ErrLost             = errors.New("lease lost")                    // *LostError
	ErrConfig           = errors.New("configuration cannot work")     // *ConfigError
	ErrRepository       = errors.New("ledger cannot be used")         // *RepositoryError
	ErrRevisionConflict = errors.New("record changed meanwhile")      // *RevisionConflictError
	ErrConflict         = errors.New("status forbids the transition") // *ConflictError
)

// A HeldError says that a key cannot be had now, and who is in the way. The caller may wait or give up.
type HeldError struct {
	Key        Key     // the key that was asked for
	Blocking   *Record // the overlapping lease in the way; nil when a waiter or a fence is
	Reserved   []Reserved
	Waiter     *Waiter       // the living waiter ahead; nil when a lease is in the way
	Keepers    []Keeper      // those who keep the fence, as far as they can be seen; nil when no fence is in the way
	Verdict    Verdict       // why the holder is not taken over
	Reason     string        // why waiting was refused, such as that the caller would wait for itself
	Own        bool          // what is in the way is the caller's own
	UnderFence bool          // the caller runs under the fence that keeps whoever has the keys, or is ahead, from beginning
	Circle     bool          // the reason is that two would wait for each other
	Place      int           // in the queue, counted from 1; 0: not queued
	WaitedFor  time.Duration // how long the caller waited in vain
}

// A Reserved names a live ticket and those of its scope keys that overlap the request.
type Reserved struct {
	Ticket string
	Keys   []Key
}

// String is the text that a conflict with a ticket always has.
func (r Reserved) String() string {
	names := make([]string, len(r.Keys))
	for i, k := range r.Keys {
		names[i] = string(k)
	}
	return "resource scope reserved by " + r.Ticket + ": " + strings.Join(names, ", ")
}

func (e *HeldError) Error() string {
	if len(e.Reserved) > 0 {
		lines := make([]string, len(e.Reserved))
		for i, r := range e.Reserved {
			lines[i] = r.String()
		}
		return strings.Join(lines, "\n")
	}
	var b strings.Builder
	switch {
	case e.Blocking != nil:
		fmt.Fprintf(&b, "%s is held", e.Key)
		if e.Blocking.Key != e.Key {
			fmt.Fprintf(&b, " through %s", e.Blocking.Key)
		}
		fmt.Fprintf(&b, " by %s since %s", e.Blocking.Holder.Describe(), e.Blocking.AcquiredAt.Format(TimeFormat))
		if e.Blocking.Note != "" {
			fmt.Fprintf(&b, " (%s)", e.Blocking.Note)
		}
	case e.Waiter != nil:
		fmt.Fprintf(&b, "%s is free, but %s waits for it since %s", e.Key, e.Waiter.Holder.DescribeIdle(), e.Waiter.Since.Format(TimeFormat))
	case e.Keepers != nil:
		fmt.Fprintf(&b, "the fence of %s is still kept by %s", e.Key, DescribeKeepers(e.Keepers))
	default:
		fmt.Fprintf(&b, "%s is held by someone else", e.Key)
	}
	if e.Reason != "" {
		b.WriteString(": " + e.Reason)
	}
	return b.String()
}

func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// A LostError says that a lease, or the token given for it, is not current any more.
// Whatever was done under it must not be continued.
type LostError struct {
	Key        Key
	Generation int64  // the token that is not current
	Current    int64  // the generation that took over, 0 if none did
	Reason     string // "taken over by generation N", "cannot renew", "released", "broken", ...
	Err        error  // what kept the renewal from succeeding, if anything did
}

func (e *LostError) Error() string {
	s := fmt.Sprintf("token %d of %s is not current: %s", e.Generation, e.Key, e.Reason)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *LostError) Is(target error) bool { return target == ErrLost }
func (e *LostError) Unwrap() error        { return e.Err }

// A ConfigError says that a request cannot work, whatever the ledger holds. Nothing was touched.
type ConfigError struct {
	What string
	Hint string // what to do instead; may be empty
}

func (e *ConfigError) Error() string        { return e.What }
func (e *ConfigError) Is(target error) bool { return target == ErrConfig }

// A Fault classifies a RepositoryError.
type Fault string

const (
	FaultLedger  Fault = "ledger"  // it cannot be read or written
	FaultDamaged Fault = "damaged" // a record is not what it should be; it was left as it is
	FaultNewer   Fault = "newer"   // a record of a newer schema: held, not understood
	FaultBusy    Fault = "busy"    // a key's lock was not to be had in time
	FaultUnknown Fault = "unknown" // a write may or may not have been applied
)

// A RepositoryError says that the ledger could not do its work. Unless Fault is FaultUnknown nothing was changed.
type RepositoryError struct {
	Fault Fault
	Path  string // the file or directory concerned
	Key   Key    // the key concerned, if one is
	What  string
	Hint  string
	Err   error
}

func (e *RepositoryError) Error() string {
	s := e.What
	if e.Path != "" && !strings.Contains(s, e.Path) {
		s = e.Path + ": " + s
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *RepositoryError) Is(target error) bool { return target == ErrRepository }
func (e *RepositoryError) Unwrap() error        { return e.Err }

// A RevisionConflictError says that a record moved on since it was read. Read it again and decide anew.
type RevisionConflictError struct {
	Key                Key
	Expected, Revision int64 // 0: no record
}

func (e *RevisionConflictError) Error() string {
	return fmt.Sprintf("%s is at revision %d, not %d", e.Key, e.Revision, e.Expected)
}

func (e *RevisionConflictError) Is(target error) bool { return target == ErrRevisionConflict }

// A ConflictError says that a ticket's status forbids a transition.
type ConflictError struct {
	Ticket string
	Status Status // empty: no such ticket, or for add: it is known already
	What   string
	Hint   string
}

func (e *ConflictError) Error() string        { return e.What }
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }
