package fslease_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fslease/fslease"
)

func TestLockPlan(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"a", "a!"},
		{"a/b/c", "a a/b a/b/c!"},
		{"a-b a/b", "a a/b! a-b!"},
		{"a/b a-b", "a a/b! a-b!"},
		{"a-b/x a/b/c", "a a/b a/b/c! a-b a-b/x!"},
		{"b/a a/b a/c", "a a/b! a/c! b b/a!"},
		{"a/b a", "a! a/b!"},
	} {
		got := ""
		for i, l := range fslease.LockPlan(keysOf(c.keys)) {
			if i > 0 {
				got += " "
			}
			got += string(l.Key)
			if l.Exclusive {
				got += "!"
			}
		}
		if got != c.want {
			t.Errorf("LockPlan(%s) = %s, want %s", c.keys, got, c.want)
		}
	}
}

func TestPropertyLockPlanExcludesWhatOverlapsAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := fslease.FoldKeys(rapid.SliceOfN(anyKey(), 1, 4).Draw(t, "x"))
		y := fslease.FoldKeys(rapid.SliceOfN(anyKey(), 1, 4).Draw(t, "y"))
		overlap := slices.ContainsFunc(x, func(k fslease.Key) bool { return k.OverlapsAny(y) })
		if got := conflict(fslease.LockPlan(x), fslease.LockPlan(y)); got != overlap {
			t.Fatalf("%v and %v exclude each other: %v; they overlap: %v", x, y, got, overlap)
		}
	})
}

func conflict(x, y []fslease.KeyLock) bool {
	for _, a := range x {
		for _, b := range y {
			if a.Key == b.Key && (a.Exclusive || b.Exclusive) {
				return true
			}
		}
	}
	return false
}

// TestLockPlanCannotDeadlock lets every two and every three requests for up to three keys of a small
// universe take their locks in every interleaving, one at a time and never giving one back before the
// end. It also takes them in the order of plain strings, to show that the search finds a deadlock.
func TestLockPlanCannotDeadlock(t *testing.T) {
	var requests [][]fslease.Key
	for _, keys := range subsets(keysOf("a a-b a/b a/c a/b/c b"), 3) {
		if len(fslease.FoldKeys(keys)) == len(keys) {
			requests = append(requests, keys)
		}
	}
	if len(requests) < 20 {
		t.Fatalf("only %d requests to combine", len(requests))
	}
	search := func(plan func([]fslease.Key) []fslease.KeyLock) (stuck string) {
		for i, x := range requests {
			for j, y := range requests[i:] {
				for _, z := range requests[i+j:] {
					plans := [][]fslease.KeyLock{plan(x), plan(y), plan(z)}
					if deadlocks(plans) {
						return fmt.Sprint(x, y, z)
					}
				}
			}
		}
		return ""
	}
	if stuck := search(fslease.LockPlan); stuck != "" {
		t.Errorf("the requests %s can wait for each other for ever", stuck)
	}
	if search(perKeyInStringOrder) == "" {
		t.Error("the search does not find the deadlock of plain string order, so it finds nothing")
	}
}

// perKeyInStringOrder takes one key after the other, each with its ancestors.
func perKeyInStringOrder(keys []fslease.Key) []fslease.KeyLock {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	var plan []fslease.KeyLock
	for _, k := range keys {
		for _, up := range k.Ancestors() {
			if !slices.ContainsFunc(plan, func(l fslease.KeyLock) bool { return l.Key == up }) {
				plan = append(plan, fslease.KeyLock{Key: up})
			}
		}
		plan = append(plan, fslease.KeyLock{Key: k, Exclusive: true})
	}
	return plan
}

// deadlocks explores every interleaving of three requests, each of which takes the locks of its plan
// one by one and gives them all back after the last.
func deadlocks(plans [][]fslease.KeyLock) bool {
	const ended = -1
	type at [3]int // how many locks each has
	seen := map[at]bool{{}: true}
	for todo := []at{{}}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var next []at
		waiting := false
		for i, n := range s {
			if n == ended {
				continue
			}
			to := s
			if n == len(plans[i]) {
				to[i] = ended
				next = append(next, to)
				continue
			}
			waiting = true
			free := true
			for j, m := range s {
				free = free && (j == i || m == ended || !conflict(plans[i][n:n+1], plans[j][:m]))
			}
			if free {
				to[i]++
				next = append(next, to)
			}
		}
		if waiting && len(next) == 0 {
			return true
		}
		for _, to := range next {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return false
}

func subsets(keys []fslease.Key, most int) [][]fslease.Key {
	out := [][]fslease.Key{nil}
	for _, k := range keys {
		for _, s := range out {
			if len(s) < most {
				out = append(out, append(slices.Clone(s), k))
			}
		}
	}
	return out[1:]
}
