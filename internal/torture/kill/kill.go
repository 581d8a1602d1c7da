// Package kill is the part that kills every command that changes something at each of its system calls.
package kill

import (
	"fmt"
	"math/rand/v2"

	"fslease/internal/torture/kit"
	"fslease/internal/torture/steps"
)

const (
	alone  = "kill points, alone"
	waiter = "kill points, with a waiter"
)

// Part kills commands.
var Part = kit.Part{
	Name:   "kill",
	Does:   "kills every command that changes something at each of its system calls, alone and with somebody waiting",
	Counts: []kit.Count{{Name: alone, Floor: 4000}, {Name: waiter, Floor: 1000}},
	Edits:  []kit.Edit{kit.Pinned, steps.Marker},
	Faults: faults,
	Run:    run,
}

// A point is where a command is killed.
type point struct {
	template *steps.Template
	step     steps.Step
	count    string
	doctor   bool // asks lease doctor as well
}

func run(t *kit.T) {
	bench, err := steps.NewBench(t)
	if err != nil {
		t.NotRun("needs strace: %v", err)
		return
	}
	defer bench.Close()
	bench.Visit(true, func(f steps.Found, chance float64, random *rand.Rand) {
		for _, p := range list(f, random) {
			if random.Float64() >= chance || t.Ended() {
				continue
			}
			if err := p.try(t, bench); err != nil {
				t.Violate("%v", err)
			}
		}
	})
}

// list returns a point for every call that changes something, and some for those that do not: what a kill before one of these leaves
// is what a kill before the next one does.
func list(f steps.Found, random *rand.Rand) []point {
	var points []point
	add := func(all []steps.Step, count string) {
		for _, s := range all {
			if s.Changes() || random.IntN(2) == 0 {
				points = append(points, point{f.Template, s, count, random.IntN(8) == 0})
			}
		}
	}
	add(f.Steps, alone)
	add(f.Beside, waiter)
	return points
}

func (p point) try(t *kit.T, bench *steps.Bench) error {
	c, err := bench.Trial(p.template, fmt.Sprintf("killed at %v", p.step))
	if err != nil {
		return err
	}
	defer c.Close()
	options := []string{"-e", "trace=" + p.step.Call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", p.step.Call, p.step.N)}
	if p.count == waiter {
		c.Between(options...)
	} else {
		c.Wait(c.Start(options...))
	}
	if c.Killed() {
		t.Made(p.count, 1)
	} else {
		t.Made("not reached", 1)
		if missing := c.Missing(); p.count == alone && c.Result.Code == 0 && missing != "" {
			c.Violate("it was not killed, and is not done: %s", missing)
		}
	}
	c.Sound()
	if p.doctor {
		c.Doctor()
	}
	c.Again()
	c.Free()
	if p.count == waiter {
		c.Entered()
	} else {
		c.Next()
	}
	c.Collected()
	if p.doctor {
		c.Doctor()
	}
	return nil
}
