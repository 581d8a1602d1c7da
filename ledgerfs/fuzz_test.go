package ledgerfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fslease/fslease"
)

// Whatever stands in ledger.json is refused in one line, or is a configuration that is written and read again as it is.
// What is not known is never passed over: a setting that this version does not have may mean that it must not write.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		`{"schema":1,"id":"x","ceiling":1000,"floor":0,"settings":{}}`,
		`{"schema":1,"id":"x","ceiling":1000,"floor":7,"boot_id":"b","allow_network":true,"settings":{"record_command":"name","sync_grants":true}}`,
		`{"schema":1,"id":"x","ceiling":9007199254740991,"floor":0,"settings":{"later":1}}`,
		`{"schema":2}`, `{"schema":1,"id":"x","ceiling":1,"floor":2}`, `{"settings":null}`, `[]`, `null`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseConfig(data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x00") {
				t.Fatalf("%q is refused in more than one line: %q", data, err)
			}
			return
		}
		if c.Schema != fslease.Schema || c.Floor < 0 || c.Ceiling < c.Floor || c.Ceiling > fslease.MaxNumber {
			t.Fatalf("%q is taken for %+v", data, c)
		}
		again, err := parseConfig(c.encode())
		if err != nil || again != c {
			t.Fatalf("%q is %+v, and written and read again %+v, %v", data, c, again, err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			t.Fatalf("%q is no JSON object, but is taken: %v", data, err)
		}
		fields["not_known_yet"] = json.RawMessage("1")
		strange, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := parseConfig(strange); err == nil {
			t.Fatalf("a setting that is not known is passed over: %s is %+v", strange, c)
		}
	})
}

// places are all files and folders that belong to a key.
func places(k fslease.Key) []string {
	p := fslease.Place{Key: k, Number: 12}
	return []string{leasePath(k), tombstonePath(k), sightingPath(k), lockPath(k), fencePath(k), placePath(p), turnPath(p)}
}

// Two keys never share a file, nor is a file of one a folder on the way to a file of the other, and a temporary file is
// nobody's.
func FuzzPaths(f *testing.F) {
	long := strings.Repeat("é", 60)
	for _, pair := range [][2]string{
		{"a", "a/b"}, {"x.json", "x%2Ejson"}, {"a.lock", "a.fence"}, {"a", "a.json/b"}, {".a", "%2Ea"}, {"repo/api", "repo%2Fapi"},
		{long, long + "x"}, {long + "a", long + "b"}, {long[:24], long[:26]}, {"a", "a/000012.json"}, {"a", "a/000012.turn"}, {"a", "a/000012~turn"}, {"~", "%7E"}, {"a.json.tmp", ".a"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		a, err := fslease.ParseKey(s)
		if err != nil {
			return
		}
		checkPaths(t, a)
		b, err := fslease.ParseKey(other)
		if err != nil || a == b {
			return
		}
		for i, p := range places(a) {
			for j, q := range places(b) {
				if p == q || strings.HasPrefix(q, p+"/") || tempPath(p) == q || tempPath(p) == tempPath(q) {
					t.Fatalf("place %d of %q is %s, place %d of %q is %s", i, a, p, j, b, q)
				}
			}
		}
	})
}

// checkPaths holds the path of a key against the rules: readable, inside its folder, short enough for every file system,
// and if it is not cut, the key can be told from it.
func checkPaths(t *testing.T, k fslease.Key) {
	t.Helper()
	encoded := encodeKey(k)
	if filepath.Clean(encoded) != encoded || !filepath.IsLocal(encoded) {
		t.Fatalf("%q is at %q", k, encoded)
	}
	cut := false
	for _, seg := range strings.Split(encoded, "/") {
		cut = cut || len(seg) > maxEncoded
		if strings.HasPrefix(seg, ".") || len("."+seg+".fence.tmp") > 255 || strings.Trim(seg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:@+=,.-%~") != "" {
			t.Fatalf("%q has the segment %q", k, seg)
		}
	}
	if strings.Count(encoded, "/") != strings.Count(string(k), "/") {
		t.Fatalf("%q is at %q", k, encoded)
	}
	if back := decodePath(encoded); !cut && back != k {
		t.Fatalf("%q is at %q, which is read as %q", k, encoded, back)
	}
}

