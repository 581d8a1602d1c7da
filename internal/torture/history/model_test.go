package history

import (
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"fslease/internal/torture/kit"
)

// told makes a call that began and ended at some milliseconds, and had an exit code.
func told(k kind, from, to int64, code int, keys ...string) *call {
	const ms = int64(time.Millisecond)
	return &call{kind: k, keys: keys, start: from * ms, end: to * ms, result: kit.Result{Code: code}}
}

func got(from, to int64, token int64, key string) *call {
	c := told(acquire, from, to, 0, key)
	c.tokens = map[string]int64{key: token}
	return c
}

func with(token int64, c *call) *call {
	c.token = token
	return c
}

func lasting(ttl time.Duration, c *call) *call {
	c.ttl = ttl
	return c
}

func dead(c *call) *call {
	c.killed, c.result.Code = true, -1
	return c
}

// ranFor makes a call whose work is told as well.
func ranFor(c *call, from, to int64, token int64) *call {
	const ms = int64(time.Millisecond)
	c.work = &kit.Work{Start: from * ms, End: to * ms, Tokens: map[string]int64{c.keys[0]: token}}
	return c
}

// The model tells histories that leases allow from those that they do not.
func TestModel(t *testing.T) {
	for name, test := range map[string]struct {
		legal bool
		calls []*call
	}{
		"one after the other":                 {true, []*call{got(0, 10, 1, "a"), with(1, told(release, 20, 30, 0, "a")), got(40, 50, 2, "a")}},
		"two at once":                         {false, []*call{got(0, 10, 1, "a"), got(20, 30, 2, "a")}},
		"two at once that overlap":            {false, []*call{got(0, 10, 1, "a"), got(20, 30, 1, "a/b/x")}},
		"two at once that do not overlap":     {true, []*call{got(0, 10, 1, "a/b"), got(20, 30, 1, "a/c")}},
		"two calls, given back in between":    {true, []*call{got(0, 100, 2, "a"), got(0, 10, 1, "a"), with(1, told(release, 20, 30, 0, "a"))}},
		"the same generation again":           {false, []*call{got(0, 10, 1, "a"), with(1, told(release, 20, 30, 0, "a")), got(40, 50, 1, "a")}},
		"taken over after its ttl":            {true, []*call{lasting(50*time.Millisecond, got(0, 10, 1, "a")), got(40, 60, 2, "a")}},
		"taken over before its ttl":           {false, []*call{lasting(50*time.Millisecond, got(0, 10, 1, "a")), got(20, 30, 2, "a")}},
		"taken over although renewed":         {false, []*call{lasting(50*time.Millisecond, got(0, 10, 1, "a")), lasting(50*time.Millisecond, with(1, told(renew, 30, 40, 0, "a"))), got(60, 70, 2, "a")}},
		"renewed under an old token":          {false, []*call{got(0, 10, 1, "a"), with(1, told(release, 20, 30, 0, "a")), with(1, told(renew, 40, 50, 0, "a"))}},
		"refused under the current token":     {false, []*call{got(0, 10, 1, "a"), with(1, told(release, 20, 30, 76, "a"))}},
		"refused because it is held":          {true, []*call{got(0, 10, 1, "a"), told(acquire, 20, 30, 75, "a/b")}},
		"refused although it is free":         {false, []*call{told(acquire, 20, 30, 75, "a/b")}},
		"refused beside another that asks":    {true, []*call{told(acquire, 20, 30, 75, "a/b"), told(acquire, 25, 30, 75, "a")}},
		"refused because of one killed":       {true, []*call{dead(told(acquire, 0, 10, 0, "a")), told(acquire, 20, 30, 75, "a/b")}},
		"released by one killed":              {true, []*call{got(0, 10, 1, "a"), dead(with(1, told(release, 20, 30, 0, "a"))), got(40, 50, 2, "a")}},
		"not held, after one killed released": {true, []*call{got(0, 10, 1, "a"), dead(with(1, told(release, 20, 30, 0, "a"))), told(breaks, 40, 50, 1, "a")}},
		"broken, and then renewed":            {false, []*call{got(0, 10, 1, "a"), with(1, told(breaks, 20, 30, 0, "a")), with(1, told(renew, 40, 50, 0, "a"))}},
		"a run between two":                   {true, []*call{got(0, 10, 1, "a"), ranFor(told(run1, 5, 50, 0, "a"), 30, 40, 2), with(1, told(release, 20, 35, 0, "a"))}},
		"a run before the release":            {false, []*call{got(0, 10, 1, "a"), ranFor(told(run1, 5, 50, 0, "a"), 30, 40, 2), with(1, told(release, 35, 45, 0, "a"))}},
		"a run that lost, told":               {true, []*call{ranFor(told(run1, 5, 90, 76, "a"), 30, 40, 2), with(2, told(breaks, 50, 60, 0, "a"))}},
		"a run that lost, not told":           {false, []*call{ranFor(told(run1, 5, 90, 0, "a"), 30, 80, 2), with(2, told(breaks, 50, 60, 0, "a"))}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range test.calls {
				if c.ttl == 0 && c.kind == run1 {
					c.ttl = time.Minute
				}
			}
			legal := !slices.ContainsFunc(families, func(family []string) bool {
				return !porcupine.CheckOperations(model, operationsOf(family, test.calls))
			})
			if legal != test.legal {
				t.Errorf("legal is %v, want %v", legal, test.legal)
			}
		})
	}
}
