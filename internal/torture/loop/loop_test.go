package loop

import (
	"testing"

	"fslease/internal/torture/kit"
)

func TestShutdowns(t *testing.T) {
	t.Parallel()
	kit.Test(t, Part, 0.01)
}
