package githook

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"fslease/fslease"
)

// DefaultPrefix is the first segment of a file's key where git's lease.prefix says nothing.
const DefaultPrefix fslease.Key = "repo"

// Prefix returns what stands before a path in its key: git's lease.prefix. A value that is no key is a
// *fslease.ConfigError.
func (r Repo) Prefix(ctx context.Context) (fslease.Key, error) {
	value, set, err := r.config(ctx, "lease.prefix")
	if err != nil || !set {
		return DefaultPrefix, err
	}
	prefix, err := fslease.ParseKey(value)
	if err != nil {
		return "", fmt.Errorf("git config lease.prefix: %w", err)
	}
	return prefix, nil
}

// KeyOf returns the key of a path as git names it. It is escaped where a key cannot have the path's
// bytes, and it may be longer than fslease.MaxKeyBytes: nobody can reserve just that path then, but a
// directory above it.
func KeyOf(prefix fslease.Key, path string) fslease.Key {
	return prefix + "/" + fslease.Key(Escape(path))
}

// Escape writes bytes that are not UTF-8, and control characters, as \xNN. Everything else stands as it
// is, the backslash too: a file that is really called \xff has the key of the byte. So two files may
// share a key, but none is without.
func Escape(path string) string {
	var b strings.Builder
	for len(path) > 0 {
		char, size := utf8.DecodeRuneInString(path)
		if char == utf8.RuneError && size == 1 || unicode.IsControl(char) {
			for i := range size {
				fmt.Fprintf(&b, `\x%02x`, path[i])
			}
		} else {
			b.WriteString(path[:size])
		}
		path = path[size:]
	}
	return b.String()
}

// An overlap finds which of many keys overlap a key, in a time that depends on neither's number.
type overlap struct {
	at    map[fslease.Key][]int // the places of the key in the list
	below map[fslease.Key][]int // the places of keys below it
}

func overlapOf(keys []fslease.Key) overlap {
	o := overlap{at: make(map[fslease.Key][]int, len(keys)), below: make(map[fslease.Key][]int)}
	for i, k := range keys {
		o.at[k] = append(o.at[k], i)
		for _, up := range k.Ancestors() {
			o.below[up] = append(o.below[up], i)
		}
	}
	return o
}

// each calls visit with the place of each key that overlaps k.
func (o overlap) each(k fslease.Key, visit func(int)) {
	for _, found := range [...][]int{o.at[k], o.below[k]} {
		for _, i := range found {
			visit(i)
		}
	}
	for end := range len(k) {
		if k[end] == '/' {
			for _, i := range o.at[k[:end]] {
				visit(i)
			}
		}
	}
}

// any reports whether one of the keys overlaps k.
func (o overlap) any(k fslease.Key) bool {
	found := false
	o.each(k, func(int) { found = true })
	return found
}
