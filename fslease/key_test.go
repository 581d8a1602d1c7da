package fslease_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fslease/fslease"
)

func TestParseKey(t *testing.T) {
	good := []string{
		"a", "task:42", "repo/api", "terminal-1", "a b", "-v", ".hidden", "...", "a..b", "x.json", "x.lock",
		"a_b", "a%2Fb", "\u00e9", "e\u0301", "🔑", "\u00ad", strings.Repeat("k", fslease.MaxKeyBytes),
		strings.Repeat("s/", 511) + "ss", "ticket:42",
	}
	for _, s := range good {
		k, err := fslease.ParseKey(s)
		if err != nil || string(k) != s {
			t.Errorf("ParseKey(%.40q) = %.40q, %v; want it as it is: nothing is normalized", s, k, err)
		}
	}
	bad := []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/.", "a/../b", "./a", "a\nb", "\x00", "a\x7f", "a\u0085b",
		"\xff", "a/\xc3", "\xed\xa0\x80", strings.Repeat("k", fslease.MaxKeyBytes+1),
	}
	for _, s := range bad {
		_, err := fslease.ParseKey(s)
		var config *fslease.ConfigError
		if !errors.As(err, &config) || config.Hint == "" {
			t.Errorf("ParseKey(%.40q): %v; want a *ConfigError with a hint, before any file is touched", s, err)
		}
	}
}

func TestParseKeysKeepsTheOrderAndRefusesTheFirstBadOne(t *testing.T) {
	keys, err := fslease.ParseKeys("b", "a", "b")
	if err != nil || !slices.Equal(keys, []fslease.Key{"b", "a", "b"}) {
		t.Errorf("ParseKeys(b, a, b) = %v, %v", keys, err)
	}
	if keys, err := fslease.ParseKeys("a", "b/"); err == nil {
		t.Errorf("ParseKeys(a, b/) = %v, want an error", keys)
	}
}

func TestKeysOverlapBySegments(t *testing.T) {
	for _, c := range []struct {
		a, b             fslease.Key
		covers, overlaps bool
	}{
		{"repo", "repo", true, true},
		{"repo", "repo/api", true, true},
		{"repo", "repo/api/v2", true, true},
		{"repo/api", "repo", false, true},
		{"repo/api", "repo/api2", false, false},
		{"repo", "repository", false, false},
		{"repo", "repo-x/api", false, false},
		{"a-b", "a/b", false, false},
		{"a/b", "a/c", false, false},
		{"A", "a", false, false},
	} {
		if got := c.a.Covers(c.b); got != c.covers {
			t.Errorf("%s covers %s: %v", c.a, c.b, got)
		}
		if got := c.a.Overlaps(c.b); got != c.overlaps || c.b.Overlaps(c.a) != got {
			t.Errorf("%s overlaps %s: %v, the other way round: %v", c.a, c.b, got, c.b.Overlaps(c.a))
		}
		if got := c.b.OverlapsAny([]fslease.Key{"elsewhere", c.a}); got != c.overlaps {
			t.Errorf("%s overlaps any of elsewhere and %s: %v", c.b, c.a, got)
		}
		if got := c.b.Within(c.a); got != c.covers {
			t.Errorf("%s within %s: %v", c.b, c.a, got)
		}
	}
	if !fslease.Key("any").Within("") {
		t.Error("any is not within the empty prefix")
	}
}

func TestAncestorsAndTicketKeys(t *testing.T) {
	if got := fslease.Key("a/b/c").Ancestors(); !slices.Equal(got, []fslease.Key{"a", "a/b"}) {
		t.Errorf("ancestors of a/b/c: %v", got)
	}
	if got := fslease.Key("a").Ancestors(); len(got) != 0 {
		t.Errorf("ancestors of a: %v", got)
	}
	if id, ok := fslease.TicketKey("42").Ticket(); !ok || id != "42" {
		t.Errorf("ticket of %s: %q, %v", fslease.TicketKey("42"), id, ok)
	}
	if id, ok := fslease.Key("task:42").Ticket(); ok {
		t.Errorf("task:42 stands for the ticket %q", id)
	}
}

func TestFoldKeys(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"a", "a"},
		{"a a", "a"},
		{"b a b", "b a"},
		{"a/b a", "a"},
		{"a a/b a-b a/b/c", "a a-b"},
		{"x/y/z q x/y", "q x/y"},
	} {
		got := fslease.FoldKeys(keysOf(c.keys))
		if !slices.Equal(got, keysOf(c.want)) {
			t.Errorf("FoldKeys(%s) = %v, want %s", c.keys, got, c.want)
		}
	}
}

