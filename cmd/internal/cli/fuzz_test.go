package cli

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"fslease/fslease"
)

// Whatever stands in LEASE_KEYS, what is read of it is written and read again as it is, and every key comes back.
func FuzzHeldKeys(f *testing.F) {
	f.Add("task:42=7 repo/api=3", "with space")
	f.Add("a%20b=1  =2 x=0 y=9223372036854775807 z=+1", "%20%25 %2520")
	f.Fuzz(func(t *testing.T, text, name string) {
		held := parseHeld(text)
		if key, err := fslease.ParseKey(name); err == nil {
			held = hold(held, key, 7)
		}
		if again := parseHeld(formatHeld(held)); !slices.Equal(again, held) {
			t.Fatalf("%q is %v, and written and read again %v", text, held, again)
		}
	})
}

// A duration is refused in one line, or is what it says, never negative.
func FuzzDuration(f *testing.F) {
	for _, s := range []string{"30s", "2d", "1d12h", "1.5d", "30", "", "-1s", "106751d", "106752d", "9999999999999h", "1d1d", ".d", "1e3s", "1µs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, bad := parseDuration(s)
		if bad != nil {
			if strings.ContainsAny(bad.what+bad.hint, "\n\x00") {
				t.Fatalf("%q is refused in more than one line: %q %q", s, bad.what, bad.hint)
			}
			return
		}
		if d < 0 {
			t.Fatalf("%q is %v", s, d)
		}
		if plain, err := time.ParseDuration(s); err == nil && plain != d {
			t.Fatalf("%q is %v, for everybody else %v", s, d, plain)
		}
	})
}

// Nothing that is shown commands a terminal or takes a second line, and as JSON it stays the same value.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[2J", "a\nb\tc\x7f", "\xff\u202e\u2028", "é日\U000e0001", "\ufffd", `\x1b`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown := escape(s)
		for _, r := range shown {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
				t.Fatalf("%q is shown as %q", s, shown)
			}
		}
		if again := escape(shown); again != shown {
			t.Fatalf("%q is shown as %q, and that as %q", s, shown, again)
		}
		raw, err := json.Marshal(map[string]string{s: s})
		if err != nil {
			t.Fatal(err)
		}
		var before, after any
		if err := json.Unmarshal(raw, &before); err != nil {
			t.Fatal(err)
		}
		safe := escapeJSON(raw)
		if err := json.Unmarshal(safe, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%s became %s, %v", raw, safe, err)
		}
		if strings.IndexFunc(string(safe), unsafe) >= 0 {
			t.Fatalf("%s is shown as %s", raw, safe)
		}
	})
}
