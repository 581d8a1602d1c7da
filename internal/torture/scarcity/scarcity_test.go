package scarcity

import (
	"testing"

	"fslease/internal/torture/kit"
)

func TestScarcity(t *testing.T) {
	t.Parallel()
	kit.Test(t, Part, 0.01)
}

func TestFaultsFit(t *testing.T) { kit.TestFaults(t, Part) }
