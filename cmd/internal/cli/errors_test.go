package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"fslease/fslease"
)

// What each error is: its kind, the exit code, and the exit code from run and fenced.
func TestFaults(t *testing.T) {
	repository := func(f fslease.Fault) error {
		return &fslease.RepositoryError{Fault: f, Path: "/l/x.json", Key: "x", What: "/l/x.json is odd", Hint: "look"}
	}
	held := &fslease.HeldError{Key: "k", Blocking: &fslease.Record{Key: "k", Generation: 1, AcquiredAt: time.Unix(0, 0).UTC(),
		Holder: fslease.Holder{Kind: fslease.KindProcess, User: "ann", Host: "build-3", PID: 42}}}
	for _, c := range []struct {
		err       error
		kind      string
		code, run int
	}{
		{usage("", "what"), "usage", 64, 125},
		{&noError{"no", ""}, "conflict", 1, 125},
		{&fslease.ConfigError{What: "cannot"}, "config", 64, 125},
		{held, "held", 75, 75},
		{&fslease.LostError{Key: "k", Generation: 1, Reason: "released"}, "lost", 76, 76},
		{&fslease.LostError{Key: "k", Generation: 1, Reason: "cannot renew", Err: repository(fslease.FaultBusy)}, "lost", 76, 76},
		{&fslease.ConflictError{Ticket: "1", What: "no"}, "conflict", 1, 125},
		{repository(fslease.FaultLedger), "ledger", 74, 125},
		{repository(fslease.FaultUnknown), "ledger", 74, 125},
		{repository(fslease.FaultDamaged), "damaged", 74, 125},
		{repository(fslease.FaultBusy), "busy", 74, 125},
		{repository(fslease.FaultNewer), "held", 75, 75},
		{&fslease.RepositoryError{Fault: fslease.FaultDamaged, What: "x", Err: &fslease.ConfigError{What: "no key"}}, "damaged", 74, 125},
		{errors.New("write: no space left on device"), "ledger", 74, 125},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			if r := (&call{}).report(err); r.Kind != c.kind || r.code != c.code {
				t.Errorf("%v is %s %d, want %s %d", err, r.Kind, r.code, c.kind, c.code)
			}
			if r := (&call{wrapper: true}).report(err); r.Kind != c.kind || r.code != c.run {
				t.Errorf("%v from run is %s %d, want %s %d", err, r.Kind, r.code, c.kind, c.run)
			}
		}
	}
}

func TestErrorJSON(t *testing.T) {
	held := &fslease.HeldError{Key: "k/x", WaitedFor: time.Second, Blocking: &fslease.Record{Key: "k", Generation: 1,
		Holder: fslease.Holder{Kind: fslease.KindProcess, User: "ann\u202e", Host: "build-3", PID: 42, Command: []string{"make", strings.Repeat("x", 200)}}}}
	r := (&call{}).report(held)
	line := errorJSON(r)
	var got struct {
		Error struct {
			Kind, Message, Hint, Key string
			Holder                   struct {
				User    string
				PID     int64
				Command []string
			}
		}
	}
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	e := got.Error
	if e.Kind != "held" || e.Key != "k/x" || e.Hint == "" || e.Holder.PID != 42 || len(e.Holder.Command[1]) != 200 || e.Holder.User != "ann\u202e" {
		t.Errorf("%s", line)
	}
	if len(e.Message) > 200 || !strings.Contains(e.Message, "waited for 1s") {
		t.Errorf("%s", e.Message)
	}
	if strings.ContainsFunc(string(line), unsafe) {
		t.Errorf("not escaped: %q", line)
	}
}

// A conflict with tickets is a line for each, in words that programs look for.
func TestReservedLines(t *testing.T) {
	r := (&call{}).report(&fslease.HeldError{Key: "repo", Reserved: []fslease.Reserved{{Ticket: "7", Keys: []fslease.Key{"repo/api", "repo/web"}}, {Ticket: "8", Keys: []fslease.Key{"repo"}}}})
	if len(r.lines) != 2 || r.lines[0] != "resource scope reserved by 7: repo/api, repo/web" || r.lines[1] != "resource scope reserved by 8: repo" {
		t.Errorf("%q", r.lines)
	}
}

func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"task:42": "task:42", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$x": "'$x'", "é": "'é'"} {
		if got := shellWord(in); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}
