package cli

import (
	"strings"
	"testing"
	"time"

	"fslease/fslease"
)

// The line of a waiter is cut at the end of what a terminal has; until there it keeps who is in the way, since when, and of what.
func TestWaitLine(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	ann := fslease.Holder{Kind: fslease.KindProcess, User: "ann", Host: "build-3", PID: 4242, Command: []string{"make", "deploy", "\x1b[31m"}}
	rec := func(key fslease.Key) *fslease.Record {
		return &fslease.Record{Key: key, AcquiredAt: now.Add(-90 * time.Second), Holder: ann, Note: "nightly \u202e 🚀"}
	}
	long := fslease.Key(strings.Repeat("鍵/", 60) + "end")
	for _, c := range []struct {
		held    fslease.HeldError
		columns int
		want    string // as far as it is shown
	}{
		{fslease.HeldError{Key: "deploy", Blocking: rec("deploy"), Place: 2}, 0,
			`lease: waiting 12s, place 2: deploy is held for 90s by pid 4242 ann@build-3 running make deploy \x1b[31m (nightly \u202e 🚀)`},
		{fslease.HeldError{Key: "deploy", Blocking: rec("deploy"), Place: 2}, 80,
			`lease: waiting 12s, place 2: deploy is held for 90s by pid 4242 ann@build-3 r…`},
		{fslease.HeldError{Key: "deploy", Blocking: rec("deploy/production")}, 80,
			`lease: waiting 12s: deploy/production is held for 90s by pid 4242 ann@build-3…`},
		{fslease.HeldError{Key: "deploy", Blocking: rec("deploy/production")}, 100,
			`lease: waiting 12s: deploy is held through deploy/production for 90s by pid 4242 ann@build-3 runn…`},
		{fslease.HeldError{Key: "deploy", Blocking: rec("deploy/production"), Place: 12}, 80,
			`lease: waiting 12s, place 12: deploy/production is held for 90s by pid 4242 a…`},
		{fslease.HeldError{Key: long, Blocking: rec(long), Place: 2}, 80,
			`lease: waiting 12s, place 2: 鍵/鍵/鍵/鍵/鍵/鍵/… is held for 90s by pid 4242…`},
		{fslease.HeldError{Key: long, Blocking: rec(long), Place: 2}, 20, `lease: waiting 12…`},
		{fslease.HeldError{Key: "deploy", Waiter: &fslease.Waiter{Holder: ann, Since: now.Add(-time.Hour)}, Place: 2}, 80,
			`lease: waiting 12s, place 2: deploy is free, ahead for 1h is pid 4242 ann@bui…`},
		{fslease.HeldError{Key: "deploy", Keepers: []fslease.Keeper{{PID: 7, Name: "make"}, {PID: 8, Name: "sh"}}}, 80,
			`lease: waiting 12s: the fence of deploy is kept by pid 7 (make), pid 8 (sh)`},
		{fslease.HeldError{Key: "k", Reserved: []fslease.Reserved{{Ticket: "42", Keys: []fslease.Key{"repo/api"}}, {Ticket: "43", Keys: []fslease.Key{"repo/web"}}}}, 80,
			`lease: waiting 12s: resource scope reserved by 42: repo/api; resource scope r…`},
	} {
		if got := waitLine(&c.held, 12345*time.Millisecond, now, c.columns); got != c.want {
			t.Errorf("%d columns\nis   %s\nwant %s", c.columns, got, c.want)
		}
	}
}
