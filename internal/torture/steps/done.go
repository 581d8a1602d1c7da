package steps

import (
	"fmt"
	"slices"

	"fslease/fslease"
)

// both joins what several say is missing.
func both(done ...func(After) string) func(After) string {
	return func(a After) string {
		for _, d := range done {
			if missing := d(a); missing != "" {
				return missing
			}
		}
		return ""
	}
}

// ran is true of a command that ran once, under a token of key.
func ran(key fslease.Key) func(After) string {
	return func(a After) string {
		n := 0
		for _, g := range a.Granted {
			if g.Key == key {
				n++
			}
		}
		if n != 1 {
			return fmt.Sprintf("the command ran %d times under %s, not once", n, key)
		}
		return ""
	}
}

// worked is true of a command that ran once under keys and has given them back.
func worked(keys ...fslease.Key) func(After) string {
	done := []func(After) string{free(keys...)}
	for _, k := range keys {
		done = append(done, ran(k))
	}
	return both(done...)
}

// free is true of keys that nobody has. The reservation of a ticket that is not live is nobody's.
func free(keys ...fslease.Key) func(After) string {
	return func(a After) string {
		for _, k := range keys {
			cur := a.Now.Keys[k].Current()
			if cur != nil && !(cur.Holder.IsTicket() && !a.Now.Tickets[cur.Holder.Ticket].Status.Live()) {
				return fmt.Sprintf("%s is held: generation %d", k, cur.Generation)
			}
		}
		return ""
	}
}

// held is true of a key that somebody has who has not ended, under the generation that was answered if one was.
func held(key fslease.Key) func(After) string {
	return func(a After) string {
		cur := a.Now.Keys[key].Current()
		if cur == nil || a.Now.Dead[key] {
			return string(key) + " is not held"
		}
		if g := last(a.Granted, key); g != 0 && g != cur.Generation {
			return fmt.Sprintf("%s is of generation %d, not of %d as was answered", key, cur.Generation, g)
		}
		return ""
	}
}

func renewed(key fslease.Key) func(After) string {
	return both(held(key), func(a After) string {
		if before, now := a.Before.Keys[key].Revision(), a.Now.Keys[key].Revision(); now <= before {
			return fmt.Sprintf("%s is still of revision %d", key, now)
		}
		return ""
	})
}

// reserved is true of keys that are reserved for the ticket t.
func reserved(keys ...fslease.Key) func(After) string {
	return func(a After) string {
		for _, k := range keys {
			if cur := a.Now.Keys[k].Current(); cur == nil || cur.Holder.Ticket != "t" {
				return string(k) + " is not reserved for the ticket"
			}
		}
		return ""
	}
}

// status is true of the ticket t and its session.
func status(want fslease.Status) func(After) string {
	return func(a After) string {
		t, known := a.Now.Tickets["t"]
		if !known || t.Status != want {
			return fmt.Sprintf("the ticket is %q, not %s", t.Status, want)
		}
		active := slices.Contains(a.Now.Active, "t")
		if active != (want == fslease.InProgress) {
			return fmt.Sprintf("the ticket is %s, and it is %v that it may have an active session", t.Status, active)
		}
		for _, s := range a.Now.Sessions["t"] {
			if working := s.Status == fslease.SessionActive; working != (want == fslease.InProgress && s.Generation == t.Session) {
				return fmt.Sprintf("session %d is %s, and the ticket is %s", s.Generation, s.Status, t.Status)
			}
		}
		return ""
	}
}

func checkpointed(a After) string {
	for _, s := range a.Now.Sessions["t"] {
		if s.Checkpoints > 0 {
			return ""
		}
	}
	return "there is no checkpoint"
}

// forgotten is true of a key of which nothing is on record, while the floor is above what was.
func forgotten(key fslease.Key) func(After) string {
	return func(a After) string {
		if _, known := a.Now.Keys[key]; known {
			return "something is on record for " + string(key)
		}
		return ""
	}
}

func undamaged(a After) string {
	if len(a.Now.Damaged) > 0 {
		return "damaged: " + a.Now.Damaged[0]
	}
	return ""
}
