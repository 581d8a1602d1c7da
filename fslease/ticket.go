package fslease

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// A Status is where a ticket stands.
type Status string

const (
	Proposed   Status = "PROPOSED"
	Ready      Status = "READY"
	InProgress Status = "IN_PROGRESS"
	Blocked    Status = "BLOCKED"
	Review     Status = "REVIEW"
	Done       Status = "DONE"
	Cancelled  Status = "CANCELLED"
)

// Live reports whether a ticket of this status keeps its scope reserved.
func (s Status) Live() bool { return s == InProgress || s == Blocked || s == Review }

// A Ticket is a piece of work that a person has approved, and the keys it may touch.
type Ticket struct {
	ID        string
	Title     string
	Status    Status
	Scope     []Key
	Session   int64 // generation of the current session; 0: never started
	CreatedAt time.Time
	UpdatedAt time.Time
	Failures  []Failure
	History   []Move

	Extra map[string]json.RawMessage
}

// Kinds of failures.
const (
	FailureExpired = "lease_expired"  // the session ran out
	FailureDead    = "holder_dead"    // the process of the session is gone
	FailureCommand = "command_failed" // the command exited with ExitCode
	FailureBroken  = "broken"         // somebody broke the session
)

// A Failure is why a session of a ticket ended badly.
type Failure struct {
	Kind     string
	At       time.Time
	Session  int64
	Detail   string
	ExitCode *int64 // of command_failed

	Extra map[string]json.RawMessage
}

// A Move is one change of a ticket's status.
type Move struct {
	At       time.Time
	From, To Status
	By       string
	Reason   string

	Extra map[string]json.RawMessage
}

// A SessionStatus is where a session stands. It leaves active once and never comes back.
type SessionStatus string

const (
	SessionActive  SessionStatus = "active"
	SessionEnded   SessionStatus = "ended"
	SessionExpired SessionStatus = "expired"
)

// DefaultSession is how long a session lasts without a checkpoint unless it is said otherwise.
const DefaultSession = 900 * time.Second

// MaxCheckpoints is how many of the last checkpoints a session keeps.
const MaxCheckpoints = 20

// A Session is one stretch of work on a ticket, named by its generation.
type Session struct {
	Ticket          string
	Generation      int64
	Status          SessionStatus
	StartedAt       time.Time
	LeaseUntil      time.Time
	Lease           time.Duration
	BootID          string
	Deadline        int64   // CLOCK_MONOTONIC of the initial time namespace, in ns; on BootID it decides, not LeaseUntil
	Holder          *Holder // the process it is bound to, if it is
	Checkpoints     int64
	LastCheckpoints []Checkpoint

	Extra map[string]json.RawMessage
}

// A Checkpoint is a sign of life of a session.
type Checkpoint struct {
	At   time.Time
	Note string

	Extra map[string]json.RawMessage
}

// CheckTicketID refuses an id that is not one segment of a key.
func CheckTicketID(id string) error {
	if strings.Contains(id, "/") {
		return &ConfigError{What: fmt.Sprintf("ticket id %.60q contains a slash", id), Hint: "a ticket id is one segment, such as 42 or fix-login"}
	}
	if _, err := ParseKey(id); err != nil {
		return &ConfigError{What: "ticket id: " + err.Error(), Hint: "a ticket id is one segment, such as 42 or fix-login"}
	}
	_, err := ParseKey(TicketPrefix + id)
	return err
}

// MarshalJSON gives t as one compact JSON object.
func (t Ticket) MarshalJSON() ([]byte, error) {
	var b builder
	b.number("schema", Schema)
	b.text("id", t.ID)
	b.text("title", t.Title)
	b.text("status", string(t.Status))
	b.texts("scope", keyStrings(t.Scope))
	b.number("session", t.Session)
	b.when("created_at", t.CreatedAt)
	b.when("updated_at", t.UpdatedAt)
	b.list("failures", each(t.Failures, Failure.json))
	b.list("history", each(t.History, Move.json))
	return b.end(t.Extra), nil
}

// UnmarshalJSON reads a ticket.
func (t *Ticket) UnmarshalJSON(data []byte) error {
	o := parseObject(data)
	o.schema()
	got := Ticket{ID: o.text("id"), Title: o.text("title"), Status: Status(o.text("status")), Session: o.count("session", MaxNumber)}
	names := o.texts("scope")
	got.CreatedAt, got.UpdatedAt = o.when("created_at"), o.when("updated_at")
	got.Failures = readAll(o, "failures", readFailure)
	got.History = readAll(o, "history", readMove)
	got.Extra = o.rest()
	if err := CheckTicketID(got.ID); err != nil {
		o.fail("id", "is %.40q: %v", got.ID, err)
	}
	switch got.Status {
	case Proposed, Ready, InProgress, Blocked, Review, Done, Cancelled:
	default:
		o.fail("status", "is %.40q, which is no status", got.Status)
	}
	if o.err != nil {
		return o.err
	}
	scope, err := ParseKeys(names...)
	if err != nil {
		return fmt.Errorf("field \"scope\": %w", err)
	}
	got.Scope = scope
	*t = got
	return nil
}

