package fslease

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxKeyBytes is the length of the longest key, in bytes.
const MaxKeyBytes = 1024

// TicketPrefix starts the keys that stand for tickets: the ticket 42 is the key ticket:42.
const TicketPrefix = "ticket:"

// A Key names what is leased: slash-separated segments such as task:42 or repo/api.
// A key covers itself and everything below it. Make one with ParseKey.
type Key string

// ParseKey checks s and returns it as a Key. A key has 1 to MaxKeyBytes bytes of UTF-8, no empty,
// "." or ".." segment, no control characters and no slash at either end. Anything else is a *ConfigError;
// two keys that differ in any byte stay different, nothing is normalized.
func ParseKey(s string) (Key, error) {
	bad := func(format string, args ...any) (Key, error) {
		return "", &ConfigError{What: "key " + fmt.Sprintf("%.60q", s) + " " + fmt.Sprintf(format, args...), Hint: "a key is slash-separated segments, such as task:42 or repo/api"}
	}
	switch {
	case s == "":
		return bad("is empty")
	case len(s) > MaxKeyBytes:
		return bad("has %d bytes, more than %d", len(s), MaxKeyBytes)
	case !utf8.ValidString(s):
		return bad("is not UTF-8")
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return bad("contains the control character %U", r)
		}
	}
	for seg := range strings.SplitSeq(s, "/") {
		switch seg {
		case "":
			return bad("has an empty segment: a slash at an end, or two together")
		case ".", "..":
			return bad("has the segment %q", seg)
		}
	}
	return Key(s), nil
}

// ParseKeys parses each of names with ParseKey and keeps their order.
func ParseKeys(names ...string) ([]Key, error) {
	keys := make([]Key, len(names))
	for i, name := range names {
		k, err := ParseKey(name)
		if err != nil {
			return nil, err
		}
		keys[i] = k
	}
	return keys, nil
}

// Segments returns the parts of k between slashes.
func (k Key) Segments() []string { return strings.Split(string(k), "/") }

// Covers reports whether k is other or one of its ancestors: repo covers repo/api, not repository.
func (k Key) Covers(other Key) bool {
	return k == other || len(other) > len(k) && other[len(k)] == '/' && other[:len(k)] == k
}

// Overlaps reports whether one of the two keys covers the other.
func (k Key) Overlaps(other Key) bool { return k.Covers(other) || other.Covers(k) }

// OverlapsAny reports whether k overlaps one of keys.
func (k Key) OverlapsAny(keys []Key) bool { return slices.ContainsFunc(keys, k.Overlaps) }

// Ancestors returns the keys above k, the root first.
func (k Key) Ancestors() []Key {
	var up []Key
	for i := range len(k) {
		if k[i] == '/' {
			up = append(up, k[:i])
		}
	}
	return up
}

// Ticket returns the id of the ticket that k stands for.
func (k Key) Ticket() (id string, ok bool) {
	return strings.CutPrefix(string(k), TicketPrefix)
}

// TicketKey returns the key that stands for the ticket id.
func TicketKey(id string) Key { return Key(TicketPrefix + id) }

// CompareKeys orders keys by their segments, one by one, an ancestor before what is below it.
// Everybody who takes the locks of several keys takes them in this order. (Plain string order
// deadlocks: a-b sorts before a/b, and a/b is reached through a.)
func CompareKeys(a, b Key) int {
	x, y := string(a), string(b)
	for {
		s, restX, moreX := strings.Cut(x, "/")
		t, restY, moreY := strings.Cut(y, "/")
		if c := cmp.Compare(s, t); c != 0 {
			return c
		}
		switch {
		case !moreX && !moreY:
			return 0
		case !moreX:
			return -1
		case !moreY:
			return 1
		}
		x, y = restX, restY
	}
}

// FoldKeys drops every key that another one of the list covers, duplicates included, and keeps the
// order of the rest. What is left are the keys that a request really takes.
func FoldKeys(keys []Key) []Key {
	var kept []Key
	for i, k := range keys {
		covered := func(j int, other Key) bool { return j != i && other.Covers(k) && (other != k || j < i) }
		if !anyKey(keys, covered) {
			kept = append(kept, k)
		}
	}
	return kept
}

func anyKey(keys []Key, f func(int, Key) bool) bool {
	for i, k := range keys {
		if f(i, k) {
			return true
		}
	}
	return false
}

// A KeyLock says how one key is locked for a request: exclusively, or shared as an ancestor.
type KeyLock struct {
	Key       Key
	Exclusive bool
}

// LockPlan returns the locks of keys and all their ancestors, each once and in its strongest mode, in
// the order in which they must be taken.
func LockPlan(keys []Key) []KeyLock {
	mode := make(map[Key]bool, 2*len(keys))
	for _, k := range keys {
		for _, a := range k.Ancestors() {
			if !mode[a] {
				mode[a] = false
			}
		}
		mode[k] = true
	}
	plan := make([]KeyLock, 0, len(mode))
	for k, exclusive := range mode {
		plan = append(plan, KeyLock{k, exclusive})
	}
	slices.SortFunc(plan, func(a, b KeyLock) int { return CompareKeys(a.Key, b.Key) })
	return plan
}

// Within reports whether k lies under prefix, by segments; every key lies under the empty prefix.
func (k Key) Within(prefix Key) bool { return prefix == "" || prefix.Covers(k) }
