// Package fuzz gives lease what nobody would: keys of any bytes, records that were damaged, paths and lines that git has
// never printed. Some of it goes to the command, most of it to the fuzz targets of the packages.
package fuzz

import (
	"os/exec"

	"fslease/internal/torture/kit"
)

// Part gives bytes to the command and runs all native fuzz targets of the module, for a while each and until all
// together have made enough. Their choices are the fuzz engine's own, which takes no seed: what fails is kept in the
// testdata/fuzz of the package, where every go test tries it again.
var Part = kit.Part{
	Name:   "fuzz",
	Does:   "gives any bytes to the command as keys, records and git's words, and runs the fuzz targets of all packages",
	Counts: []kit.Count{{Name: "keys", Floor: keysGiven}, {Name: "damaged files", Floor: damaged}, {Name: "paths and pushes", Floor: gitWords}, {Name: "fuzz executions", Floor: executions}},
	Faults: faults,
	Run: func(t *kit.T) {
		defer t.InMemory()()
		words(t)
		engine(t)
	},
}

const (
	keysGiven  = 6000
	damaged    = 1000
	gitWords   = 1200
	executions = 10_000_000
)

// words gives bytes to the command itself.
func words(t *kit.T) {
	for n := 0; n < t.Scale(keysGiven) && !t.Ended(); {
		n += keys(t)
	}
	damage(t, t.Scale(damaged))
	if _, err := exec.LookPath("git"); err != nil {
		t.NotRun("needs git: %v", err)
		return
	}
	git(t, t.Scale(gitWords))
}
