package fslease

import (
	"errors"
	"fmt"
	"strings"
)

// MarshalJSON of each record type gives one compact JSON value; UnmarshalJSON is its inverse and refuses
// whatever does not fit the type. Fields it does not know are kept in Extra.

func (h Holder) json() []byte {
	var b builder
	b.text("kind", h.Kind)
	if h.IsTicket() {
		b.text("ticket", h.Ticket)
		b.number("session", h.Session)
		return b.end(h.Extra)
	}
	b.text("id", h.ID)
	b.text("evidence", string(h.Evidence))
	b.text("host", h.Host)
	b.some("machine_id", h.MachineID)
	b.text("boot_id", h.BootID)
	b.flag("boot_id_genuine", h.BootIDGenuine)
	b.number("pid", h.PID)
	b.number("start_time", h.StartTime)
	b.number("pid_ns", h.PIDNS)
	b.number("time_ns", h.TimeNS)
	b.count("pidfd_inode", h.PidfdInode)
	b.count("holder_inode", h.HolderInode)
	b.number("uid", h.UID)
	b.text("user", h.User)
	if h.Command != nil {
		b.texts("command", h.Command)
	}
	b.some("cwd", h.Cwd)
	if h.Exec {
		b.flag("exec", true)
	}
	return b.end(h.Extra)
}

func readHolder(o *object) Holder {
	h := Holder{Kind: o.text("kind")}
	switch h.Kind {
	case KindTicket:
		h.Ticket = o.text("ticket")
		h.Session = o.number("session", 0, MaxNumber)
		if err := CheckTicketID(h.Ticket); o.err == nil && err != nil {
			o.fail("ticket", "is no ticket id: %v", err)
		}
	case KindProcess:
		h.ID = o.text("id")
		h.Evidence = Evidence(o.text("evidence"))
		h.Host = o.text("host")
		h.MachineID = o.text("machine_id")
		h.BootID = o.text("boot_id")
		h.BootIDGenuine = o.flag("boot_id_genuine")
		h.PID = o.count("pid", MaxNumber)
		h.StartTime = o.count("start_time", MaxNumber)
		h.PIDNS = o.count("pid_ns", maxInode)
		h.TimeNS = o.count("time_ns", maxInode)
		h.PidfdInode = o.count("pidfd_inode", maxInode)
		h.HolderInode = o.count("holder_inode", maxInode)
		h.UID = o.count("uid", MaxNumber)
		h.User = o.text("user")
		h.Command = o.texts("command")
		h.Cwd = o.text("cwd")
		h.Exec = o.flag("exec")
		if !ValidHolderID(h.ID) {
			o.fail("id", "is %.40q, not 32 hex digits", h.ID)
		}
		switch h.Evidence {
		case EvidenceLock, EvidencePid, EvidenceNone:
		default:
			o.fail("evidence", "is %.40q, not lock, pid or none", h.Evidence)
		}
	default:
		o.fail("kind", "is %.40q, not process or ticket", h.Kind)
	}
	h.Extra = o.rest()
	return h
}

const maxInode = 1<<63 - 1

// ValidHolderID reports whether id may name a holder: 32 lower-case hex digits, safe as a file name.
func ValidHolderID(id string) bool {
	return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
}

// MarshalJSON gives r as one compact JSON object.
func (r Record) MarshalJSON() ([]byte, error) {
	var b builder
	b.number("schema", Schema)
	b.text("key", string(r.Key))
	b.number("generation", r.Generation)
	b.number("revision", r.Revision)
	b.when("acquired_at", r.AcquiredAt)
	b.when("renewed_at", r.RenewedAt)
	b.count("ttl_ms", r.TTL.Milliseconds())
	b.count("renewed_mono_ns", r.RenewedMono)
	b.some("note", r.Note)
	b.raw("holder", r.Holder.json())
	return b.end(r.Extra), nil
}

