// Package loss takes leases away while their commands work: the ledger hangs or fails for the holder, the wrapper is stopped, somebody
// breaks the lease or takes it over. The command is told before anybody else may enter, counted from the stamp in the record, and no
// successor's command starts beside it.
package loss

import (
	"math/rand/v2"
	"sync"

	"fslease/internal/torture/kit"
)

const losses = "losses"

// Part is the part of the torture harness.
var Part = kit.Part{
	Name: "loss",
	Does: "leases are lost while commands work: the command is told before anybody else may enter, and nobody works beside it",
	Counts: []kit.Count{
		{Name: losses, Floor: 150},
		{Name: "pauses survived", Floor: 10},
	},
	Faults: faults,
	Run:    run,
}

// atOnce is how many scenes are played at once: they mostly wait.
const atOnce = 8

func run(t *kit.T) {
	defer t.InMemory()() // a disk that is slow for everybody is not to be taken for the one that is slow for the holder
	witness, err := t.Witness()
	if err != nil {
		panic(err)
	}
	type turn struct {
		scene scene
		r     *rand.Rand
	}
	turns := make(chan turn)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for a := range turns {
				a.scene.play(t, witness, a.r)
			}
		})
	}
	for range t.Scale(20) {
		for _, i := range t.Perm(len(scenes)) {
			a := turn{scenes[i], rand.New(rand.NewPCG(t.Uint64(), 5))}
			if !t.Ended() {
				turns <- a
			}
		}
	}
	close(turns)
	all.Wait()
}
