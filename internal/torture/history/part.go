// Package history lets many processes do random things to a few overlapping keys at once, kills and stops them, and checks what
// each of them was told against what a ledger of leases may say.
package history

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"fslease/internal/torture/kit"
)

// What is counted.
const (
	operations = "operations"
	kills      = "kills"
	met        = "operations that met a held key"
	removals   = "lock files removed in mid-change"
)

// Part is the histories.
var Part = kit.Part{
	Name: "history",
	Does: "random work of many processes on overlapping keys, killed and stopped, against a model of leases",
	Counts: []kit.Count{
		{Name: operations, Floor: 100_000},
		{Name: kills, Floor: 2_500},
		{Name: met, Floor: 30_000},
		{Name: removals, Floor: 20},
	},
	Faults: faults,
	Run:    run,
}

// A round is a ledger of its own: what was killed in it stays pending to its end, which bounds what the model must keep in mind.
const (
	roundOperations = 250
	workers         = 8
)

func run(t *kit.T) {
	witness, err := t.Witness()
	if err != nil {
		panic(err)
	}
	for n, done := 0, 0; done < t.Scale(100_000) && !t.Ended(); n++ {
		r := &round{T: t, ledger: t.Ledger(), number: n, rand: rand.New(rand.NewPCG(t.Uint64(), t.Uint64()))}
		r.witness = witness.On(r.ledger)
		r.left.Store(roundOperations)
		done += r.run()
	}
	strangers(t, witness)
	removed(t)
}

// A round is the work of some workers on one ledger.
type round struct {
	*kit.T
	ledger  *kit.Ledger
	witness *kit.Witness
	number  int
	rand    *rand.Rand
	left    atomic.Int64 // operations to be begun

	mu    sync.Mutex
	calls []*call
}

// run returns how many operations were made.
func (r *round) run() int {
	defer r.ledger.Close()
	var working sync.WaitGroup
	for i := range workers {
		w := &worker{round: r, name: fmt.Sprintf("w%d", i), rand: rand.New(rand.NewPCG(r.rand.Uint64(), r.rand.Uint64()))}
		working.Go(w.work)
	}
	working.Wait()
	r.settle()
	r.Made(operations, len(r.calls))
	if !r.Ended() {
		r.check()
	}
	return len(r.calls)
}

// settle waits for commands that outlived their killed wrappers.
func (r *round) settle() {
	r.ledger.Until("what ran under killed wrappers has ended", func() bool { return len(r.ledger.Pids()) == 0 })
}

// disturb lets a hand remove lock files in two of three rounds, and collections run in two of three, now and then.
func (r *round) disturb(rand *rand.Rand) {
	if r.number%3 != 0 && rand.IntN(10) == 0 {
		removeLocks(r.ledger)
		r.Made("times that lock files were removed", 1)
	}
	if r.number%3 != 1 && rand.IntN(30) == 0 {
		if got := r.ledger.Run("gc", "--older-than", "0s"); got.Code != 0 {
			r.Violate("a collection failed: %s", got)
		}
		r.Made("collections", 1)
	}
}

// removeLocks is what a hand might do: it removes the lock files of keys. The fences are left alone: a fence says that a command runs.
func removeLocks(l *kit.Ledger) {
	_ = filepath.WalkDir(filepath.Join(l.Dir, "locks"), func(path string, _ os.DirEntry, _ error) error {
		if filepath.Ext(path) == ".lock" {
			_ = os.Remove(path)
		}
		return nil
	})
}
