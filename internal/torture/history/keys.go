package history

import (
	"math/rand/v2"
	"slices"

	"fslease/internal/torture/kit"
)

// families are the keys that are worked on. Only keys of one family overlap. In the plain order of strings a-b stands between a and a/b.
var families = [][]string{
	{"a", "a/b", "a/b/x", "a/c"},
	{"a-b", "a-b/c"},
	{"z"},
}

// most is the size of the greatest family.
const most = 4

var allKeys = slices.Concat(families...)

// chooseKeys returns one to three keys of which none covers another.
func chooseKeys(r *rand.Rand) []string {
	wanted := []int{1, 1, 1, 1, 2, 2, 3}[r.IntN(7)]
	var keys []string
	for range wanted {
		k := allKeys[r.IntN(len(allKeys))]
		if !overlapAny(k, keys) {
			keys = append(keys, k)
		}
	}
	return keys
}

func overlapAny(key string, keys []string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return kit.Overlap(k, key) })
}

func overlapping(these, those []string) bool {
	return slices.ContainsFunc(these, func(k string) bool { return overlapAny(k, those) })
}
