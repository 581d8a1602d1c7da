package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// What another machine or a hand has written in the right form is read: a lease is held and its token is good, a tombstone
// keeps its generation.
func TestGoldenRecords(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(golden, "good", "*.json"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d good records, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := made(t)
			if strings.HasPrefix(name, "lease") {
				put(t, l, "leases/"+goldenKey+".json", goldenFile(t, "good/"+name))
				l.Run("run", "-n", goldenKey, "--", "touch", "ran").Want(t, 75).Says(t, "build-3")
				l.Run("check", goldenKey, "--token", "7").Want(t, 0)
				l.Run("check", goldenKey, "--token", "6").Want(t, 1)
				l.Run("release", goldenKey, "--token", "7").Want(t, 0)
			} else {
				put(t, l, "tombstones/"+goldenKey+".json", goldenFile(t, "good/"+name))
				l.Run("check", goldenKey, "--token", "7").Want(t, 1)
				l.Run("show", goldenKey).Want(t, 0)
			}
			if r := l.Run("acquire", "-n", "--ttl", "1h", goldenKey).Want(t, 0); strings.TrimSpace(r.Stdout) != "8" {
				t.Errorf("want generation 8\n%v", r)
			}
		})
	}
}

// Fields that a newer version has added survive a renewal by this one, number for number.
func TestUnknownFieldsSurviveRenewal(t *testing.T) {
	t.Parallel()
	sameUnknown := func(t *testing.T, got Record) {
		t.Helper()
		want := parseRecord(t, "golden record", goldenFile(t, "good/lease-unknown-fields.json"))
		for _, field := range []string{"priority", "labels"} {
			if fmt.Sprint(got[field]) != fmt.Sprint(want[field]) {
				t.Errorf("%s was %v and is %v", field, want[field], got[field])
			}
		}
		if got.Sub("holder").Str("container") != want.Sub("holder").Str("container") {
			t.Errorf("the holder has lost a field: %v", got.Sub("holder"))
		}
	}
	t.Run("renew", func(t *testing.T) {
		l := made(t)
		put(t, l, "leases/"+goldenKey+".json", goldenFile(t, "good/lease-unknown-fields.json"))
		l.Run("renew", goldenKey, "--token", "7").Want(t, 0)
		got := l.Lease(goldenKey)
		if got.Int("revision") != 22 {
			t.Fatalf("not renewed: %v", got)
		}
		sameUnknown(t, got)
	})
	t.Run("heartbeat", func(t *testing.T) {
		needs(t, "flock", "jq")
		l := NewLedger(t)
		p := l.Start("run", "--ttl", "4s", "--heartbeat", "100ms", goldenKey, "--", "sh", "-c", "echo yes >started; until test -e stop; do sleep 0.05; done")
		l.UntilFile("started")
		// An editor that keeps the rule: it changes the record under the key's lock.
		l.Sh(`cd "$LEASE_LEDGER" && flock locks/repo/api.lock sh -c '
			jq ".priority = \$u[0].priority | .labels = \$u[0].labels | .holder.container = \$u[0].holder.container" --slurpfile u "$1" \
				leases/repo/api.json >leases/repo/.new && mv leases/repo/.new leases/repo/api.json' sh "$1"`,
			abs(t, filepath.Join(golden, "good/lease-unknown-fields.json"))).Want(t, 0)
		revision := l.Lease(goldenKey).Int("revision")
		l.until("the record is renewed", func() bool { return l.Lease(goldenKey).Int("revision") > revision+1 })
		got := l.Lease(goldenKey)
		l.Sh("echo yes >stop")
		p.Wait().Want(t, 0)
		if got.Sub("holder").Str("container") != "c0ffee" || got.Sub("labels").Str("team") != "build" {
			t.Errorf("the renewed record has lost the fields: %v", got)
		}
	})
}
