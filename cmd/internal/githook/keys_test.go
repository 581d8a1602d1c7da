package githook

import (
	"fmt"
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

func TestMessage(t *testing.T) {
	t.Parallel()
	reservations := []Reservation{
		{Key: "repo/docs", Ticket: "42", Status: fslease.Review, Since: since},
		{Key: "repo/b c", Holder: "ann on build-3, pid 7 (make)", Since: since},
		{Key: "repo/api", Ticket: "42", Status: fslease.Review, Since: since},
		{Key: "repo/web", Ticket: "7", Status: fslease.Blocked, Since: since},
		{Key: "repo/free", Ticket: "9", Mine: true},
	}
	changes := []Change{{Path: "docs/x\n"}, {Path: "web"}, {Path: "b c/x", Commit: strings.Repeat("ab", 20)}, {Path: "api/y"}, {Path: "free/z"}, {Path: "else"}}
	for i := range shown + 3 {
		changes = append(changes, Change{Path: fmt.Sprintf("web/%02d", i)})
	}
	setKeys(changes, "repo")
	result := Decide(changes, reservations)
	result.confine(changes, reservations, "9", nil)
	result.Hook = PrePush
	got := strings.Join(append(result.Message(), result.Hint()), "\n")
	var more strings.Builder
	for i := range shown - 1 {
		fmt.Fprintf(&more, "  web/%02d\n", i)
	}
	want := `resource scope reserved by 42: repo/api, repo/docs
resource scope reserved by 7: repo/web
repo/api is reserved by ticket 42 (REVIEW) since 2026-11-29T10:00:00.000Z:
  api/y
repo/b c is held by ann on build-3, pid 7 (make) since 2026-11-29T10:00:00.000Z:
  b c/x in commit abababababab
repo/docs is reserved by ticket 42 (REVIEW) since 2026-11-29T10:00:00.000Z:
  docs/x\x0a
repo/web is reserved by ticket 7 (BLOCKED) since 2026-11-29T10:00:00.000Z:
  web
` + more.String() + `  and 4 more
the scope of your ticket 9 does not have:
  else (repo/else)
lease wait repo/api waits until it is free; if ticket 42 is yours, set LEASE_TICKET=42 and LEASE_TOKEN; git push --no-verify goes past this check`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if result.Answer != Refuse || !result.Refused() {
		t.Error("it is not refused")
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{"repo/api": "repo/api", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := quote(s); got != want {
			t.Errorf("quote(%q) = %s, want %s", s, got, want)
		}
	}
}
