package ledgerfs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"fslease/fslease"
)

// The folders of a ledger. All paths in this package are relative to the ledger and slash-separated.
const (
	configFile    = "ledger.json"
	configLock    = "ledger.lock"
	readmeFile    = "README"
	leasesDir     = "leases"
	tombstonesDir = "tombstones"
	ticketsDir    = "tickets"
	sessionsDir   = "sessions"
	activeDir     = "active"
	queueDir      = "queue"
	holdersDir    = "holders"
	orphansDir    = "orphans"
	sightingsDir  = "sightings"
	locksDir      = "locks"
	journalDir    = "journal"
)

// commandSuffix ends the name of a note of a command, beside its holder's liveness file.
const commandSuffix = ".command.json"

// maxEncoded is the length of the longest encoded segment that stands as it is.
const maxEncoded = 120

// encodeKey maps a key to a path below a folder. It is injective: letters, digits and _ : @ + = , . -
// stand for themselves, every other byte is %XX, and so are the dots that could make a segment hidden or
// look like one of our endings. An overlong segment ends in the hash of what it was.
func encodeKey(k fslease.Key) string {
	segs := k.Segments()
	for i, s := range segs {
		segs[i] = encodeSegment(s)
	}
	return path.Join(segs...)
}

func encodeSegment(s string) string {
	special := -1 // the last dot of an ending of ours
	for _, end := range []string{".json", ".lock", ".fence"} {
		if strings.HasSuffix(s, end) {
			special = len(s) - len(end)
		}
	}
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '.' && (i == 0 || i == special), !plain(c):
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	if b.Len() <= maxEncoded {
		return b.String()
	}
	sum := sha256.Sum256([]byte(s))
	return b.String()[:64] + "~" + hex.EncodeToString(sum[:])
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_:@+=,.-", c) >= 0
}

func leasePath(k fslease.Key) string     { return leasesDir + "/" + encodeKey(k) + ".json" }
func tombstonePath(k fslease.Key) string { return tombstonesDir + "/" + encodeKey(k) + ".json" }
func sightingPath(k fslease.Key) string  { return sightingsDir + "/" + encodeKey(k) + ".json" }
func lockPath(k fslease.Key) string      { return locksDir + "/" + encodeKey(k) + ".lock" }
func fencePath(k fslease.Key) string     { return locksDir + "/" + encodeKey(k) + ".fence" }
func queuePath(k fslease.Key) string     { return queueDir + "/" + encodeKey(k) }
func placePath(p fslease.Place) string {
	return fmt.Sprintf("%s/%06d.json", queuePath(p.Key), p.Number)
}

// turnSuffix ends the name of the mark beside a queue entry. With a ~ in it no short segment of a key looks
// like that: the folder of the queue of KEY/000012.turn would stand in its place.
const turnSuffix = "~turn"

func turnPath(p fslease.Place) string {
	return fmt.Sprintf("%s/%06d%s", queuePath(p.Key), p.Number, turnSuffix)
}
func holderPath(id string) string  { return holdersDir + "/" + id + ".json" }
func commandPath(id string) string { return holdersDir + "/" + id + commandSuffix }
func orphanPath(id string) string  { return orphansDir + "/" + id + ".json" }
func ticketPath(id string) string  { return ticketsDir + "/" + encodeSegment(id) + ".json" }
func activePath(id string) string  { return activeDir + "/" + encodeSegment(id) }
func sessionPath(id string, gen int64) string {
	return fmt.Sprintf("%s/%s/%d.json", sessionsDir, encodeSegment(id), gen)
}

// tempPath is where a file is written before it gets its name. Who writes it holds the lock under which
// the file changes, so that one that stands there is what a crash left.
func tempPath(p string) string {
	dir, base := path.Split(p)
	return dir + "." + base + ".tmp"
}
