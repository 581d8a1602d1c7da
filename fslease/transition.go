package fslease

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// The transitions are pure: the state on record, a request and the time go in, a record or an error comes
// out. Who calls them holds the key's lock and writes what they return.

// A Grant asks for a key that nobody holds.
type Grant struct {
	Key    Key
	Holder Holder
	TTL    time.Duration // 0: as long as the holder lives
	Note   string
}

// Granted returns the lease of g at generation, which must be above every one handed out for the key.
func Granted(prev State, g Grant, generation int64, now Instant) Record {
	return Record{
		Key:         g.Key,
		Generation:  generation,
		Revision:    prev.Revision() + 1,
		AcquiredAt:  now.Wall,
		RenewedAt:   now.Wall,
		TTL:         g.TTL,
		RenewedMono: now.Mono,
		Note:        g.Note,
		Holder:      g.Holder,
	}
}

// CheckToken returns the current lease of key if token is its generation, and a *LostError that says what
// became of the token otherwise. A holderID that is not empty must be the holder's as well.
func CheckToken(key Key, s State, token int64, holderID string) (Record, error) {
	cur := s.Current()
	if cur != nil && cur.Generation == token && (holderID == "" || cur.Holder.ID == holderID) {
		return *cur, nil
	}
	lost := &LostError{Key: key, Generation: token}
	switch {
	case s.Generation() > token:
		lost.Current = s.Generation()
		lost.Reason = takenOver(lost.Current)
	case cur != nil && cur.Generation == token:
		lost.Reason = "the record names another holder"
	case s.Tomb != nil && s.Tomb.Generation == token:
		lost.Reason = string(s.Tomb.Reason)
		if s.Tomb.Reason == ReasonDead || s.Tomb.Reason == ReasonExpired {
			lost.Reason = "given up as " + lost.Reason
		}
	case s.Generation() == 0:
		lost.Reason = "the record is gone"
	default:
		lost.Reason = "it was never given out"
	}
	return Record{}, lost
}

func takenOver(by int64) string { return fmt.Sprintf("taken over by generation %d", by) }

// Renewed returns rec as it is after a renewal by somebody on the clock of now. The stamp is taken only
// from the clock that the record is judged by: a renewal of a process's lease from another boot or time
// namespace leaves it out, so that observers count from when they see the new revision. A lease without a
// process (evidence none) moves to the clock of who renews it.
func Renewed(rec Record, now Instant) Record {
	rec.Revision++
	rec.RenewedAt = now.Wall
	rec.RenewedMono = now.Mono
	switch {
	case rec.Holder.SameClock(now):
	case rec.Holder.Evidence == EvidenceNone:
		rec.Holder.BootID, rec.Holder.TimeNS = now.BootID, now.TimeNS
	default:
		rec.RenewedMono = 0
	}
	return rec
}

// Handed returns rec with another holder at the same generation: the last step of a one-shot command,
// which holds a lease itself until its answer.
func Handed(rec Record, to Holder, ttl time.Duration, now Instant) Record {
	rec.Holder, rec.TTL = to, ttl
	rec.Revision++
	rec.RenewedAt, rec.RenewedMono = now.Wall, now.Mono
	return rec
}

// Buried returns the tombstone of rec. Reasons other than release and transfer count as unclean, each
// generation once.
func Buried(rec Record, prev *Tombstone, reason Reason, now Instant) Tombstone {
	t := Tombstone{
		Key:        rec.Key,
		Generation: rec.Generation,
		Revision:   rec.Revision + 1,
		ReleasedAt: now.Wall,
		Reason:     reason,
		LastHolder: rec.Holder.brief(),
	}
	if prev != nil {
		t.Revision = max(t.Revision, prev.Revision+1)
		t.Extra = prev.Extra
	}
	orderly := reason == ReasonReleased || reason == ReasonTransferred || reason == ReasonDead && rec.Holder.Exec
	if !orderly {
		t.Unclean = 1
		if prev != nil {
			t.Unclean += prev.Unclean
		}
	}
	return t
}

// brief returns h as a tombstone keeps it: the command cut to its first word.
func (h Holder) brief() Holder {
	if len(h.Command) > 1 {
		h.Command = slices.Clip(h.Command[:1])
	}
	return h
}

// CheckNote refuses a note that is too long or not UTF-8.
func CheckNote(note string) error {
	if len(note) > MaxNoteBytes {
		return &ConfigError{What: fmt.Sprintf("the note has %d bytes, more than %d", len(note), MaxNoteBytes), Hint: "shorten it"}
	}
	if strings.ToValidUTF8(note, "") != note {
		return &ConfigError{What: "the note is not UTF-8", Hint: "write it in UTF-8"}
	}
	return nil
}

// CommandWords makes argv fit for a record: bytes that are not UTF-8 become \xNN, and what goes beyond
// MaxCommandSize bytes is cut.
func CommandWords(argv []string) []string {
	room := MaxCommandSize
	var words []string
	for _, arg := range argv {
		arg = escapeBytes(arg)
		if len(arg) > room {
			arg = strings.ToValidUTF8(arg[:room], "")
			return append(words, arg)
		}
		room -= len(arg) + 1 // the end of an argument counts, or empty ones would have no end
		words = append(words, arg)
		if room <= 0 {
			break
		}
	}
	return words
}

func escapeBytes(s string) string {
	if strings.ToValidUTF8(s, "") == s {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if r == '�' && !strings.HasPrefix(s[i:], "�") {
			fmt.Fprintf(&b, "\\x%02x", s[i])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
