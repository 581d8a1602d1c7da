package githook

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"fslease/fslease"
)

const zeroID = "0000000000000000000000000000000000000000"

// What git tells pre-push is refused in one line, or understood to the last update: a line that is passed over is a push
// that nobody judged.
func FuzzPrePush(f *testing.F) {
	id := strings.Repeat("ab", 20)
	f.Add([]byte("refs/heads/main " + id + " refs/heads/main " + zeroID + "\n"))
	f.Add([]byte("HEAD@{1 second ago} " + id + " refs/heads/x " + id + "\n(delete) " + zeroID + " refs/heads/y " + id + "\n"))
	f.Add([]byte("a " + strings.Repeat("cd", 32) + " b " + strings.Repeat("0", 64)))
	f.Add([]byte("\n"))
	f.Add([]byte("a b c d\r\n"))
	f.Fuzz(func(t *testing.T, stdin []byte) {
		updates, err := parseUpdates(bytes.NewReader(stdin))
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x00") {
				t.Fatalf("%q is refused in more than one line: %q", stdin, err)
			}
			return
		}
		if lines := len(slices.Collect(bytes.Lines(stdin))); len(updates) != lines {
			t.Fatalf("%q has %d lines, and %d updates", stdin, lines, len(updates))
		}
		var again bytes.Buffer
		for _, u := range updates {
			if !isObjectID(u.local) || !isObjectID(u.remote) || !bytes.Contains(stdin, []byte(u.local)) || !bytes.Contains(stdin, []byte(u.remote)) {
				t.Fatalf("%q has the update %+v", stdin, u)
			}
			fmt.Fprintf(&again, "a b %s c %s\n", u.local, u.remote)
		}
		if back, err := parseUpdates(&again); err != nil || !slices.Equal(back, updates) {
			t.Fatalf("%+v is written and read as %+v, %v", updates, back, err)
		}
	})
}

// Every path that git prints comes back, whatever its bytes and however the output is cut into pieces: also one that is
// named like a commit or like a status.
func FuzzChanges(f *testing.F) {
	id := strings.Repeat("ab", 20)
	f.Add("a\x00b c\x00"+id+"\x00M\x00\xff", 7, true)
	f.Add("api/x", 1, false)
	f.Add("\n\x00MM\x00 ", 3, true)
	f.Fuzz(func(t *testing.T, names string, piece int, committed bool) {
		var want []Change
		var out []byte
		commit := ""
		if committed {
			commit = id
			out = append(out, id+"\x00"...)
		}
		for name := range strings.SplitSeq(names, "\x00") {
			if name == "" {
				continue // git has no such path
			}
			want = append(want, Change{Path: name, Commit: commit})
			out = append(out, "AM"[:1+len(name)%2]+"\x00"+name+"\x00"...)
		}
		var got []Change
		s := &splitter{visit: changeParser(func(c Change) { got = append(got, c) })}
		for p := range slices.Chunk(out, 1+max(0, piece%64)) {
			if n, err := s.Write(p); n != len(p) || err != nil {
				t.Fatalf("Write says %d, %v", n, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q in pieces of %d is read as %q, want %q", out, piece, got, want)
		}
		for _, c := range got {
			checkKeyOf(t, c.Path)
		}
	})
}

// checkKeyOf checks that the key of a path is a key, as deep as the path, below the keys of its directories.
func checkKeyOf(t *testing.T, name string) {
	t.Helper()
	if path.Clean("/"+name) != "/"+name {
		return // git has no such path
	}
	key := KeyOf("repo", name)
	if _, err := fslease.ParseKey(string(key)); err != nil && len(key) <= fslease.MaxKeyBytes {
		t.Fatalf("the key of %q is %q: %v", name, key, err)
	}
	if dir := path.Dir(name); dir != "." && !KeyOf("repo", dir).Covers(key) {
		t.Fatalf("the key of %q, %q, is not below that of %q", name, key, dir)
	}
}

// What may be changed is told the same by the quick search as key by key.
func FuzzOverlap(f *testing.F) {
	f.Add("repo/api\nrepo/api2\nrepo", "repo/api/x")
	f.Add("a-b\na/b\na", "a")
	f.Fuzz(func(t *testing.T, scope, path string) {
		k, err := fslease.ParseKey(path)
		if err != nil {
			return
		}
		var keys []fslease.Key
		for s := range strings.SplitSeq(scope, "\n") {
			if k, err := fslease.ParseKey(s); err == nil {
				keys = append(keys, k)
			}
		}
		var got, want []int
		o := overlapOf(keys)
		o.each(k, func(i int) { got = append(got, i) })
		for i, other := range keys {
			if k.Overlaps(other) {
				want = append(want, i)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || o.any(k) != (len(want) > 0) {
			t.Fatalf("%q overlaps %v of %q, want %v", k, got, keys, want)
		}
	})
}
