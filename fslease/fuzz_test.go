package fslease_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fslease/fslease"
)

func FuzzSighting(f *testing.F) {
	f.Add([]byte(`{"schema":1,"key":"a","generation":1,"revision":2,"boot_id":"b","time_ns":4026531834,"mono_ns":5}`))
	fuzzStable(f, func() *fslease.Sighting { return new(fslease.Sighting) })
}

func FuzzCommandNote(f *testing.F) {
	f.Add([]byte(`{"schema":1,"keys":["a/b"],"generation":3,"process":{"kind":"process","id":"0123456789abcdef0123456789abcdef","evidence":"pid","pid":42,"start_time":7}}`))
	fuzzStable(f, func() *fslease.CommandNote { return new(fslease.CommandNote) })
}

func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"at":"2026-01-02T03:04:05.678Z","event":"granted","key":"a","generation":7,"revision":21,"by":{"user":"ann","pid":42,"host":"h"},"reason":"r"}`))
	f.Add([]byte(`{"at":"2026-01-02T03:04:05Z","event":"ticket_BLOCKED","ticket":"42","by":{}}`))
	fuzzStable(f, func() *fslease.Event { return new(fslease.Event) })
}

func FuzzTicketID(f *testing.F) {
	for _, s := range []string{"42", "fix-login", ".", "..", "a/b", "", "a\nb", "é", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		_, err := fslease.ParseKey(id)
		if ok := err == nil && !strings.Contains(id, "/") && len(fslease.TicketKey(id)) <= fslease.MaxKeyBytes; ok != (fslease.CheckTicketID(id) == nil) {
			t.Fatalf("ticket id %q: %v", id, fslease.CheckTicketID(id))
		}
		if back, ok := fslease.TicketKey(id).Ticket(); !ok || back != id {
			t.Fatalf("the key of ticket %q is that of %q", id, back)
		}
	})
}

// A scope is a list of keys, one a line. What is taken of it covers all of it, once, and its locks are the same
// however it is written down, in an order in which nobody waits in a circle: an ancestor before what is below it.
func FuzzScope(f *testing.F) {
	for _, s := range []string{"repo/api\nterminal-1", "repo\nrepo/api\nrepo", "a-b\na/b\na", "a/b/c\na-/b\na/b-c", "a//b\na", "x\n\ny", "é/日\né"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := fslease.ParseKeys(strings.Split(text, "\n")...)
		if err != nil {
			if !errors.Is(err, fslease.ErrConfig) || strings.ContainsAny(err.Error(), "\n\x00") {
				t.Fatalf("%q: %q, want a *ConfigError on one line", text, err)
			}
			return
		}
		kept := fslease.FoldKeys(keys)
		for _, k := range keys {
			n := 0
			for _, over := range kept {
				if over.Covers(k) {
					n++
				}
			}
			if n != 1 {
				t.Fatalf("%d of %q cover %q of %q", n, kept, k, keys)
			}
		}
		plan := fslease.LockPlan(kept)
		backward := slices.Clone(kept)
		slices.Reverse(backward)
		if again := fslease.LockPlan(backward); !slices.Equal(again, plan) {
			t.Fatalf("the locks of %q are %v, backward %v", kept, plan, again)
		}
		at := map[fslease.Key]int{}
		for i, lock := range plan {
			at[lock.Key] = i
			if lock.Exclusive != slices.Contains(kept, lock.Key) {
				t.Fatalf("the lock of %q for %q is exclusive: %v", lock.Key, kept, lock.Exclusive)
			}
			if i > 0 && fslease.CompareKeys(plan[i-1].Key, lock.Key) >= 0 {
				t.Fatalf("the locks of %q are not in order: %v", kept, plan)
			}
			for _, up := range lock.Key.Ancestors() {
				if j, ok := at[up]; !ok || j >= i {
					t.Fatalf("%q is locked before %q above it: %v", lock.Key, up, plan)
				}
			}
		}
		for _, a := range keys {
			for _, b := range keys {
				byWords := strings.HasPrefix(string(a)+"/", string(b)+"/") || strings.HasPrefix(string(b)+"/", string(a)+"/")
				if a.Overlaps(b) != byWords || fslease.CompareKeys(a, b) != -fslease.CompareKeys(b, a) || (fslease.CompareKeys(a, b) == 0) != (a == b) {
					t.Fatalf("%q and %q: overlap %v, order %d and %d", a, b, a.Overlaps(b), fslease.CompareKeys(a, b), fslease.CompareKeys(b, a))
				}
			}
		}
	})
}
