package fslease

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Life is what is known of a holder.
type Life int

const (
	Unknown Life = iota // could not be told: every error, missing permission or foreign namespace
	Alive
	Dead // positively proven
)

func (l Life) String() string {
	return [...]string{"unknown", "alive", "dead"}[l]
}

// A Verdict is what a probe of a holder found, with its reason in words.
type Verdict struct {
	Life   Life
	Reason string
}

// A Judgement says whether a lease may be taken over now, and if not, when.
type Judgement struct {
	Verdict  Verdict
	Takeover bool
	Reason   Reason        // why, if Takeover: ReasonDead or ReasonExpired
	Silent   time.Duration // how long the holder has provably not renewed
	Wait     time.Duration // until silence alone allows a takeover; 0: it never does, or does already
}

// Judge is the one predicate by which everybody decides about a lease: acquirers, readers, hooks and
// repairs alike. A dead holder is taken over at once; one that is alive or unknown after it was silent
// for the TTL; one without TTL never; a ticket's reservation only by its ticket's own transitions.
//
// Silence is counted on one clock. On the holder's own boot and time namespace that is CLOCK_MONOTONIC
// since the stamp in the record. Anywhere else, and for a stamp in the future, it is the observer's
// CLOCK_MONOTONIC since it, or an earlier process on its clock, first saw this very revision (seen, which
// may be nil). No wall clock decides.
func Judge(rec Record, v Verdict, now Instant, seen *Sighting) Judgement {
	j := Judgement{Verdict: v}
	if rec.Holder.IsTicket() {
		return j
	}
	if v.Life == Dead {
		j.Takeover, j.Reason = true, ReasonDead
		return j
	}
	if rec.TTL == 0 {
		return j
	}
	j.Silent = silence(rec, now, seen)
	if j.Silent >= rec.TTL {
		j.Takeover, j.Reason = true, ReasonExpired
		return j
	}
	j.Wait = rec.TTL - j.Silent
	return j
}

func silence(rec Record, now Instant, seen *Sighting) time.Duration {
	if rec.NeedsSighting(now) {
		if seen.Of(rec, now) {
			return time.Duration(now.Mono - seen.Mono)
		}
		return 0
	}
	return time.Duration(now.Mono - rec.RenewedMono)
}

// NeedsSighting reports whether the stamp in the record says nothing on the clock of now, so that silence
// counts from when an observer first saw the revision.
func (r Record) NeedsSighting(now Instant) bool {
	return !r.Holder.SameClock(now) || r.RenewedMono == 0 || r.RenewedMono > now.Mono
}

// Words explains j for people, such as "alive: keeps its liveness lock" or
// "unknown: other pid namespace, silent for 12s of 60s".
func (j Judgement) Words(ttl time.Duration) string {
	s := j.Verdict.Life.String()
	if j.Verdict.Reason != "" {
		s += ": " + j.Verdict.Reason
	}
	if j.Verdict.Life != Dead && ttl > 0 {
		s += fmt.Sprintf(", silent for %s of %s", Seconds(j.Silent), Seconds(ttl))
	}
	return s
}

// Seconds shows a duration as people count it while they wait: 12s, 0.3s, 90s, then 15m, 2h30m.
func Seconds(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Round(100*time.Millisecond).Seconds(), 'f', -1, 64) + "s"
	case d < 5*time.Minute:
		return strconv.FormatInt(int64(d.Round(time.Second).Seconds()), 10) + "s"
	}
	text := d.Round(time.Second).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if cut, ok := strings.CutSuffix(text, zero); ok {
			text = cut + zero[:1]
		}
	}
	return text
}
