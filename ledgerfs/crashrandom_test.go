package ledgerfs

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fslease/fslease"
)

// A wanderer does random work, whatever is possible with what it has.
type wanderer struct {
	*story
	*rand.Rand
	p       *program
	free    []fslease.Key
	tokens  map[fslease.Key]int64
	leases  map[fslease.Key]*fslease.Lease
	working map[string]int64 // tickets, and the tokens of their sessions
	added   int
}

// somewhere returns one of several things at random, in an order that does not depend on that of a map.
func somewhere[T any](w *wanderer, of map[fslease.Key]T) (fslease.Key, bool) {
	if len(of) == 0 {
		return "", false
	}
	keys := slices.Sorted(maps.Keys(of))
	return keys[w.IntN(len(keys))], true
}

func (w *wanderer) take() fslease.Key {
	i := w.IntN(len(w.free))
	k := w.free[i]
	w.free = slices.Delete(w.free, i, i+1)
	return k
}

// step does one thing.
func (w *wanderer) step() {
	what := w.IntN(10)
	if what < 5 && len(w.free) > 0 {
		switch k := w.take(); what {
		case 0:
			w.leases[k] = w.runs(w.p, k)
		case 1:
			w.tokens[k] = w.acquires(w.p, k, fslease.EvidenceNone)
		case 2:
			w.tokens[k] = w.acquires(w.p, k, fslease.EvidencePid)
		case 3:
			w.released(w.runs(w.p, k))
			w.free = append(w.free, k)
		case 4:
			w.added++
			id := fmt.Sprintf("%d-%d", w.number, w.added)
			w.ready(w.p, id, k)
			w.working[id] = w.starts(w.p, id, nil)
		}
		return
	}
	if k, ok := somewhere(w, w.tokens); ok && what < 7 {
		switch w.IntN(4) {
		case 0:
			w.renews(w.p, k, w.tokens[k])
			return
		case 1:
			w.tokens[k] = w.transfers(w.p, k, w.tokens[k])
			return
		case 2:
			w.releases(w.p, k, w.tokens[k])
		case 3:
			w.breaks(w.p, k)
		}
		delete(w.tokens, k)
		w.free = append(w.free, k)
		return
	}
	if k, ok := somewhere(w, w.leases); ok && what < 8 {
		w.released(w.leases[k])
		delete(w.leases, k)
		w.free = append(w.free, k)
		return
	}
	if ids := slices.Sorted(maps.Keys(w.working)); len(ids) > 0 {
		id := ids[0]
		w.act(w.p, id, []fslease.Verb{fslease.VerbCheckpoint, fslease.VerbReview, fslease.VerbBlock, fslease.VerbDone}[w.IntN(4)], w.working[id])
		switch t, err := w.p.View(ctx).Ticket(id); {
		case err != nil:
			w.t.Fatal(err)
		case t.Status == fslease.Done:
			w.free = append(w.free, t.Scope...)
			delete(w.working, id)
		case t.Status != fslease.InProgress:
			w.working[id] = w.starts(w.p, id, nil)
		}
		return
	}
	if what == 9 {
		w.kill(w.p) // what it had is dead
		for k := range w.leases {
			w.free = append(w.free, k)
		}
		slices.Sort(w.free)
		clear(w.leases)
		w.p = w.program()
	}
}

// What a power cut leaves of random work is worked on in the next boot, until the power is cut again.
func TestPowerCutsOfRandomWork(t *testing.T) {
	t.Parallel()
	made := 0
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		v := crashVariants[seed%2*2] // those whose boots are the kernel's own
		tree := emptyTree(Settings{SyncGrants: v.sync})
		dir := realDir(t)
		told := map[string]int64{}
		for boot := 1; boot <= 4; boot++ {
			m := start(t, dir, tree, boot, true)
			m.sync = v.sync
			w := &wanderer{story: m.story(), Rand: r, p: m.program(), tokens: map[fslease.Key]int64{}, leases: map[fslease.Key]*fslease.Lease{}, working: map[string]int64{}}
			if boot > 1 {
				w.spoiled, w.first = true, asItWas
			}
			w.cleared(told)
			for range 12 {
				w.step()
			}
			m.off()
			var cut int
			for range 12 {
				cut = r.IntN(w.disk.Len() + 1)
				for state := range w.disk.States(cut, 3, r) {
					made++
					tree = state
					if err := w.after(state, cut, boot+1, true); err != nil {
						t.Fatalf("seed %d, boot %d, a power cut after step %d of %d: %v\nit left %s", seed, boot, cut, w.disk.Len(), err, listing(state))
					}
				}
			}
			for _, k := range w.keys.Things() {
				told[k] = w.keys.Highest(k, cut)
			}
		}
	}
	t.Logf("%d states after a power cut", made)
}

// cleared begins with what was told in the boots before, when somebody has decided about everything that was left.
func (w *wanderer) cleared(told map[string]int64) {
	for _, k := range []fslease.Key{"k", "repo/api", "repo/web", "deep/er/x"} {
		w.keys.Told(string(k), 0, told[string(k)])
		w.free = append(w.free, k)
	}
	w.clock.Advance(time.Hour)
	w.each(func(t *fslease.Ticket) { w.tickets.Did(t.ID, 0, 0, ticketState(t)) })
	from := w.disk.Len()
	if err := reconciled(w.p); err != nil {
		w.t.Fatal(err)
	}
	w.each(func(t *fslease.Ticket) {
		w.tickets.Did(t.ID, from, w.disk.Len(), ticketState(t))
		if t.Status != fslease.Done && t.Status != fslease.Cancelled {
			w.act(w.p, t.ID, fslease.VerbCancel, 0)
		}
	})
	for _, k := range w.free {
		w.breaks(w.p, k)
	}
}

// each calls visit with each ticket.
func (w *wanderer) each(visit func(*fslease.Ticket)) {
	err := w.p.View(ctx).Tickets(func(_ string, t *fslease.Ticket, err error) error {
		if err == nil {
			visit(t)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
