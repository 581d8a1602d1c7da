package model

import (
	"testing"

	"fslease/internal/torture/kit"
)

func TestModels(t *testing.T) {
	t.Parallel()
	kit.Test(t, Part, 0.01)
}
