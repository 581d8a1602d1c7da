package fuzz

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"fslease/internal/torture/kit"
)

// atoms are what keys are made of here: what the path of a key treats in a way of its own, as it is and as it is
// written there.
var atoms = []string{
	"a", "b", "A", "%", "%2F", "%2E", "%20", "%C3%A9", ".", "..a", ".json", ".lock", ".fence", ".tmp", ".turn", "~", " ", "é", "\\", "\"", "'",
	"-", "000001", "000001.json", "=", "==", ":", "日本", "\u202e", "\xc2\xad", "$HOME", "*", "x.json.tmp",
	strings.Repeat("l", 113), strings.Repeat("l", 120), strings.Repeat("l", 121), strings.Repeat("é", 20), strings.Repeat("é", 21),
	strings.Repeat("l", 64) + "~" + strings.Repeat("0", 64),
}

// keys takes many keys at once, made of the same few pieces, so that two that shared a file would meet. All are had, at
// their first generation, and all are listed, as they were given. It returns how many they were.
func keys(t *kit.T) (n int) {
	l := t.Ledger()
	defer l.Close()
	some := make([]string, 4)
	for i := range some {
		some[i] = atoms[t.IntN(len(atoms))]
	}
	segment := func() string {
		var b strings.Builder
		for range 1 + t.IntN(3) {
			b.WriteString(some[t.IntN(len(some))])
		}
		return b.String()
	}
	asked := map[string]bool{}
	for range 40 {
		key := segment()
		for t.IntN(3) == 0 {
			key += "/" + segment()
		}
		if valid(key) && !slices.ContainsFunc(slices.Collect(maps.Keys(asked)), func(other string) bool { return overlap(key, other) }) {
			asked[key] = true
		}
	}
	if len(asked) == 0 {
		return 0
	}
	list := slices.Sorted(maps.Keys(asked))
	t.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	first := 1 + t.IntN(len(list))
	for _, some := range [][]string{list[:first], list[first:]} {
		if len(some) == 0 {
			continue
		}
		r := l.Run(append([]string{"acquire", "-n", "--ttl", "1h", "--"}, some...)...)
		if r.Code != 0 || strings.Count("\n"+r.Stdout, "\n1") != len(some) {
			t.Violate("%d keys that do not overlap cannot be had: %q\n%v", len(some), some, r)
			return 0
		}
	}
	r := l.Run("ls", "--json")
	listed := map[string]bool{}
	for line := range strings.Lines(r.Stdout) {
		var rec struct{ Key string }
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Violate("ls --json answers with %q: %v", line, err)
		}
		listed[rec.Key] = true
	}
	if r.Code != 0 || !maps.Equal(listed, asked) {
		t.Violate("of the keys %q are listed %q\n%v", list, slices.Sorted(maps.Keys(listed)), r)
	}
	t.Made("keys", len(list))
	return len(list)
}

// valid is what the words about keys say, in a few words.
func valid(key string) bool {
	for seg := range strings.SplitSeq(key, "/") {
		if seg == "" || seg == "." || seg == ".." {
			return false
		}
	}
	return len(key) <= 1024
}

func overlap(a, b string) bool {
	return strings.HasPrefix(a+"/", b+"/") || strings.HasPrefix(b+"/", a+"/")
}
