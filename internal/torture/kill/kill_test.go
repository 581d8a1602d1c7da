package kill

import (
	"testing"

	"fslease/internal/torture/kit"
)

func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	kit.Test(t, Part, 0.004)
}

func TestFaultsFit(t *testing.T) { kit.TestFaults(t, Part) }