// UnmarshalJSON reads a record and refuses what does not fit: ErrNewerSchema, or an error that says what is wrong.
func (r *Record) UnmarshalJSON(data []byte) error {
	o := parseObject(data)
	o.schema()
	got := Record{
		Key:         o.key("key"),
		Generation:  o.number("generation", 1, MaxNumber),
		Revision:    o.number("revision", 1, MaxNumber),
		AcquiredAt:  o.when("acquired_at"),
		RenewedAt:   o.when("renewed_at"),
		TTL:         o.milliseconds("ttl_ms"),
		RenewedMono: o.count("renewed_mono_ns", maxInode),
		Note:        o.text("note"),
	}
	h := o.child("holder")
	got.Holder = readHolder(h)
	o.adopt(h)
	got.Extra = o.rest()
	if o.err != nil {
		return o.err
	}
	*r = got
	return nil
}

// MarshalJSON gives t as one compact JSON object.
func (t Tombstone) MarshalJSON() ([]byte, error) {
	var b builder
	b.number("schema", Schema)
	b.text("key", string(t.Key))
	b.number("generation", t.Generation)
	b.number("revision", t.Revision)
	b.when("released_at", t.ReleasedAt)
	b.text("reason", string(t.Reason))
	if t.LastHolder.Kind != "" {
		b.raw("last_holder", t.LastHolder.json())
	}
	b.number("unclean", t.Unclean)
	return b.end(t.Extra), nil
}

// UnmarshalJSON reads a tombstone. A lease that a full disk made its own tombstone (renamed, with its
// fields as they are) is one too: released when it was last renewed.
func (t *Tombstone) UnmarshalJSON(data []byte) error {
	o := parseObject(data)
	if _, isLease := o.fields["holder"]; isLease && o.err == nil {
		var r Record
		if err := r.UnmarshalJSON(data); err != nil {
			return err
		}
		*t = Tombstone{Key: r.Key, Generation: r.Generation, Revision: r.Revision, ReleasedAt: r.RenewedAt, Reason: ReasonReleased, LastHolder: r.Holder.brief()}
		return nil
	}
	o.schema()
	got := Tombstone{
		Key:        o.key("key"),
		Generation: o.number("generation", 1, MaxNumber),
		Revision:   o.number("revision", 1, MaxNumber),
		ReleasedAt: o.when("released_at"),
		Reason:     Reason(o.text("reason")),
		Unclean:    o.count("unclean", MaxNumber),
	}
	if _, ok := o.fields["last_holder"]; ok {
		h := o.child("last_holder")
		got.LastHolder = readHolder(h)
		o.adopt(h)
	}
	got.Extra = o.rest()
	if o.err != nil {
		return o.err
	}
	*t = got
	return nil
}

// MarshalJSON gives s as one compact JSON object.
func (s Sighting) MarshalJSON() ([]byte, error) {
	var b builder
	b.number("schema", Schema)
	b.text("key", string(s.Key))
	b.number("generation", s.Generation)
	b.number("revision", s.Revision)
	b.text("boot_id", s.BootID)
	b.number("time_ns", s.TimeNS)
	b.number("mono_ns", s.Mono)
	return b.end(nil), nil
}

// UnmarshalJSON reads a sighting.
func (s *Sighting) UnmarshalJSON(data []byte) error {
	o := parseObject(data)
	o.schema()
	got := Sighting{
		Key:        o.key("key"),
		Generation: o.number("generation", 1, MaxNumber),
		Revision:   o.number("revision", 1, MaxNumber),
		BootID:     o.text("boot_id"),
		TimeNS:     o.count("time_ns", maxInode),
		Mono:       o.number("mono_ns", 1, maxInode),
	}
	if o.err != nil {
		return o.err
	}
	*s = got
	return nil
}

