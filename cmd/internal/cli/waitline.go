package cli

import (
	"fmt"
	"math"
	"strings"
	"time"

	"fslease/fslease"
)

// waitLine is what a waiter says on a terminal of so many columns (0: it does not say), where there is one line for it:
// for how long it waits, its place, and what for, since when and whose that is. The command and the note stand last, where
// the line is cut; where even that is not enough the key that was asked for is left out, and the one that is held cut.
// Two columns stay free: a ^C that is typed must not begin another line.
func waitLine(e *fslease.HeldError, waited time.Duration, now time.Time, columns int) string {
	room := columns - len("^C")
	if columns == 0 {
		room = math.MaxInt
	}
	start := "lease: waiting " + fslease.Seconds(waited.Truncate(time.Second))
	if e.Place > 0 {
		start += fmt.Sprintf(", place %d", e.Place)
	}
	start += ": "
	since := func(t time.Time) string { return " for " + fslease.Seconds(max(0, now.Sub(t).Truncate(time.Second))) }
	key, is, end := e.Key, " is held", " by someone else"
	through := "" // another key, which is named first if there is room for both
	switch {
	case len(e.Reserved) > 0 || e.Reason != "":
		return cut(start+escape(strings.ReplaceAll(short(e).Error(), "\n", "; ")), room)
	case e.Blocking != nil:
		key, end = e.Blocking.Key, since(e.Blocking.AcquiredAt)+" by "+personOf(e.Blocking.Holder, " running ", "")
		if key != e.Key {
			through = escape(string(e.Key)) + " is held through "
		}
		if e.Blocking.Note != "" {
			end += " (" + e.Blocking.Note + ")"
		}
	case e.Waiter != nil:
		is, end = " is free", ", ahead"+since(e.Waiter.Since)+" is "+personOf(e.Waiter.Holder, " (to run ", ")")
	case e.Keepers != nil:
		start, is, end = start+"the fence of ", " is kept", " by "+fslease.DescribeKeepers(e.Keepers)
	}
	matters, _, person := strings.Cut(end, "@")
	if person {
		matters = matters[:strings.LastIndexByte(matters, ' ')] // to the pid
	}
	name := escape(string(key))
	if through != "" && width(start+through+name+escape(matters)+"…") <= room {
		return cut(start+through+name+escape(end), room)
	}
	name = cut(name, max(8, room-width(start+is+escape(matters)+"…")))
	return cut(start+name+is+escape(end), room)
}

// personOf names a holder, what is needed to find it first, its command last, between these words.
func personOf(h fslease.Holder, before, after string) string {
	if command := shortCommand(h.Command); len(command) > 0 {
		return who(h) + before + command[0] + after
	}
	return who(h)
}
