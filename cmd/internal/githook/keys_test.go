package githook

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fslease/fslease"
)

func TestKeyOf(t *testing.T) {
	t.Parallel()
	tests := map[string]fslease.Key{
		"api/handler.go": "repo/api/handler.go",
		"a b":            "repo/a b",
		`a\b"'`:          `repo/a\b"'`,
		"日本/é":           "repo/日本/é",
		"a\tb\nc\x7f":    `repo/a\x09b\x0ac\x7f`,
		"\u0085":         `repo/\xc2\x85`, // a control character beyond ASCII
		"a\xff/\xe6\x97": `repo/a\xff/\xe6\x97`,
		"\ufffd":         "repo/\ufffd", // the character itself, which stands for no error
		"%":              "repo/%",
	}
	for path, want := range tests {
		got := KeyOf("repo", path)
		if got != want {
			t.Errorf("KeyOf(%q) = %q, want %q", path, got, want)
		}
		if _, err := fslease.ParseKey(string(got)); err != nil {
			t.Errorf("KeyOf(%q) cannot be reserved: %v", path, err)
		}
	}
	long := strings.Repeat("x", fslease.MaxKeyBytes+1)
	if got := KeyOf("repo", "api/"+long); !fslease.Key("repo/api").Covers(got) {
		t.Errorf("a long path is not under its directory")
	}
}

// An overlap answers as the keys themselves do.
func TestOverlap(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	key := func() fslease.Key {
		segments := make([]string, 1+rng.IntN(4))
		for i := range segments {
			segments[i] = []string{"a", "b", "aa", "a-b"}[rng.IntN(4)]
		}
		return fslease.Key(strings.Join(segments, "/"))
	}
	for range 2000 {
		keys := make([]fslease.Key, rng.IntN(8))
		for i := range keys {
			keys[i] = key()
		}
		k := key()
		var want, got []int
		for i, other := range keys {
			if k.Overlaps(other) {
				want = append(want, i)
			}
		}
		o := overlapOf(keys)
		o.each(k, func(i int) { got = append(got, i) })
		slices.Sort(got)
		if !slices.Equal(got, want) || o.any(k) != (len(want) > 0) {
			t.Fatalf("%q overlaps %v of %q, want %v", k, got, keys, want)
		}
	}
}

// What git prints comes in pieces.
func TestSplitter(t *testing.T) {
	t.Parallel()
	var got []string
	s := &splitter{visit: func(token string) { got = append(got, token) }}
	for _, piece := range []string{"a", "b\x00", "\x00c\x00d", "", "e", "\x00"} {
		if n, err := s.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("Write says %d, %v", n, err)
		}
	}
	if want := []string{"ab", "", "c", "de"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
