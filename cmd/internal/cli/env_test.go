package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fslease/fslease"
)

func TestHeldKeys(t *testing.T) {
	for text, held := range map[string][]heldKey{
		"task:42=7 repo/api=3":      {{"task:42", 7}, {"repo/api", 3}},
		"with%20space=1":            {{"with space", 1}},
		"a=b=2":                     {{"a=b", 2}},
		"a%2Fb=1":                   {{"a%2Fb", 1}}, // only what would be mistaken is encoded
		"a%2520b=1 a%2525=2 100%=3": {{"a%20b", 1}, {"a%25", 2}, {"100%", 3}},
		"nb\u00a0sp=1":              {{"nb\u00a0sp", 1}},
		"":                          nil,
	} {
		if got := parseHeld(text); !slices.Equal(got, held) {
			t.Errorf("%q is %v, want %v", text, got, held)
		}
		if got := formatHeld(held); got != text {
			t.Errorf("%v is written %q, want %q", held, got, text)
		}
	}
	// What names no lease is left out.
	if got := parseHeld("x  y= =1 a//b=1 z=0 z=-1 z=99999999999999999999 ok=1 "); !slices.Equal(got, []heldKey{{"ok", 1}}) {
		t.Errorf("%v", got)
	}
}

// What is said of another ledger is forgotten, but not what somebody has set by hand.
func TestForgetOthers(t *testing.T) {
	here, other := t.TempDir(), t.TempDir()
	for name, c := range map[string]struct {
		of, keys, key, token, ticket string
		kept                         string // LEASE_KEYS LEASE_KEY LEASE_TOKEN LEASE_TICKET
	}{
		"of this ledger":               {here, "k=1", "k", "1", "", "k=1 k 1 "},
		"of this, by another path":     {here + "/../" + filepath.Base(here), "k=1", "k", "1", "", "k=1 k 1 "},
		"of another":                   {other, "k=1 j=2", "j", "2", "", "   "},
		"of another, a ticket":         {other, "ticket:7=3 s=1", "s", "1", "7", "   "},
		"of one that is not here":      {other + "/gone", "k=1", "k", "1", "", "k=1 k 1 "},
		"keys by hand":                 {"", "k=1", "k", "1", "", "k=1 k 1 "},
		"token by hand, inside":        {other, "k=1", "k", "2", "", " k 2 "},
		"key and token by hand inside": {other, "k=1", "b", "1", "", " b 1 "},
		"ticket by hand, inside":       {other, "k=1", "k", "1", "7", " k 1 7"},
	} {
		t.Run(name, func(t *testing.T) {
			names := []string{"LEASE_KEYS", "LEASE_KEY", "LEASE_TOKEN", "LEASE_TICKET"}
			for i, value := range []string{c.keys, c.key, c.token, c.ticket} {
				t.Setenv(names[i], value)
			}
			t.Setenv("LEASE_KEYS_LEDGER", c.of)
			forgetOthers(here)
			var got []string
			for _, name := range names {
				got = append(got, os.Getenv(name))
			}
			if strings.Join(got, " ") != c.kept {
				t.Errorf("%q is left, want %q", strings.Join(got, " "), c.kept)
			}
		})
	}
}

// Every key comes back as it was.
func TestHeldKeysComeBack(t *testing.T) {
	key := rapid.StringOf(rapid.SampledFrom([]rune("ab /%25=20é\u00a0"))).Filter(func(s string) bool {
		_, err := fslease.ParseKey(s)
		return err == nil
	})
	rapid.Check(t, func(t *rapid.T) {
		var held []heldKey
		for _, k := range rapid.SliceOfN(key, 1, 4).Draw(t, "keys") {
			held = append(held, heldKey{fslease.Key(k), rapid.Int64Range(1, fslease.MaxNumber).Draw(t, "token")})
		}
		if got := parseHeld(formatHeld(held)); !slices.Equal(got, held) {
			t.Fatalf("%v became %v", held, got)
		}
	})
}

func TestEnvironmentReplacesAndNests(t *testing.T) {
	t.Setenv("LEASE_KEYS", "outer=5 task:42=1")
	t.Setenv("LEASE_TOKEN", "99")
	t.Setenv("LEASE_TOKENS", "not ours")
	t.Setenv("LEASE_TICKET", "7")
	env := environment("/ledger", []fslease.Record{
		{Key: "task:42", Generation: 3, Holder: fslease.Holder{Kind: fslease.KindProcess, ID: "abc"}},
		{Key: "with space", Generation: 1},
	})
	for name, want := range map[string]string{
		"LEASE_LEDGER": "/ledger", "LEASE_KEY": "task:42", "LEASE_TOKEN": "3", "LEASE_HOLDER": "abc",
		"LEASE_KEYS":   "outer=5 task:42=3 with%20space=1",
		"LEASE_TOKENS": "not ours", "LEASE_TICKET": "7",
	} {
		var got []string
		for _, v := range env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				got = append(got, value)
			}
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%s is %q, want %q once", name, got, want)
		}
	}
}
