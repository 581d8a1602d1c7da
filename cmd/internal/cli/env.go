package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fslease/fslease"
)

// A heldKey is one key of LEASE_KEYS with its token.
type heldKey struct {
	key   fslease.Key
	token int64
}

// parseHeld reads LEASE_KEYS, such as "task:42=7 repo/api=3". What is not of that form is left out: it
// names no lease.
func parseHeld(s string) []heldKey {
	var held []heldKey
	for word := range strings.SplitSeq(s, " ") {
		i := strings.LastIndexByte(word, '=')
		if i < 0 {
			continue
		}
		key, err := fslease.ParseKey(decodeSpaces.Replace(word[:i]))
		token, err2 := strconv.ParseInt(word[i+1:], 10, 64)
		if err == nil && err2 == nil && token > 0 {
			held = append(held, heldKey{key, token})
		}
	}
	return held
}

func formatHeld(held []heldKey) string {
	words := make([]string, len(held))
	for i, h := range held {
		words[i] = encodeSpaces.Replace(string(h.key)) + "=" + strconv.FormatInt(h.token, 10)
	}
	return strings.Join(words, " ")
}

// A space in a key is %20. A %20 or %25 that stands in the key itself has its % written as %25, so that
// every key comes back as it was, and all others look as they are.
var (
	encodeSpaces = strings.NewReplacer(" ", "%20", "%20", "%2520", "%25", "%2525")
	decodeSpaces = strings.NewReplacer("%20", " ", "%25", "%")
)

// forgetOthers removes what the environment says of leases of another ledger than the one at path: tokens are small
// numbers, and keys have common names. LEASE_LEDGER does not say whose they are: by that a command inside is told which ledger
// to work on. What somebody has set by hand stays: keys without a ledger, a token that is none of the keys', a ticket that is none of them.
func forgetOthers(path string) {
	around := os.Getenv("LEASE_KEYS_LEDGER")
	if around == "" || !differ(around, path) {
		return
	}
	names, tokens := []string{"LEASE_KEYS", "LEASE_KEYS_LEDGER"}, under()
	token, err := strconv.ParseInt(os.Getenv("LEASE_TOKEN"), 10, 64)
	theirs := err == nil && tokens[fslease.Key(os.Getenv("LEASE_KEY"))] == token
	if ticket := os.Getenv("LEASE_TICKET"); ticket != "" {
		_, named := tokens[fslease.TicketKey(ticket)]
		theirs = theirs && named
	}
	if theirs {
		names = append(names, "LEASE_KEY", "LEASE_TOKEN", "LEASE_HOLDER", "LEASE_TICKET")
	}
	for _, name := range names {
		_ = os.Unsetenv(name) // cannot fail with these names
	}
}

// differ reports whether two paths are certainly not the same folder. One that is not there may have another name here, in a container.
func differ(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return false
	}
	first, err := os.Stat(a)
	second, err2 := os.Stat(b)
	return err == nil && (errors.Is(err2, fs.ErrNotExist) || err2 == nil && !os.SameFile(first, second))
}

// heldHere returns the leases that this process runs under, as its environment names them.
func heldHere() []heldKey { return parseHeld(os.Getenv("LEASE_KEYS")) }

// under is heldHere by key.
func under() map[fslease.Key]int64 {
	tokens := map[fslease.Key]int64{}
	for _, h := range heldHere() {
		tokens[h.key] = h.token
	}
	return tokens
}

// environment returns this process's environment for a command that runs under records of the ledger at
// path. Its own variables replace those that were inherited; the keys stand after those around them. On a
// ticket's key the ticket's token is among them too.
func environment(path string, records []fslease.Record) []string {
	held := heldHere()
	first := records[0]
	if first.Holder.IsTicket() {
		held = hold(held, fslease.TicketKey(first.Holder.Ticket), first.Holder.Session)
	}
	for _, rec := range records {
		held = hold(held, rec.Key, rec.Generation)
	}
	own := []string{
		"LEASE_LEDGER=" + path,
		"LEASE_KEY=" + string(first.Key),
		"LEASE_TOKEN=" + strconv.FormatInt(first.Generation, 10),
		"LEASE_KEYS=" + formatHeld(held),
		"LEASE_KEYS_LEDGER=" + path,
	}
	if first.Holder.IsTicket() {
		own = append(own, "LEASE_TICKET="+first.Holder.Ticket)
	} else {
		own = append(own, "LEASE_HOLDER="+first.Holder.ID)
	}
	return slices.Concat(without(os.Environ(), own), own)
}

// hold adds a key, which replaces the one of that name.
func hold(held []heldKey, key fslease.Key, token int64) []heldKey {
	held = slices.DeleteFunc(held, func(h heldKey) bool { return h.key == key })
	return append(held, heldKey{key, token})
}

// without returns env less the variables that own sets.
func without(env, own []string) []string {
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	})
}
