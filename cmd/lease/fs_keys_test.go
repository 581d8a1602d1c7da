package main_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filePath is the path of a key as it is documented, written down a second time.
func filePath(key string) string {
	var segments []string
	for _, raw := range strings.Split(key, "/") {
		var b strings.Builder
		last := -1
		for _, ending := range []string{".json", ".lock", ".fence"} {
			if strings.HasSuffix(raw, ending) {
				last = len(raw) - len(ending)
			}
		}
		for i := range len(raw) {
			c := raw[i]
			plain := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("_:@+=,.-", c) >= 0
			if !plain || c == '.' && (i == 0 || i == last) {
				fmt.Fprintf(&b, "%%%02X", c)
			} else {
				b.WriteByte(c)
			}
		}
		s := b.String()
		if len(s) > 120 {
			s = fmt.Sprintf("%s~%x", s[:64], sha256.Sum256([]byte(raw)))
		}
		segments = append(segments, s)
	}
	return filepath.Join(segments...)
}

// goodKeys may all be held at once: no two overlap, and each has a file of its own.
func goodKeys() []string {
	keys := []string{
		"k", "task:42", "deep/down/there",
		"A", "a", // case counts
		"x/b", "x_b", "x%2Fb", "x%b", "x-b", "x=b,c+d@e",
		"caf\u00e9", "cafe\u0301", // composed and decomposed look the same and are not
		"x.json", "x.lock", "x.fence", "x.json.json", ".json", "json", "y.json/z",
		".hidden", "..hidden", "...", "z../y", "dir.lock/x", "~", "%", "%41", "*", "?", "$HOME", "a;b", `a"b`, "a'b", `a\b`, "`id`", "#", "!",
		"with space", " lead", "trail ", "\U0001F512/\U0001F680", "日本語", "\u202eabc", "a\u200bb", "a|b", "a&b", "CON", "nul",
		strings.TrimSuffix(strings.Repeat("s/", 512), "/") + "s", // 1,024 bytes in 512 segments
		"u" + strings.Repeat("\u00e9", 511) + "u",                // 1,024 bytes, three times as many when encoded
		"m/" + strings.TrimSuffix(strings.Repeat("\u00e9\u00e9\u00e9/", 146), "/"),
	}
	for n := 119; n <= 300; n++ { // around the longest file names, and the segments that are cut
		if n < 125 || n > 250 && n < 260 || n%60 == 0 || n == 300 {
			keys = append(keys, strings.Repeat("l", n), fmt.Sprintf("l/%d%s", n, strings.Repeat("\u00e9", n/2)))
		}
	}
	// Two long segments that differ at the end only.
	keys = append(keys, strings.Repeat("t", 199)+"1", strings.Repeat("t", 199)+"2")
	return keys
}

// Every key has a file of its own, where it is documented to be, and reads back as the same key.
func TestKeysHaveFilesOfTheirOwn(t *testing.T) {
	t.Parallel()
	l := made(t)
	files := map[string]string{}
	for _, key := range goodKeys() {
		if r := l.Run("acquire", "-n", "--ttl", "1h", key); r.Code != 0 || strings.TrimSpace(r.Stdout) != "1" {
			t.Errorf("%.80q: want generation 1\n%v", key, r)
			continue
		}
		path := "leases/" + filePath(key) + ".json"
		if before, ok := files[path]; ok {
			t.Fatalf("%q and %q have one file: %s", before, key, path)
		}
		files[path] = key
		rec := l.Record(path)
		if rec == nil {
			t.Errorf("%.80q is not at %s", key, path)
			continue
		}
		if rec.Str("key") != key {
			t.Errorf("%s is for %q, want %q", path, rec.Str("key"), key)
		}
		r := l.Run("show", "--json", key).Want(t, 0)
		if got := parseRecord(t, "show", []byte(r.Stdout)).Str("key"); got != key {
			t.Errorf("show %q is about %q", key, got)
		}
		l.Run("check", key, "--token", "1").Want(t, 0)
	}

	listed := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(l.Run("ls", "--json").Want(t, 0).Stdout), "\n") {
		listed[parseRecord(t, "ls", []byte(line)).Str("key")] = true
	}
	for _, key := range files {
		if !listed[key] {
			t.Errorf("ls does not list %.80q", key)
		}
	}
	if len(listed) != len(files) {
		t.Errorf("ls lists %d keys, want %d", len(listed), len(files))
	}

	for path, key := range files {
		l.Run("release", key, "--token", "1").Want(t, 0)
		if l.Record(path) != nil || l.Record("tombstones/"+filePath(key)+".json") == nil {
			t.Errorf("%.80q is not released", key)
		}
	}
}

// What is no key is refused before any file is touched.
func TestNotAKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"", ".", "..", "/", "//", "/a", "a/", "a//b", "a/./b", "a/../b", "../a", "./a", "a/..", "..//",
		"a\nb", "a\tb", "\x1b[31m", "a\x7f", "a\u0085b", "\r", "\x01",
		"\xff", "a\xc3", "\xed\xa0\x80", "a/\xf0\x9f\x98",
		strings.Repeat("l", 1025), strings.TrimSuffix(strings.Repeat("s/", 513), "/"), strings.Repeat("\u00e9", 513),
	} {
		l := NewLedger(t)
		for code, commands := range map[int][][]string{
			64: {
				{"acquire", "-n", "--ttl", "1h", key},
				{"acquire", "-n", "--ttl", "1h", "good", key},
				{"release", key, "--token", "1"},
				{"check", key},
				{"show", key},
			},
			125: {{"run", "-n", key, "--", "touch", "ran"}, {"run", "-n", "good", key, "--", "touch", "ran"}, {"fenced", key, "--token", "1", "--", "touch", "ran"}},
		} {
			for _, args := range commands {
				r := l.Run(args...)
				if r.Code != code || r.Stdout != "" {
					t.Errorf("key %.40q: want exit %d and nothing on stdout\n%v", key, code, r)
				}
				oneClearLine(t, r)
			}
		}
		if _, err := os.Lstat(l.Dir); err == nil {
			t.Errorf("key %.40q: the ledger was touched", key)
		}
		if l.File("ran") != "" {
			t.Errorf("key %.40q: the command was started", key)
		}
	}
}

// A key that looks like an option is one after all options are over, or is refused with a hint: it is never taken for something else.
func TestKeyWithLeadingDash(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"acquire", "-n", "--ttl", "1h", "-dash"},
		{"acquire", "-n", "--ttl", "1h", "--", "-dash"},
		{"check", "-dash"},
		{"run", "-n", "-dash", "--", "true"},
	} {
		l := NewLedger(t)
		r := l.Run(args...)
		switch _, err := os.Stat(filepath.Join(l.Dir, "leases", "-dash.json")); {
		case r.Code == 64 || r.Code == 125:
			r.Says(t, "lease: hint: ")
		case args[0] == "acquire" && (r.Code != 0 || err != nil):
			t.Errorf("want the key -dash or a hint: %v\n%v", err, r)
		}
	}
}
