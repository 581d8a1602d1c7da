package main_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// refusesToken checks that a token is refused wherever one is asked for, and that check says 1, never 76.
func refusesToken(t *testing.T, l *Ledger, key string, token int) {
	t.Helper()
	n := strconv.Itoa(token)
	l.Run("renew", key, "--token", n).Want(t, 76)
	l.Run("release", key, "--token", n).Want(t, 76)
	l.Run("check", key, "--token", n).Want(t, 1)
	l.Run("fenced", key, "--token", n, "--", "sh", "-c", "echo ran >fenced-ran").Want(t, 76)
	if l.File("fenced-ran") != "" {
		t.Fatalf("fenced started work under the old token %d", token)
	}
}

// wantGrant checks that acquire printed this generation and nothing else.
func wantGrant(t *testing.T, r Result, generation string) {
	t.Helper()
	if r.Want(t, 0); r.Stdout != generation+"\n" {
		t.Fatalf("want generation %s\n%v", generation, r)
	}
}

// The generation grows on each acquisition, however the key was given up, and an old token is worth nothing.
func TestGenerationGrowsAndOldTokensAreRefused(t *testing.T) {
	l := NewLedger(t)
	const key = "task:42"

	wantGrant(t, l.Run("acquire", "-n", "--ttl", "300s", key), "1")
	l.Run("check", key, "--token", "1").Want(t, 0)
	l.Run("renew", key, "--token", "1").Want(t, 0)
	l.Run("release", key, "--token", "1").Want(t, 0)
	refusesToken(t, l, key, 1) // a second release with the same token included

	// By release and re-acquisition; this holder is a process that then dies.
	holder := l.StartSh(`echo $$ >holder; exec sleep 300`)
	wantGrant(t, l.Run("acquire", "-n", "--pid", strconv.Itoa(l.UntilPid("holder")), key), "2")
	refusesToken(t, l, key, 1)
	l.Run("check", key, "--token", "2").Want(t, 0)

	// By takeover.
	holder.Kill()
	l.Run("check", key, "--token", "2").Want(t, 1)
	r := l.Run("run", "-n", key, "--", "sh", "-c", "echo $LEASE_TOKEN; lease check "+key+" --token 3").Want(t, 0)
	if strings.TrimSpace(r.Stdout) != "3" {
		t.Fatalf("want token 3 in the command's environment\n%v", r)
	}
	refusesToken(t, l, key, 2)
	refusesToken(t, l, key, 3) // run has released it

	// Over reopening: the ledger is a directory, and elsewhere it goes on where it was.
	moved := l.Dir + "-moved"
	if err := os.Rename(l.Dir, moved); err != nil {
		t.Fatal(err)
	}
	elsewhere := l.Env("LEASE_LEDGER=" + moved)
	wantGrant(t, elsewhere.Run("acquire", "-n", "--ttl", "300s", key), "4")
	for token := 1; token <= 3; token++ {
		refusesToken(t, elsewhere, key, token)
	}
	elsewhere.Run("check", key, "--token", "4").Want(t, 0)
}

// A key that was given up is in tombstones, with its generation; leases has it only while somebody holds it.
func TestReleasedKeyLeavesATombstone(t *testing.T) {
	l := NewLedger(t)
	l.Run("run", "k", "--", "sh", "-c", `test -e "$LEASE_LEDGER/leases/k.json" || exit 9`).Want(t, 0)
	if l.Lease("k") != nil {
		t.Fatal("leases/k.json is there after the end of run")
	}
	tomb := l.Record("tombstones/k.json")
	if tomb.Int("generation") != 1 || tomb.Str("reason") != "released" {
		t.Fatalf("tombstone: %v", tomb)
	}
}
