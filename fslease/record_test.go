package fslease_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"fslease/fslease"
)

const golden = "../testdata/ledger"

func TestGoldenLeaseIsWrittenAsItWasRead(t *testing.T) {
	data := readFile(t, filepath.Join(golden, "good", "lease.json"))
	var rec fslease.Record
	if err := json.Unmarshal(data, &rec); err != nil {
		t.Fatal(err)
	}
	want := fslease.Record{
		Key: "repo/api", Generation: 7, Revision: 21,
		AcquiredAt: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), RenewedAt: time.Date(2026, 1, 2, 3, 5, 5, 678e6, time.UTC),
		TTL: time.Hour, RenewedMono: 8123456789012, Note: "nightly deploy",
		Holder: fslease.Holder{
			Kind: fslease.KindProcess, ID: "0123456789abcdef0123456789abcdef", Evidence: fslease.EvidenceNone,
			Host: "build-3", MachineID: "5f0c2d3a8b7e4d119c6a1e2f3b4c5d6e", BootID: "7a1d9a43-2c1f-4f0e-9d0b-5b6c7d8e9f00", BootIDGenuine: true,
			PID: 4242, StartTime: 168725, PIDNS: 4026531836, TimeNS: 4026531834, PidfdInode: 18017, HolderInode: 2101,
			UID: 1000, User: "ann", Command: []string{"make", "deploy"}, Cwd: "/srv/app",
		},
	}
	if diff := cmp.Diff(want, rec); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(string(data), string(fslease.Indent(marshal(t, rec)))); diff != "" {
		t.Errorf("written (-read +written):\n%s", diff)
	}
}

func TestGoldenRecordsAreRead(t *testing.T) {
	leases, _ := filepath.Glob(filepath.Join(golden, "good", "lease*.json"))
	tombs, _ := filepath.Glob(filepath.Join(golden, "good", "tombstone*.json"))
	if len(leases) == 0 || len(tombs) == 0 {
		t.Fatalf("no good records in %s", golden)
	}
	for _, file := range leases {
		var rec fslease.Record
		if err := json.Unmarshal(readFile(t, file), &rec); err != nil || rec.Key != "repo/api" || rec.Generation != 7 || rec.Revision != 21 {
			t.Errorf("%s: %s at generation %d, revision %d, %v", file, rec.Key, rec.Generation, rec.Revision, err)
		}
	}
	for _, file := range tombs {
		var tomb fslease.Tombstone
		if err := json.Unmarshal(readFile(t, file), &tomb); err != nil || tomb.Key != "repo/api" || tomb.Generation != 7 {
			t.Errorf("%s: %s at generation %d, %v", file, tomb.Key, tomb.Generation, err)
		}
	}
}

func TestUnknownFieldsSurviveARenewal(t *testing.T) {
	data := readFile(t, filepath.Join(golden, "good", "lease-unknown-fields.json"))
	var rec fslease.Record
	if err := json.Unmarshal(data, &rec); err != nil {
		t.Fatal(err)
	}
	out := marshal(t, fslease.Renewed(rec, fslease.Instant{Mono: 1}))
	for _, field := range []string{`"priority":9007199254740993`, `"labels":{"team":"build","nested":[1,2.50,null]}`, `"container":"c0ffee"`, `"revision":22`} {
		if !bytes.Contains(out, []byte(field)) {
			t.Errorf("%s is missing from %s", field, out)
		}
	}
}

func TestDamagedLeasesAreRefused(t *testing.T) {
	// Right in themselves, wrong where they stand: the ledger tells.
	elsewhere := []string{"key-other.json", "key-parent.json", "generation-above-ceiling.json"}
	files, _ := filepath.Glob(filepath.Join(golden, "damaged", "*.json"))
	if len(files) < 50 {
		t.Fatalf("only %d damaged records in %s", len(files), golden)
	}
	for _, file := range files {
		before := fslease.Record{Key: "untouched"}
		rec := before
		err := rec.UnmarshalJSON(readFile(t, file))
		if slices.Contains(elsewhere, filepath.Base(file)) {
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
			continue
		}
		if err == nil || errors.Is(err, fslease.ErrNewerSchema) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line that says what is wrong", file, err)
		}
		if diff := cmp.Diff(before, rec); diff != "" {
			t.Errorf("%s: refused, but the record was changed: %s", file, diff)
		}
	}
	whole := readFile(t, filepath.Join(golden, "good", "lease.json"))
	for n := range len(whole) - 2 { // cut before the closing brace
		var rec fslease.Record
		if err := rec.UnmarshalJSON(whole[:n]); err == nil {
			t.Errorf("a lease cut after %d bytes is read as %v", n, rec)
		}
	}
	var rec fslease.Record
	if err := rec.UnmarshalJSON(append(bytes.Repeat([]byte(" "), fslease.MaxRecordBytes), whole...)); err == nil {
		t.Error("a lease larger than 1 MiB is read")
	}
}