// However a line of the journal was torn, what was written after it is found.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"at":"2026-01-02T03:04:05.678Z","event":"gran`), "granted", "task:42", "why")
	f.Add([]byte(`{"at":"2026-01-02T03:04:05.678Z","event":"granted","key":"a","by":{"user":"u","pid":1,"host":"h"}}`), "lost", "a", `{"at":`)
	f.Add([]byte("\x00\x00[{"), "", "", "")
	f.Fuzz(func(t *testing.T, torn []byte, event, key, reason string) {
		if bytes.IndexByte(torn, '\n') >= 0 {
			return
		}
		var read []fslease.Event
		tail := &tail{visit: func(e fslease.Event) error { read = append(read, e); return nil }}
		if err := tail.line(torn); err != nil {
			t.Fatalf("%q: %v", torn, err)
		}
		line, err := fslease.Event{At: time.UnixMilli(0).UTC(), Event: event, Key: fslease.Key(key), Generation: 7, By: fslease.Actor{User: "ann", PID: 4242, Host: "h"}, Reason: reason}.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var written fslease.Event
		if err := written.UnmarshalJSON(line); err != nil {
			t.Fatalf("%s is written, but not read: %v", line, err)
		}
		read = nil
		if err := tail.line(append(torn, line...)); err != nil {
			t.Fatalf("%q: %v", torn, err)
		}
		if len(read) != 1 {
			t.Fatalf("after %q one event is written, and %d are read", torn, len(read))
		}
		if diff := cmp.Diff(written, read[0]); diff != "" {
			t.Fatalf("after %q (-written +read):\n%s", torn, diff)
		}
	})
}

// Any bytes in the place of any record are an error that names the file, or a record: never a panic, never free. The
// folder is the same for all, as the ledger of a process is.
func FuzzFiles(f *testing.F) {
	dir := f.TempDir()
	if _, err := Init(filepath.Join(dir, "ledger"), false); err != nil {
		f.Fatal(err)
	}
	l, err := Open(filepath.Join(dir, "ledger"), Options{Processes: noProcesses{}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { l.Close() })
	for _, folder := range []string{leasesDir, tombstonesDir, ticketsDir, queueDir + "/a"} {
		if err := os.MkdirAll(l.file(folder), 0o700); err != nil {
			f.Fatal(err)
		}
	}
	golden, _ := filepath.Glob("../testdata/ledger/*/*.json")
	for i, file := range golden {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(byte(i), bytes.ReplaceAll(data, []byte("repo/api"), []byte("a")))
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		names := []string{leasePath("a"), tombstonePath("a"), ticketPath("a"), placePath(fslease.Place{Key: "a", Number: 1})}
		name := names[int(which)%len(names)]
		if err := os.WriteFile(l.file(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(l.file(name))
		view := l.View(t.Context())
		st, err := view.Load("a")
		switch name {
		case leasePath("a"):
			if err == nil && (st.Lease == nil || st.Lease.Key != "a") {
				t.Fatalf("a lease of %q is read as %+v", data, st)
			}
		case tombstonePath("a"):
			if err == nil && (st.Tomb == nil || st.Tomb.Key != "a") {
				t.Fatalf("a tombstone of %q is read as %+v", data, st)
			}
		case ticketPath("a"):
			var ticket *fslease.Ticket
			if ticket, err = view.Ticket("a"); err == nil && (ticket == nil || ticket.ID != "a") {
				t.Fatalf("a ticket of %q is read as %+v", data, ticket)
			}
		default: // a hint
			if _, err := view.Waiter(fslease.Place{Key: "a", Number: 1}); err != nil && !errors.Is(err, fslease.ErrRepository) {
				t.Fatalf("a waiter of %q: %v", data, err)
			}
			return
		}
		var re *fslease.RepositoryError
		if err != nil && (!errors.As(err, &re) || re.Path != l.file(name)) {
			t.Fatalf("%s of %q is refused by %v, which does not name the file", name, data, err)
		}
	})
}

// noProcesses is for ledgers that are only read.
type noProcesses struct{ Processes }