func (f Failure) json() []byte {
	var b builder
	b.text("kind", f.Kind)
	b.when("at", f.At)
	b.number("session", f.Session)
	b.text("detail", f.Detail)
	if f.ExitCode != nil {
		b.number("exit_code", *f.ExitCode)
	}
	return b.end(f.Extra)
}

func readFailure(o *object) Failure {
	f := Failure{Kind: o.text("kind"), At: o.when("at"), Session: o.count("session", MaxNumber), Detail: o.text("detail")}
	if _, ok := o.fields["exit_code"]; ok {
		code := o.number("exit_code", 0, MaxNumber)
		f.ExitCode = &code
	}
	f.Extra = o.rest()
	return f
}

func (m Move) json() []byte {
	var b builder
	b.when("at", m.At)
	b.text("from", string(m.From))
	b.text("to", string(m.To))
	b.text("by", m.By)
	b.text("reason", m.Reason)
	return b.end(m.Extra)
}

func readMove(o *object) Move {
	m := Move{At: o.when("at"), From: Status(o.text("from")), To: Status(o.text("to")), By: o.text("by"), Reason: o.text("reason")}
	m.Extra = o.rest()
	return m
}

// MarshalJSON gives s as one compact JSON object.
func (s Session) MarshalJSON() ([]byte, error) {
	var b builder
	b.number("schema", Schema)
	b.text("ticket", s.Ticket)
	b.number("generation", s.Generation)
	b.text("status", string(s.Status))
	b.when("started_at", s.StartedAt)
	b.when("lease_until", s.LeaseUntil)
	b.number("lease_ms", s.Lease.Milliseconds())
	b.text("boot_id", s.BootID)
	b.number("deadline_mono_ns", s.Deadline)
	if s.Holder != nil {
		b.raw("holder", s.Holder.json())
	}
	b.number("checkpoints", s.Checkpoints)
	b.list("last_checkpoints", each(s.LastCheckpoints, Checkpoint.json))
	return b.end(s.Extra), nil
}

// UnmarshalJSON reads a session.
func (s *Session) UnmarshalJSON(data []byte) error {
	o := parseObject(data)
	o.schema()
	got := Session{
		Ticket:      o.text("ticket"),
		Generation:  o.number("generation", 1, MaxNumber),
		Status:      SessionStatus(o.text("status")),
		StartedAt:   o.when("started_at"),
		LeaseUntil:  o.when("lease_until"),
		Lease:       o.milliseconds("lease_ms"),
		BootID:      o.text("boot_id"),
		Deadline:    o.count("deadline_mono_ns", maxInode),
		Checkpoints: o.count("checkpoints", MaxNumber),
	}
	if _, ok := o.fields["holder"]; ok {
		h := o.child("holder")
		holder := readHolder(h)
		o.adopt(h)
		got.Holder = &holder
	}
	got.LastCheckpoints = readAll(o, "last_checkpoints", readCheckpoint)
	got.Extra = o.rest()
	if err := CheckTicketID(got.Ticket); err != nil {
		o.fail("ticket", "is %.40q: %v", got.Ticket, err)
	}
	switch got.Status {
	case SessionActive, SessionEnded, SessionExpired:
	default:
		o.fail("status", "is %.40q, not active, ended or expired", got.Status)
	}
	if o.err != nil {
		return o.err
	}
	*s = got
	return nil
}

func (c Checkpoint) json() []byte {
	var b builder
	b.when("at", c.At)
	b.text("note", c.Note)
	return b.end(c.Extra)
}

func readCheckpoint(o *object) Checkpoint {
	c := Checkpoint{At: o.when("at"), Note: o.text("note")}
	c.Extra = o.rest()
	return c
}

func each[T any](items []T, f func(T) []byte) [][]byte {
	out := make([][]byte, len(items))
	for i, item := range items {
		out[i] = f(item)
	}
	return out
}

func readAll[T any](o *object, name string, f func(*object) T) []T {
	var out []T
	for _, c := range o.children(name) {
		out = append(out, f(c))
		o.adopt(c)
	}
	return out
}