func TestNewerLeasesAreHeldNotUnderstood(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(golden, "newer", "*.json"))
	if len(files) == 0 {
		t.Fatalf("no newer records in %s", golden)
	}
	for _, file := range files {
		var rec fslease.Record
		if err := json.Unmarshal(readFile(t, file), &rec); !errors.Is(err, fslease.ErrNewerSchema) {
			t.Errorf("%s: %v, want ErrNewerSchema", file, err)
		}
	}
}

func TestLeaseThatAFullDiskMadeItsOwnTombstone(t *testing.T) {
	var tomb fslease.Tombstone
	if err := json.Unmarshal(readFile(t, filepath.Join(golden, "good", "lease.json")), &tomb); err != nil {
		t.Fatal(err)
	}
	if tomb.Key != "repo/api" || tomb.Generation != 7 || tomb.Revision != 21 || tomb.Reason != fslease.ReasonReleased || tomb.ReleasedAt.IsZero() {
		t.Errorf("read as %+v, want released at generation 7", tomb)
	}
	if diff := cmp.Diff([]string{"make"}, tomb.LastHolder.Command); diff != "" {
		t.Errorf("the last holder's command is not cut to its first word: %s", diff)
	}
	if err := json.Unmarshal([]byte(`{"schema":1,"key":"a","holder":{}}`), &tomb); err == nil {
		t.Error("a damaged lease is read as a tombstone")
	}
}

func TestCurrentLease(t *testing.T) {
	lease := &fslease.Record{Generation: 3, Revision: 9}
	for _, c := range []struct {
		name                 string
		state                fslease.State
		current              bool
		generation, revision int64
	}{
		{"never held", fslease.State{}, false, 0, 0},
		{"held", fslease.State{Lease: lease}, true, 3, 9},
		{"held after a release", fslease.State{Lease: lease, Tomb: &fslease.Tombstone{Generation: 2, Revision: 7}}, true, 3, 9},
		{"the tombstone is written, the lease not yet unlinked", fslease.State{Lease: lease, Tomb: &fslease.Tombstone{Generation: 3, Revision: 10}}, false, 3, 10},
		{"an older file came back", fslease.State{Lease: lease, Tomb: &fslease.Tombstone{Generation: 4, Revision: 12}}, false, 4, 12},
		{"released", fslease.State{Tomb: &fslease.Tombstone{Generation: 3, Revision: 10}}, false, 3, 10},
	} {
		if got := c.state.Current() != nil; got != c.current {
			t.Errorf("%s: current lease: %v", c.name, got)
		}
		if g, r := c.state.Generation(), c.state.Revision(); g != c.generation || r != c.revision {
			t.Errorf("%s: generation %d, revision %d; want %d, %d", c.name, g, r, c.generation, c.revision)
		}
	}
}

