package steps

import (
	"fmt"
	"maps"
	"slices"

	"fslease/fslease"
)

// Changed says what the command changed of what counts: who has which key, and how a ticket stands; "" if nothing. What a process has
// that has ended does not count, so that a command that could not give back what it took has changed nothing.
func (c *Trial) Changed() string {
	for _, k := range slices.Sorted(maps.Keys(c.Now.Keys)) {
		before, now := c.Before.holds(k), c.Now.holds(k)
		switch {
		case before == nil && now == nil:
		case before == nil:
			return fmt.Sprintf("%s is held: generation %d", k, now.Generation)
		case now == nil:
			return fmt.Sprintf("%s is not held any more: generation %d", k, before.Generation)
		case before.Holder.IsTicket() && before.Holder.Ticket == now.Holder.Ticket: // nobody works under a reservation of a ticket that is not started
		case before.Generation != now.Generation || before.Revision != now.Revision || before.Holder.ID != now.Holder.ID:
			return fmt.Sprintf("%s is of generation %d and revision %d, not %d and %d", k, now.Generation, now.Revision, before.Generation, before.Revision)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(c.Before.Keys)) {
		if before := c.Before.holds(k); before != nil && c.Now.holds(k) == nil {
			return fmt.Sprintf("%s is not held any more: generation %d", k, before.Generation)
		}
	}
	for id, t := range c.Now.Tickets {
		before := c.Before.Tickets[id]
		if t.Status != before.Status || len(t.Failures) != len(before.Failures) {
			return fmt.Sprintf("ticket %s is %s with %d failures, not %q with %d", id, t.Status, len(t.Failures), before.Status, len(before.Failures))
		}
	}
	return ""
}

// holds returns the lease of a key if it counts.
func (s State) holds(k fslease.Key) *fslease.Record {
	cur := s.Keys[k].Current()
	if cur == nil || s.Dead[k] || cur.Holder.IsTicket() && !s.Tickets[cur.Holder.Ticket].Status.Live() {
		return nil
	}
	return cur
}
