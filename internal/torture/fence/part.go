// Package fence breaks what runs under leases: wrappers and commands are killed at any moment, commands leave daemons behind and close
// what they inherited. Two commands on overlapping keys never run at once, a daemon left behind keeps nothing, and a successor starts once
// the last process of the fence is gone.
package fence

import (
	"math/rand/v2"

	"fslease/internal/torture/kit"
)

const (
	kills   = "kills of wrappers or commands"
	started = "commands started in a storm"

	leastStarted = 800
)

// Part is the part of the torture harness.
var Part = kit.Part{
	Name: "fence",
	Does: "wrappers and commands are killed at any moment: no two commands at once, and what ended by itself keeps nothing",
	Counts: []kit.Count{
		{Name: kills, Floor: 600},
		{Name: "daemons left behind", Floor: 60},
		{Name: "starts refused", Floor: 100},
		{Name: started, Floor: leastStarted},
	},
	Faults: faults,
	Run:    run,
}

func run(t *kit.T) {
	defer t.InMemory()()
	for range t.Scale(60) {
		for _, i := range t.Perm(len(scenes)) {
			if t.Ended() {
				return
			}
			act(t, scenes[i], rand.New(rand.NewPCG(t.Uint64(), 2)))
		}
	}
	// Where processes begin slowly more of them are killed before they start a command: then there are more storms.
	for n, ran := 0, 0; n < t.Scale(120) || ran < t.Scale(leastStarted) && n < t.Scale(600); n++ {
		if t.Ended() {
			return
		}
		ran += storm(t, rand.New(rand.NewPCG(t.Uint64(), 3)))
	}
}

// act plays a scene on a ledger of its own.
func act(t *kit.T, scene func(*site, *rand.Rand), r *rand.Rand) {
	s := newSite(t)
	defer s.close()
	scene(s, r)
}
