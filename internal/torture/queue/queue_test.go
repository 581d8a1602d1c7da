package queue

import (
	"testing"

	"fslease/internal/torture/kit"
)

func TestCrowds(t *testing.T) {
	t.Parallel()
	kit.Test(t, Part, 0.02)
}

func TestFaultsFit(t *testing.T) { kit.TestFaults(t, Part) }
