package fslease

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Verb is what somebody does to a ticket.
type Verb string

const (
	VerbApprove    Verb = "approve"
	VerbStart      Verb = "start"
	VerbCheckpoint Verb = "checkpoint"
	VerbReview     Verb = "review"
	VerbBlock      Verb = "block"
	VerbDone       Verb = "done"
	VerbReopen     Verb = "reopen"
	VerbCancel     Verb = "cancel"
)

// moves says from which status a verb leads to which. The order is that of the messages.
var moves = []struct {
	verb Verb
	from []Status
	to   Status
}{
	{VerbApprove, []Status{Proposed}, Ready},
	{VerbStart, []Status{Ready, Blocked, Review}, InProgress},
	{VerbCheckpoint, []Status{InProgress}, InProgress},
	{VerbReview, []Status{InProgress}, Review},
	{VerbBlock, []Status{InProgress}, Blocked},
	{VerbDone, []Status{InProgress, Blocked, Review}, Done},
	{VerbReopen, []Status{Blocked, Review}, Ready},
	{VerbCancel, []Status{Proposed, Ready, InProgress, Blocked, Review}, Cancelled},
}

// Allowed returns the verbs that a status allows.
func (s Status) Allowed() []Verb {
	var verbs []Verb
	for _, m := range moves {
		if slices.Contains(m.from, s) {
			verbs = append(verbs, m.verb)
		}
	}
	return verbs
}

// Target returns where verb leads t, or a *ConflictError that names its status and what that allows.
func (t Ticket) Target(verb Verb) (Status, error) {
	for _, m := range moves {
		if m.verb == verb && slices.Contains(m.from, t.Status) {
			return m.to, nil
		}
	}
	var allowed []string
	for _, v := range t.Status.Allowed() {
		allowed = append(allowed, string(v))
	}
	hint := "nothing can be done with it any more"
	if len(allowed) > 0 {
		hint = fmt.Sprintf("%s allows: %s; lease ticket show %s says more", t.Status, strings.Join(allowed, ", "), t.ID)
	}
	return "", &ConflictError{Ticket: t.ID, Status: t.Status, What: fmt.Sprintf("ticket %s is %s, which does not allow %s", t.ID, t.Status, verb), Hint: hint}
}

// Moved returns t in another status, with the move in its history and, if there is one, the failure.
func (t Ticket) Moved(to Status, by, reason string, failure *Failure, now Instant) Ticket {
	if t.Status != to {
		t.History = append(slices.Clip(t.History), Move{At: now.Wall, From: t.Status, To: to, By: by, Reason: reason})
	}
	if failure != nil {
		t.Failures = append(slices.Clip(t.Failures), *failure)
	}
	t.Status = to
	t.UpdatedAt = now.Wall
	return t.trimmed()
}

// maxTicketBytes is how large a ticket may become, as compact JSON: indented it still fits a record.
const maxTicketBytes = MaxRecordBytes / 2

// trimmed drops the oldest moves and failures of a ticket that would not fit a record any more: one that is
// started again and again must not become unreadable. The journal keeps them.
func (t Ticket) trimmed() Ticket {
	for t.size() > maxTicketBytes && len(t.History)+len(t.Failures) > 2 {
		t.History = t.History[len(t.History)/2:]
		t.Failures = t.Failures[len(t.Failures)/2:]
	}
	return t
}

func (t Ticket) size() int {
	data, _ := t.MarshalJSON() // never fails
	return len(data)
}

// Keys returns what a live t reserves: its own key first, then its scope, folded.
// A scope that was edited by hand may overlap itself.
func (t Ticket) Keys() []Key {
	return append([]Key{TicketKey(t.ID)}, FoldKeys(t.Scope)...)
}

// NewSession returns the session of a ticket that starts now and lasts for lease without a checkpoint.
// bound is the process whose end ends it, nil if there is none.
func NewSession(ticket string, generation int64, lease time.Duration, bound *Holder, now Instant) Session {
	s := Session{Ticket: ticket, Generation: generation, Status: SessionActive, StartedAt: now.Wall, Lease: lease, Holder: bound}
	s.extend(now)
	return s
}

// extend moves the end of s to its lease from now, on the clock of now.
func (s *Session) extend(now Instant) {
	s.LeaseUntil = now.Wall.Add(s.Lease)
	s.BootID = now.BootID
	s.Deadline = now.Mono - now.Ahead + int64(s.Lease)
}

// Renewed returns s after a heartbeat of the process that works in it: a checkpoint, but none that would
// push the notes of others out of the last ones.
func (s Session) Renewed(now Instant) Session {
	s.extend(now)
	s.Checkpoints++
	return s
}

// Checkpointed returns s after a checkpoint. The note may be empty.
func (s Session) Checkpointed(note string, now Instant) Session {
	s = s.Renewed(now)
	last := append(slices.Clip(s.LastCheckpoints), Checkpoint{At: now.Wall, Note: note})
	s.LastCheckpoints = last[max(0, len(last)-MaxCheckpoints):]
	return s
}

// RanOut reports whether s was not renewed in time. On its own boot the monotonic deadline decides, so that
// a stepped wall clock expires and revives nothing; anywhere else lease_until does.
func (s Session) RanOut(now Instant) bool {
	if s.BootID != "" && s.BootID == now.BootID {
		return now.Mono-now.Ahead >= s.Deadline
	}
	return !now.Wall.Before(s.LeaseUntil)
}

// Ended returns s in a status that it keeps.
func (s Session) Ended(status SessionStatus) Session {
	s.Status = status
	return s
}

// Lapse is what is wrong with an active session: nil, or the failure that ends it. life is the verdict on
// the process that it is bound to, which may prove its end, but extends nothing.
func (s Session) Lapse(life Verdict, now Instant) *Failure {
	switch {
	case s.Holder != nil && life.Life == Dead:
		return &Failure{Kind: FailureDead, At: now.Wall, Session: s.Generation, Detail: "the process of the session has ended: " + life.Reason}
	case s.RanOut(now):
		return &Failure{Kind: FailureExpired, At: now.Wall, Session: s.Generation, Detail: "no checkpoint until " + s.LeaseUntil.UTC().Format(TimeFormat)}
	}
	return nil
}

// Lapsed is Lapse by what l can tell of the process, and its clock.
func Lapsed(l Ledger, s Session) *Failure {
	var life Verdict
	if s.Holder != nil {
		life = l.Probe(*s.Holder)
	}
	return s.Lapse(life, l.Clock().Now())
}
