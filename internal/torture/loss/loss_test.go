package loss

import (
	"testing"

	"fslease/internal/torture/kit"
)

func TestLoss(t *testing.T) {
	t.Parallel()
	kit.Test(t, Part, 0.01)
}

func TestFaults(t *testing.T) { kit.TestFaults(t, Part) }
