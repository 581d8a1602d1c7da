package queue

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fslease/internal/torture/kit"
)

// patience is after which time a waiter that does not take its turn may be passed over.
const patience = 5 * time.Second

// places reads who stands where in the queues of a ledger, by process.
func places(ledger string) map[int]int64 {
	found := map[int]int64{}
	_ = filepath.WalkDir(filepath.Join(ledger, "queue"), func(path string, _ fs.DirEntry, _ error) error {
		number, ok := strings.CutSuffix(filepath.Base(path), ".json")
		n, err := strconv.ParseInt(number, 10, 64)
		var entry struct{ Holder struct{ PID int } }
		if raw, readErr := os.ReadFile(path); ok && err == nil && readErr == nil && json.Unmarshal(raw, &entry) == nil {
			found[entry.Holder.PID] = n
		}
		return nil
	})
	return found
}

// check returns how many waiters were served.
func (c *crowd) check() int {
	if c.Ended() {
		return 0
	}
	ran := map[string]*kit.Work{}
	works := c.witness.Log()
	for i, w := range works {
		if ran[w.ID] != nil {
			c.Violate("crowd %d: %s ran twice", c.number, w.ID)
		}
		ran[w.ID] = &works[i]
	}
	done := 0
	for _, w := range c.waiters {
		got := w.Wait()
		work := ran[w.id]
		switch {
		case w.killed:
		case w.told && (got.Code == 143 || got.Signal != 0):
		case got.Code == 125 && strings.Contains(got.Stderr, " is busy: "): // so many take turns at a lock, or the machine is slow
			c.Made("locks not had within ten seconds", 1)
		case got.Code != 0 || work == nil || work.End == 0:
			c.Violate("crowd %d: %v waited and did not get its turn: %s", c.number, w, got)
		default:
			done++
		}
	}
	c.arrivals()
	c.turns(works, ran)
	c.barging(works, ran)
	left := places(c.ledger.Dir)
	for _, w := range c.waiters {
		if got := w.Wait(); got.Signal == 0 && left[w.Process.Process.Pid] != 0 { // those of the killed go when somebody meets them
			c.Violate("crowd %d: %v has ended, and stands in line still: %s", c.number, w, got)
		}
	}
	c.Made(served, done)
	return done
}

// arrivals checks that who came when others stood in line already stands behind them.
func (c *crowd) arrivals() {
	for _, a := range c.waiters {
		for _, b := range c.waiters {
			if a.wave < b.wave && overlapping(a.keys, b.keys) && a.place >= b.place {
				c.Violate("crowd %d: %v stood in line before %v came", c.number, a, b)
			}
		}
	}
}

// turns checks that they ran in the order of their places.
func (c *crowd) turns(works []kit.Work, ran map[string]*kit.Work) {
	for _, a := range c.waiters {
		for _, b := range c.waiters {
			first, second := ran[a.id], ran[b.id]
			if first == nil || second == nil || a.place >= b.place || !overlapping(a.keys, b.keys) || first.Start < second.Start {
				continue
			}
			if unused := c.unused(a, second.Start, works); unused < patience {
				c.Violate("crowd %d: %v ran before %v, which had left its turn unused for %v only", c.number, b, a, unused)
			}
		}
	}
}

// unused is for how long, at most, a waiter had left its turn unused at a time: since other work on its keys had ended.
func (c *crowd) unused(w *waiter, at int64, works []kit.Work) time.Duration {
	since := c.opened
	for _, o := range works {
		for key := range o.Tokens {
			if o.End < at && overlapping([]string{key}, w.keys) {
				since = max(since, o.End)
			}
		}
	}
	return time.Duration(at - since)
}

// barging checks that no try ran before a waiter that stood in line when it came.
func (c *crowd) barging(works []kit.Work, ran map[string]*kit.Work) {
	for _, t := range c.tries {
		work := ran[t.id]
		for _, w := range c.waiters {
			if work == nil || w.killed || w.told || !overlapping(t.keys, w.keys) || ran[w.id] == nil || ran[w.id].Start < work.Start {
				continue
			}
			if c.unused(w, work.Start, works) < patience {
				c.Violate("crowd %d: a try for %v ran before %v, which had waited before it came", c.number, t.keys, w)
			}
		}
	}
}

func overlapping(these, those []string) bool {
	return slices.ContainsFunc(these, func(a string) bool {
		return slices.ContainsFunc(those, func(b string) bool { return kit.Overlap(a, b) })
	})
}
