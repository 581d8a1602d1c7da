package fslease

import (
	"fmt"
	"slices"
	"strings"
)

// heldByFence says that the fence of one of keys is kept. If the caller runs under it itself, waiting would never end.
func heldByFence(keys []Key, keepers []Keeper) *HeldError {
	e := &HeldError{Key: keys[0], Keepers: append([]Keeper{}, keepers...)}
	if len(keepers) > 0 && keepers[0].Key != "" {
		e.Key = keepers[0].Key
	}
	if slices.ContainsFunc(keepers, func(k Keeper) bool { return k.Own }) {
		e.Reason, e.Own = "this command runs under it, so it would wait for itself", true
	}
	return e
}

// DescribeKeepers names who keeps a fence, the first ten of them.
func DescribeKeepers(keepers []Keeper) string {
	const most = 10
	var b strings.Builder
	for i, k := range keepers {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(keepers)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "pid %d", k.PID)
		if k.Name != "" {
			fmt.Fprintf(&b, " (%s)", k.Name)
		}
	}
	if len(keepers) == 0 {
		return "a process that cannot be seen from here"
	}
	return b.String()
}
