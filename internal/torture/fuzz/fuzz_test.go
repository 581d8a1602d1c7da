package fuzz

import (
	"testing"

	"fslease/internal/torture/kit"
)

// The fuzz targets run with their packages' tests, on what is in testdata.
func TestWords(t *testing.T) {
	t.Parallel()
	short := Part
	short.Counts, short.Run = short.Counts[:3], func(t *kit.T) {
		defer t.InMemory()()
		words(t)
	}
	kit.Test(t, short, 0.005)
}

func TestFaultsFit(t *testing.T) { kit.TestFaults(t, Part) }

func TestTargetsAreFound(t *testing.T) {
	root, err := kit.Root()
	if err != nil {
		t.Fatal(err)
	}
	targets, err := findTargets(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"fslease", "ledgerfs", "procinfo", "cmd/internal/githook", "cmd/internal/cli"} {
		if len(targets[pkg]) == 0 {
			t.Errorf("no fuzz target is found in %s", pkg)
		}
	}
}