// MarshalJSON gives w as one compact JSON object. Its number is the name of its file, not a field.
func (w Waiter) MarshalJSON() ([]byte, error) {
	var b builder
	b.number("schema", Schema)
	b.texts("keys", keyStrings(w.Keys))
	b.raw("holder", w.Holder.json())
	b.when("since", w.Since)
	b.some("note", w.Note)
	if len(w.Holds) > 0 {
		b.texts("holds", w.Holds)
	}
	return b.end(nil), nil
}

// UnmarshalJSON reads a waiter; the number stays as it is.
func (w *Waiter) UnmarshalJSON(data []byte) error {
	o := parseObject(data)
	o.schema()
	names := o.texts("keys")
	h := o.child("holder")
	got := Waiter{Number: w.Number, Holder: readHolder(h), Since: o.when("since"), Note: o.text("note"), Holds: o.texts("holds")}
	o.adopt(h)
	if o.err != nil {
		return o.err
	}
	keys, err := ParseKeys(names...)
	if err != nil {
		return fmt.Errorf("field \"keys\": %w", err)
	}
	if len(keys) == 0 {
		return errors.New("field \"keys\" is empty")
	}
	got.Keys = keys
	*w = got
	return nil
}

func keyStrings(keys []Key) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = string(k)
	}
	return out
}

// A CommandNote is a command that runs under leases: holders/<id>.command.json while its holder lives, orphans/<id>.json
// once that was buried, and where the command runs under a lease that is somebody else's.
type CommandNote struct {
	Keys       []Key
	Generation int64
	Process    Holder // evidence pid; id is that of the file's name
}

// Overlaps reports whether one of the note's keys overlaps one of keys.
func (c CommandNote) Overlaps(keys []Key) bool {
	for _, k := range c.Keys {
		if k.OverlapsAny(keys) {
			return true
		}
	}
	return false
}

// MarshalJSON gives c as one compact JSON object.
func (c CommandNote) MarshalJSON() ([]byte, error) {
	var b builder
	b.number("schema", Schema)
	b.texts("keys", keyStrings(c.Keys))
	b.number("generation", c.Generation)
	b.raw("process", c.Process.json())
	return b.end(nil), nil
}

// UnmarshalJSON reads a note.
func (c *CommandNote) UnmarshalJSON(data []byte) error {
	o := parseObject(data)
	o.schema()
	names := o.texts("keys")
	got := CommandNote{Generation: o.number("generation", 1, MaxNumber)}
	p := o.child("process")
	got.Process = readHolder(p)
	o.adopt(p)
	if o.err != nil {
		return o.err
	}
	keys, err := ParseKeys(names...)
	if err != nil {
		return fmt.Errorf("field \"keys\": %w", err)
	}
	got.Keys = keys
	*c = got
	return nil
}

// MarshalJSON gives e as one compact JSON object: a line of the journal.
func (e Event) MarshalJSON() ([]byte, error) {
	var b builder
	b.when("at", e.At)
	b.text("event", e.Event)
	if e.Ticket != "" {
		b.text("ticket", e.Ticket)
	} else {
		b.text("key", string(e.Key))
	}
	b.count("generation", e.Generation)
	b.count("revision", e.Revision)
	var by builder
	by.text("user", e.By.User)
	by.number("pid", e.By.PID)
	by.text("host", e.By.Host)
	b.raw("by", by.end(nil))
	b.some("reason", e.Reason)
	return b.end(nil), nil
}

// UnmarshalJSON reads a line of the journal.
func (e *Event) UnmarshalJSON(data []byte) error {
	o := parseObject(data)
	got := Event{At: o.when("at"), Event: o.text("event"), Key: Key(o.text("key")), Ticket: o.text("ticket"),
		Generation: o.count("generation", MaxNumber), Revision: o.count("revision", MaxNumber), Reason: o.text("reason")}
	by := o.child("by")
	got.By = Actor{User: by.text("user"), PID: by.count("pid", MaxNumber), Host: by.text("host")}
	o.adopt(by)
	if o.err != nil {
		return o.err
	}
	*e = got
	return nil
}
