// Package queue lets crowds wait in line, kills and stops those who wait and those who hold, and checks that everybody else gets
// its turn, once, in the order in which they came.
package queue

import (
	"math/rand/v2"

	"fslease/internal/torture/kit"
)

// What is counted.
const (
	served = "waiters served"
	kills  = "kills"
	passes = "tries refused for the sake of a waiter"
	races  = "races of a release with a heartbeat"
	loaded = "seconds held at nice 19 under load"
	wakes  = "releases before a watch was made"
)

// Part is the queue.
var Part = kit.Part{
	Name: "queue",
	Does: "crowds that wait in line, killed and stopped, with and without watchers, tries among them, under load",
	Counts: []kit.Count{
		{Name: served, Floor: 3_000},
		{Name: kills, Floor: 300},
		{Name: passes, Floor: 150},
		{Name: races, Floor: 10_000},
		{Name: wakes, Floor: 10},
	},
	Faults: faults,
	Run:    run,
}

// Load is holding and waiting on a busy machine. It is a part of its own because nothing else may run beside it.
var Load = kit.Part{
	Name:   "load",
	Does:   "a lease held, and one waited for, at nice 19 while five times as many processes are busy as there are cores",
	Counts: []kit.Count{{Name: loaded, Floor: 60}},
	Run:    underLoad,
}

func run(t *kit.T) {
	witness, err := t.Witness()
	if err != nil {
		panic(err)
	}
	wake(t, witness)
	for n, done := 0, 0; done < t.Scale(3_000) && !t.Ended(); n++ {
		c := &crowd{T: t, number: n, ledger: t.Ledger(), rand: rand.New(rand.NewPCG(t.Uint64(), t.Uint64()))}
		c.witness = witness.On(c.ledger)
		done += c.run()
	}
	raceInside(t)
	raceOutside(t, witness)
}
