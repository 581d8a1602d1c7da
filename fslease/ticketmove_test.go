package fslease_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fslease/fslease"
)

// A ticket that is started again and again still fits a record, and keeps the latest of its history.
func TestLongHistoriesFitARecord(t *testing.T) {
	now := fslease.Instant{Wall: time.Now()}
	ticket := fslease.Ticket{ID: "42", Status: fslease.Blocked}
	long := strings.Repeat("x", 1000)
	for i := range 800 {
		f := fslease.Failure{Kind: fslease.FailureCommand, Detail: long, Session: int64(i)}
		ticket = ticket.Moved(fslease.InProgress, "ann", long, nil, now).Moved(fslease.Blocked, "ann", fmt.Sprint(i), &f, now)
	}
	size := len(fslease.Indent(marshal(t, ticket)))
	lastMove, lastFailure := ticket.History[len(ticket.History)-1], ticket.Failures[len(ticket.Failures)-1]
	if size > fslease.MaxRecordBytes || lastMove.Reason != "799" || lastFailure.Session != 799 || len(ticket.History) < 100 {
		t.Errorf("%d bytes, %d moves, the last %+v, %d failures", size, len(ticket.History), lastMove, len(ticket.Failures))
	}
}

// On its own clock a session's deadline counts and no wall clock; anywhere else lease_until does.
func TestWhichClockEndsASession(t *testing.T) {
	wall := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	start := fslease.Instant{Wall: wall, Mono: 1000 * int64(time.Second), BootID: "b", TimeNS: 1}
	s := fslease.NewSession("42", 7, time.Minute, nil, start)
	at := func(mono, wallStep time.Duration) fslease.Instant {
		return fslease.Instant{Wall: wall.Add(mono + wallStep), Mono: start.Mono + int64(mono), BootID: "b", TimeNS: 1}
	}
	reboot := func(now fslease.Instant) fslease.Instant {
		now.BootID, now.Mono = "c", 5
		return now
	}
	ahead := func(now fslease.Instant, d time.Duration) fslease.Instant { // in another time namespace
		now.TimeNS, now.Mono, now.Ahead = 2, now.Mono+int64(d), int64(d)
		return now
	}
	for _, c := range []struct {
		what string
		now  fslease.Instant
		out  bool
	}{
		{"in time", at(time.Minute-1, 0), false},
		{"at the end", at(time.Minute, 0), true},
		{"in time, the wall clock an hour ahead", at(time.Minute-1, time.Hour), false},
		{"at the end, the wall clock an hour back", at(time.Minute, -time.Hour), true},
		{"after a reboot, in time", reboot(at(time.Minute-1, 0)), false},
		{"after a reboot, at the end", reboot(at(time.Minute, 0)), true},
		{"in a time namespace ahead, in time", ahead(at(time.Minute-1, time.Hour), time.Hour), false},
		{"in a time namespace ahead, at the end", ahead(at(time.Minute, -time.Hour), time.Hour), true},
		{"in a time namespace behind, in time", ahead(at(time.Minute-1, time.Hour), -time.Minute), false},
		{"in a time namespace behind, at the end", ahead(at(time.Minute, -time.Hour), -time.Minute), true},
	} {
		if s.RanOut(c.now) != c.out {
			t.Errorf("%s: ran out is %v", c.what, !c.out)
		}
	}
	elsewhere := fslease.NewSession("42", 7, time.Minute, nil, ahead(start, time.Hour))
	if elsewhere.RanOut(at(time.Minute-1, 0)) || !elsewhere.RanOut(at(time.Minute, 0)) {
		t.Error("a session that was started in a time namespace ends when it ends anywhere")
	}
	renewed := s.Checkpointed("", at(30*time.Second, time.Hour))
	if renewed.RanOut(at(90*time.Second-1, 0)) || !renewed.RanOut(at(90*time.Second, 0)) {
		t.Error("a checkpoint lasts a session's length from its moment")
	}
}

// A process that lives extends nothing; one that is dead ends the session at once; of one of which nothing
// is known only the time tells.
func TestLapse(t *testing.T) {
	start := fslease.Instant{Wall: time.Now(), BootID: "b", TimeNS: 1}
	later := fslease.Instant{Wall: start.Wall.Add(time.Minute), Mono: int64(time.Minute), BootID: "b", TimeNS: 1}
	bound := fslease.NewSession("42", 7, time.Minute, &fslease.Holder{}, start)
	for life, kinds := range map[fslease.Life][2]string{
		fslease.Alive: {"", fslease.FailureExpired}, fslease.Unknown: {"", fslease.FailureExpired}, fslease.Dead: {fslease.FailureDead, fslease.FailureDead},
	} {
		for i, now := range []fslease.Instant{start, later} {
			kind := ""
			if f := bound.Lapse(fslease.Verdict{Life: life}, now); f != nil {
				kind = f.Kind
			}
			if kind != kinds[i] {
				t.Errorf("%s, look %d: %q, want %q", life, i, kind, kinds[i])
			}
		}
	}
}