func keysOf(s string) []fslease.Key {
	var keys []fslease.Key
	for f := range strings.FieldsSeq(s) {
		keys = append(keys, fslease.Key(f))
	}
	return keys
}

// anyKey draws keys that share segments, with bytes on both sides of the slash in the order of bytes.
func anyKey() *rapid.Generator[fslease.Key] {
	segment := rapid.SampledFrom([]string{"a", "a-b", "a.b", "a0", "b", "é", "a b", "A"})
	return rapid.Custom(func(t *rapid.T) fslease.Key {
		return fslease.Key(strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "segments"), "/"))
	})
}

func TestPropertyCompareKeysOrdersTreesAsTheyAreWalked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := anyKey().Draw(t, "a"), anyKey().Draw(t, "b"), anyKey().Draw(t, "c")
		if x, y := fslease.CompareKeys(a, b), fslease.CompareKeys(b, a); x != -y || (x == 0) != (a == b) {
			t.Fatalf("compare %s and %s: %d, the other way round %d", a, b, x, y)
		}
		if a != b && a.Covers(b) && fslease.CompareKeys(a, b) >= 0 {
			t.Fatalf("%s comes after %s, which lies below it", a, b)
		}
		if fslease.CompareKeys(a, b) < 0 && fslease.CompareKeys(b, c) < 0 && fslease.CompareKeys(a, c) >= 0 {
			t.Fatalf("%s < %s < %s, but not %s < %s", a, b, c, a, c)
		}
		if got := slices.Compare(a.Segments(), b.Segments()); got != fslease.CompareKeys(a, b) {
			t.Fatalf("compare %s and %s: %d, by segments %d", a, b, fslease.CompareKeys(a, b), got)
		}
	})
}

func TestPropertyFoldedKeysCoverTheRequestAndNotEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked := rapid.SliceOfN(anyKey(), 1, 6).Draw(t, "keys")
		kept := fslease.FoldKeys(asked)
		for _, k := range asked {
			if !slices.ContainsFunc(kept, func(over fslease.Key) bool { return over.Covers(k) }) {
				t.Fatalf("nothing of %v covers %s", kept, k)
			}
		}
		rest := asked
		for i, k := range kept {
			if slices.ContainsFunc(kept[i+1:], k.Overlaps) {
				t.Fatalf("%v overlap each other", kept)
			}
			at := slices.Index(rest, k)
			if at < 0 {
				t.Fatalf("%v are not in the order of %v", kept, asked)
			}
			rest = rest[at+1:]
		}
	})
}

func TestPropertyParsedKeysAreWhatTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkParsedKey(t, rapid.String().Draw(t, "s"))
	})
}

// FuzzKey holds ParseKey against the rules for keys, stated a second way.
func FuzzKey(f *testing.F) {
	for _, s := range []string{"a", "task:42", "repo/api", "", "/", "a//b", "a/../b", "\xff", "a\nb", "é/🔑", ".", "...", strings.Repeat("k", fslease.MaxKeyBytes+1)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkParsedKey(t, s) })
}

type failer interface {
	Fatalf(format string, args ...any)
}

func checkParsedKey(t failer, s string) {
	k, err := fslease.ParseKey(s)
	if err != nil {
		if !errors.Is(err, fslease.ErrConfig) || strings.ContainsAny(err.Error(), "\n\x00") {
			t.Fatalf("ParseKey(%q): %q, want a *ConfigError on one line", s, err)
		}
		return
	}
	if string(k) != s || len(s) == 0 || len(s) > fslease.MaxKeyBytes {
		t.Fatalf("ParseKey(%q) = %q", s, k)
	}
	if strings.ToValidUTF8(s, "") != s || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
		t.Fatalf("%q is taken for a key", s)
	}
	for _, seg := range k.Segments() {
		if seg == "" || seg == "." || seg == ".." {
			t.Fatalf("%q is taken for a key", s)
		}
	}
	for _, up := range k.Ancestors() {
		if _, err := fslease.ParseKey(string(up)); err != nil || !up.Covers(k) || k.Covers(up) {
			t.Fatalf("%q is taken for an ancestor of %q (%v)", up, k, err)
		}
	}
}
