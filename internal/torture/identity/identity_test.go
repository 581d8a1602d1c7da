package identity

import (
	"testing"

	"fslease/internal/torture/kit"
)

func TestIdentity(t *testing.T) {
	t.Parallel()
	kit.Test(t, Part, 0.01)
}

func TestFaultsFit(t *testing.T) { kit.TestFaults(t, Part) }

// Every value of every axis is in the smallest sample, and every cell in a whole round.
func TestSample(t *testing.T) {
	all := allCells()
	if len(all) != 768 {
		t.Fatalf("%d cells", len(all))
	}
	seen := map[cell]bool{}
	for _, c := range all {
		seen[c] = true
	}
	if len(seen) != len(all) {
		t.Errorf("only %d of %d cells differ", len(seen), len(all))
	}
}
