package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"fslease/internal/torture/kit"
)

// patience is how long the search for an order of the steps may take. An order that exists is found in a moment.
const patience = 20 * time.Second

func (r *round) check() {
	slices.SortFunc(r.calls, func(a, b *call) int { return cmp.Compare(a.start, b.start) })
	r.answers()
	r.readWork()
	r.order()
	r.countMet()
	for _, family := range families {
		ops := operationsOf(family, r.calls)
		switch porcupine.CheckOperationsTimeout(model, ops, patience) {
		case porcupine.Illegal:
			r.Violate("round %d: no order of what happened to the keys %s explains the answers:\n%s", r.number, strings.Join(family, " "), r.tell(family))
		case porcupine.Unknown:
			r.Violate("round %d: within %v no order of what happened to the keys %s was found", r.number, patience, strings.Join(family, " "))
		}
	}
}

// codes are the answers that a call may get.
var codes = map[kind][]int{
	run1: {0, 75, 76, 137}, acquire: {0, 75, 76}, renew: {0, 76}, release: {0, 76}, transfer: {0, 75, 76}, breaks: {0, 1}, check: {0, 1}, fenced: {0, 76, 137},
}

// answers checks that every call had an answer that it may have.
func (r *round) answers() {
	slow := r.slow()
	for _, c := range r.calls {
		if slow && c.busy() {
			r.Made("locks not had on a machine that is too slow", 1)
			continue
		}
		gone := c.owner != nil && c.owner.deadAt.Load() != 0 && c.owner.deadAt.Load() < c.end
		switch {
		case c.killed:
		case c.result.Hung || c.result.Signal != 0 || c.result.Code != 64 && !slices.Contains(codes[c.kind], c.result.Code),
			c.result.Code == 137 && c.killedAt == 0, c.result.Code == 64 && !gone:
			r.Violate("round %d: %s", r.number, c.result)
		}
	}
	r.calls = slices.DeleteFunc(r.calls, func(c *call) bool { return !c.killed && c.result.Code == 64 }) // the process that was to hold was gone
}

// slow reports whether most calls took so long that a lock cannot be had within ten seconds because too many others take turns.
func (r *round) slow() bool {
	var took []int64
	for _, c := range r.calls {
		took = append(took, c.end-c.start)
	}
	slices.Sort(took)
	return time.Duration(took[len(took)/2]) > 250*time.Millisecond
}

// readWork finds out what ran under each call, and checks that no two on overlapping keys ran at once.
func (r *round) readWork() {
	works := r.witness.Log()
	for i := range works {
		w := &works[i]
		for _, c := range r.calls {
			if c.id == w.ID {
				c.work = w
			}
		}
		for _, o := range works[:i] {
			if o.End > w.Start && sameWork(o, *w) {
				r.Violate("round %d: %s and %s ran at once, under %v and %v", r.number, o.ID, w.ID, o.Tokens, w.Tokens)
			}
		}
	}
	for _, c := range r.calls {
		if (c.kind == run1 || c.kind == fenced) && !c.killed && c.result.Code == 0 && (c.work == nil || c.work.End == 0) {
			r.Violate("round %d: the command did not run to its end, but its exit code is said to be 0: %s", r.number, c.result)
		}
	}
}

func sameWork(a, b kit.Work) bool {
	for key := range a.Tokens {
		for other := range b.Tokens {
			if kit.Overlap(key, other) {
				return true
			}
		}
	}
	return false
}

// A given is a generation that somebody was given.
type given struct {
	token    int64
	from, to int64
	by       *call
}

// order checks that no generation of a key was given twice, that they rise in the order of real time, and that work under a
// lower one never begins after work under a higher one.
func (r *round) order() {
	all, began := map[string][]given{}, map[string]given{}
	for _, c := range r.calls {
		for _, h := range c.happenings() {
			for key, token := range h.tokens {
				all[key] = append(all[key], given{token, h.from, h.to, c})
			}
		}
	}
	for key, list := range all {
		for i, g := range list {
			for _, o := range list[:i] {
				if o.token == g.token || o.to < g.from && o.token > g.token || g.to < o.from && g.token > o.token {
					r.Violate("round %d: generation %d of %s was given to %q, and %d to %q", r.number, o.token, key, o.by, g.token, g.by)
				}
			}
		}
	}
	for _, w := range r.witness.Log() {
		for key, token := range w.Tokens {
			if last := began[key]; last.token > token {
				r.Violate("round %d: work %s began on %s under generation %d, after other work under %d", r.number, w.ID, key, token, last.token)
			}
			began[key] = given{token: token}
		}
	}
}

// A hold is a time in which a worker certainly held a key.
type hold struct {
	worker, key string
	from, to    int64
}

// countMet counts the calls that met a key which another worker held.
func (r *round) countMet() {
	var holds []hold
	for _, c := range r.calls {
		switch {
		case c.kind == acquire && c.result.Code == 0:
			for _, key := range c.keys {
				holds = append(holds, hold{c.worker, key, c.end, r.givenUp(key, c)})
			}
		case c.kind == run1 && c.work != nil:
			for _, key := range c.keys {
				holds = append(holds, hold{c.worker, key, c.work.Start, c.work.End})
			}
		}
	}
	for _, c := range r.calls {
		waited := c.waits && slices.ContainsFunc(holds, func(h hold) bool {
			return h.worker != c.worker && h.from < c.end && h.to > c.start && overlapAny(h.key, c.keys)
		})
		if !c.killed && (c.result.Code == 75 || c.asks() && waited || c.kind == breaks && c.result.Code == 0) {
			r.Made(met, 1)
		}
	}
}

// givenUp returns when whoever was given key by c asked for an end of it, or somebody else did.
func (r *round) givenUp(key string, c *call) int64 {
	for _, o := range r.calls {
		if o.start > c.end && slices.Contains(o.keys, key) && o.token == c.tokens[key] && (o.kind == release || o.kind == transfer || o.kind == breaks) {
			return min(o.start, c.until())
		}
	}
	return min(c.until(), c.end)
}

// tell lists what was done to the keys of a family.
func (r *round) tell(family []string) string {
	var b strings.Builder
	begin := r.calls[0].start
	ms := func(at int64) string {
		if at >= forever {
			return "-"
		}
		return fmt.Sprintf("%.2f", float64(at-begin)/1e6)
	}
	for _, c := range r.calls {
		if !overlapping(c.keys, family) {
			continue
		}
		fmt.Fprintf(&b, "%s %s-%s %q: exit %d", c.worker, ms(c.start), ms(c.end), c, c.result.Code)
		if c.killed {
			b.WriteString(" (killed)")
		}
		if c.work != nil {
			fmt.Fprintf(&b, ", ran %s-%s under %v", ms(c.work.Start), ms(c.work.End), c.work.Tokens)
		}
		if c.asks() || c.kind == transfer {
			fmt.Fprintf(&b, ", %v until %s", c.tokens, ms(c.until()))
		}
		b.WriteString("\n")
	}
	return b.String() + r.ledger.Run("log").Stdout
}