func TestHolderInWords(t *testing.T) {
	for _, c := range []struct {
		holder fslease.Holder
		want   string
	}{
		{fslease.Holder{Kind: fslease.KindProcess, User: "ann", Host: "build-3", PID: 4242, Command: []string{"make", "deploy"}}, "ann@build-3 pid 4242 running make deploy"},
		{fslease.Holder{Kind: fslease.KindProcess}, "somebody"},
		{fslease.Holder{Kind: fslease.KindTicket, Ticket: "42"}, "ticket 42"},
	} {
		if got := c.holder.Describe(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestHolderIDIsSafeAsAFileName(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 2)
	if !fslease.ValidHolderID(id) {
		t.Errorf("%s is refused", id)
	}
	for _, bad := range []string{"", id[1:], id + "0", "../" + id[3:], strings.ToUpper(id), id[1:] + "g"} {
		if fslease.ValidHolderID(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestWaiterOverlaps(t *testing.T) {
	w := fslease.Waiter{Keys: keysOf("repo/api b")}
	if !w.Overlaps(keysOf("c repo")) || w.Overlaps(keysOf("c repo/api2")) {
		t.Errorf("a waiter for %v overlaps %v: %v, %v: %v", w.Keys, "repo", w.Overlaps(keysOf("c repo")), "repo/api2", w.Overlaps(keysOf("c repo/api2")))
	}
}

func TestPropertyRecordsAreReadAsTheyWereWritten(t *testing.T) {
	t.Run("lease", rapid.MakeCheck(func(t *rapid.T) { checkInverse(t, anyRecord().Draw(t, "lease")) }))
	t.Run("tombstone", rapid.MakeCheck(func(t *rapid.T) {
		checkInverse(t, fslease.Tombstone{
			Key: anyKey().Draw(t, "key"), Generation: positive().Draw(t, "generation"), Revision: positive().Draw(t, "revision"),
			ReleasedAt: anyTime().Draw(t, "released"), Reason: fslease.Reason(rapid.String().Draw(t, "reason")),
			LastHolder: anyHolder().Draw(t, "holder"), Unclean: count().Draw(t, "unclean"), Extra: anyExtra().Draw(t, "extra"),
		})
	}))
	t.Run("sighting", rapid.MakeCheck(func(t *rapid.T) {
		checkInverse(t, fslease.Sighting{
			Key: anyKey().Draw(t, "key"), Generation: positive().Draw(t, "generation"), Revision: positive().Draw(t, "revision"),
			BootID: rapid.String().Draw(t, "boot"), TimeNS: count().Draw(t, "time ns"), Mono: positive().Draw(t, "mono"),
		})
	}))
	t.Run("waiter", rapid.MakeCheck(func(t *rapid.T) {
		checkInverse(t, fslease.Waiter{
			Keys: rapid.SliceOfN(anyKey(), 1, 3).Draw(t, "keys"), Holder: anyHolder().Draw(t, "holder"), Since: anyTime().Draw(t, "since"),
			Note: rapid.String().Draw(t, "note"), Holds: rapid.SliceOf(rapid.String()).Draw(t, "holds"),
		})
	}))
}

// checkInverse writes v as a ledger's file has it, reads it and compares.
func checkInverse[T json.Marshaler](t *rapid.T, v T) {
	t.Helper()
	data, err := v.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var got T
	if err := json.Unmarshal(fslease.Indent(data), &got); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	sameJSON := cmp.Comparer(func(a, b json.RawMessage) bool {
		return bytes.Equal(fslease.Indent(a), fslease.Indent(b))
	})
	if diff := cmp.Diff(v, got, sameJSON, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-written +read):\n%s", data, diff)
	}
}

func FuzzRecord(f *testing.F) {
	fuzzStable(f, func() *fslease.Record { return new(fslease.Record) })
}

func FuzzTombstone(f *testing.F) {
	f.Add([]byte(`{"schema":1,"key":"a","generation":1,"revision":2,"released_at":"2026-01-02T03:04:05Z","reason":"dead","unclean":3,"new":[1]}`))
	fuzzStable(f, func() *fslease.Tombstone { return new(fslease.Tombstone) })
}

func FuzzWaiter(f *testing.F) {
	f.Add([]byte(`{"schema":1,"keys":["a/b","c"],"holder":{"kind":"ticket","ticket":"42","session":7},"since":"2026-01-02T03:04:05Z","holds":["x"]}`))
	fuzzStable(f, func() *fslease.Waiter { return new(fslease.Waiter) })
}

// fuzzStable checks that reading any bytes ends in an error or in a record that, once written, is read
// and written again as it is: a rewrite can neither damage nor slowly change what it did not mean to touch.
// What is rewritten keeps the fields that only a newer version knows.
func fuzzStable[T interface {
	json.Marshaler
	json.Unmarshaler
}](f *testing.F, empty func() T) {
	files, _ := filepath.Glob(filepath.Join(golden, "*.json"))
	more, _ := filepath.Glob(filepath.Join(golden, "*", "*.json"))
	for _, file := range append(files, more...) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first := empty()
		if err := first.UnmarshalJSON(data); err != nil {
			return
		}
		written := marshal(t, first)
		second := empty()
		if err := json.Unmarshal(written, second); err != nil {
			t.Fatalf("%q is read, but what is written of it is not: %s: %v", data, written, err)
		}
		if again := marshal(t, second); !bytes.Equal(written, again) {
			t.Fatalf("%q is written as\n%s, and then as\n%s", data, written, again)
		}
		switch any(first).(type) {
		case *fslease.Record, *fslease.Tombstone, *fslease.Ticket, *fslease.Session:
			const newer = `,"~newer":{"a":[1,2.50,null,9007199254740993]}}`
			third := empty()
			if err := third.UnmarshalJSON([]byte(string(written[:len(written)-1]) + newer)); err != nil {
				t.Fatalf("%s is not read with a field more: %v", written, err)
			}
			if again := marshal(t, third); !strings.Contains(string(again), newer[1:len(newer)-1]) {
				t.Fatalf("%s is written without the field that is not known: %s", written, again)
			}
		}
	})
}

func marshal(t *testing.T, v json.Marshaler) []byte {
	t.Helper()
	data, err := v.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
