package ledgerfs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fslease/fslease"
)

const (
	november = `{"at":"2026-11-30T23:59:59.000Z","event":"granted","key":"repo/api","generation":1,"revision":1,"by":{"user":"ann","pid":41,"host":"build-3"}}
{"at":"2026-11-30T23:59:59.500Z","event":"released","key":"repo/api","generation":1,"revision":2,"by":{"user":"ann","pid":41,"host":"build-3"}}
`
	december = `{"at":"2026-12-01T00:00:00.000Z","event":"granted","key":"repo2","gener{"at":"2026-12-01T00:00:01.000Z","event":"ticket_blocked","ticket":"42","generation":3,"by":{"user":"bob","pid":42,"host":"build-4"},"reason":"he said {\"at\":"}
{"at":"2026-12-01T00:00:02.000Z","event":"granted","key":"ticket:42","generation":4,"revision":1,"by":{"user":"bob","pid":43,"host":"build-4"}}
not a line
{"at":"2026-12-01T00:00:03.000Z","event":"granted","key":"repo","generation":9,"revision":1,"by":{"us`
)

func withJournal(t *testing.T) *Ledger {
	l, _ := made(t)
	put(t, l, "journal/2026-11.jsonl", november)
	put(t, l, "journal/2026-12.jsonl", december)
	put(t, l, "journal/notes.txt", "of a person")
	return l
}

// events are what a filter lets pass, in short.
func events(t *testing.T, l *Ledger, f Filter) (found []string, torn int) {
	t.Helper()
	torn, err := l.Journal(ctx, f, false, func(e fslease.Event) error {
		found = append(found, e.Event+" "+string(e.Key)+e.Ticket)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found, torn
}

// Torn lines are counted, and take nothing with them: neither the event that was glued to them nor the rest.
func TestJournal(t *testing.T) {
	l := withJournal(t)
	noon := time.Date(2026, 12, 1, 0, 0, 1, 500e6, time.UTC)
	for name, c := range map[string]struct {
		filter Filter
		want   []string
		torn   int
	}{
		"all":      {Filter{}, []string{"granted repo/api", "released repo/api", "ticket_blocked 42", "granted ticket:42"}, 3},
		"prefix":   {Filter{Prefix: "repo"}, []string{"granted repo/api", "released repo/api"}, 3},
		"ticket":   {Filter{Prefix: "ticket:42"}, []string{"ticket_blocked 42", "granted ticket:42"}, 3},
		"user":     {Filter{By: "ann"}, []string{"granted repo/api", "released repo/api"}, 3},
		"user@":    {Filter{By: "bob@build-4"}, []string{"ticket_blocked 42", "granted ticket:42"}, 3},
		"pid":      {Filter{By: "43"}, []string{"granted ticket:42"}, 3},
		"host":     {Filter{By: "build-3"}, []string{"granted repo/api", "released repo/api"}, 3},
		"since":    {Filter{Since: noon}, []string{"granted ticket:42"}, 3},
		"december": {Filter{Since: time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)}, nil, 0}, // months that cannot matter are not read
	} {
		t.Run(name, func(t *testing.T) {
			if got, torn := events(t, l, c.filter); !slices.Equal(got, c.want) || torn != c.torn {
				t.Errorf("got %q and %d torn lines, want %q and %d", got, torn, c.want, c.torn)
			}
		})
	}
}

// Somebody who follows sees what was there, what comes later, and a line once it is whole.
func TestJournalFollow(t *testing.T) {
	for name, l := range map[string]*Ledger{"with a journal": withJournal(t), "without one yet": opened(t, filepath.Join(t.TempDir(), "later"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("hung"))
			defer cancel()
			seen := make(chan string)
			ended := make(chan error, 1)
			stop := errors.New("seen enough")
			go func() {
				_, err := l.Journal(ctx, Filter{Prefix: "live"}, true, func(e fslease.Event) error {
					if e.Reason == "last" {
						return stop
					}
					seen <- e.Reason
					return nil
				})
				ended <- err
			}()
			if err := l.ready(); err != nil {
				t.Fatal(err)
			}
			l.Log(fslease.Event{Event: "granted", Key: "live/a", Reason: "first"})
			see := func(want string) {
				select {
				case got := <-seen:
					if got != want {
						t.Errorf("saw %q, want %q", got, want)
					}
				case err := <-ended:
					t.Fatalf("%q never came: %v", want, err)
				}
			}
			see("first")
			line, err := fslease.Event{At: time.Now(), Event: "granted", Key: "live/b", Reason: "in two parts"}.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(l.file("journal/"+time.Now().UTC().Format("2006-01")+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			for _, part := range [][]byte{line[:20], line[20:], []byte("\n")} {
				if _, err := f.Write(part); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Millisecond) // so that it is probably read in between
			}
			see("in two parts")
			l.Log(fslease.Event{Event: "granted", Key: "live", Reason: "last"})
			if err := <-ended; err != stop {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// The end of the context ends it, and is the error.
func TestJournalFollowEnds(t *testing.T) {
	l := withJournal(t)
	ctx, cancel := context.WithCancelCause(ctx)
	cause := errors.New("interrupted")
	torn, err := l.Journal(ctx, Filter{}, true, func(fslease.Event) error { cancel(cause); return nil })
	if err != cause || torn != 2 { // the last line may still be written
		t.Errorf("%d torn lines, %v", torn, err)
	}
}
