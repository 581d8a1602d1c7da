package cli

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"plain é 漢 🙂 \\n":                   "plain é 漢 🙂 \\n",
		"a\nb\tc\rd":                        `a\nb\tc\x0dd`,
		"\x1b[31mred\x7f":                   `\x1b[31mred\x7f`,
		"\u009b2J\u0085":                    `\u009b2J\u0085`,
		"\u202egnirts\u202c \u2066":         `\u202egnirts\u202c \u2066`,
		"\u200f\u061c\u2028\u2029":          `\u200f\u061c\u2028\u2029`,
		"\xff ok \xc3":                      `\xff ok \xc3`,
		"replaced before: \ufffd":           `replaced before: \ufffd`,
		"family \U0001f468\u200d\U0001f469": "family \U0001f468\u200d\U0001f469",
	} {
		if got := escape(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// Whatever stands in a record, nothing unsafe is shown, and a JSON value stays the value it was.
func TestEscapeAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		for _, r := range escape(s) {
			if unsafe(r) {
				t.Fatalf("%U is shown", r)
			}
		}
		data, err := json.Marshal(map[string]string{"note": s})
		if err != nil {
			t.Fatal(err)
		}
		out := escapeJSON(data)
		var before, after map[string]string
		if json.Unmarshal(data, &before) != nil || json.Unmarshal(out, &after) != nil || before["note"] != after["note"] {
			t.Fatalf("%s became %s", data, out)
		}
		for _, r := range string(out) {
			if unsafe(r) || r == utf8.RuneError {
				t.Fatalf("%U is shown", r)
			}
		}
	})
}
