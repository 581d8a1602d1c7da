package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// tokenOf acquires a key, gives it back, and returns the generation that it had.
func tokenOf(t *testing.T, l *Ledger, key string) int64 {
	t.Helper()
	token := strings.TrimSpace(l.Run("acquire", "-n", "--ttl", "1h", key).Want(t, 0).Stdout)
	l.Run("release", key, "--token", token).Want(t, 0)
	n, err := strconv.ParseInt(token, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Keys that were used once come down to nothing, by default after thirty days, and their generations go on.
func TestGC(t *testing.T) {
	t.Parallel()
	l := made(t)
	keys := []string{"one", "repo/api", "repo/api/v2", "%odd/näme"}
	before := map[string]int64{}
	for _, key := range keys {
		before[key] = tokenOf(t, l, key)
	}
	l.Run("acquire", "--ttl", "1h", "held").Want(t, 0)

	if r := l.Run("gc").Want(t, 0); r.Stdout != "there is nothing to remove\n" {
		t.Errorf("%v", r)
	}
	all := everything(t, l.Dir)
	dry := l.Run("gc", "--older-than", "0s", "--dry-run").Want(t, 0)
	if !strings.HasPrefix(dry.Stdout, "would remove 4 tombstones, ") {
		t.Errorf("%v", dry)
	}
	if now := everything(t, l.Dir); len(now) != len(all) {
		t.Errorf("a dry run changed\n%v to\n%v", all, now)
	}
	r := l.Run("gc", "--older-than", "0s").Want(t, 0)
	if strings.TrimPrefix(r.Stdout, "removed ") != strings.TrimPrefix(dry.Stdout, "would remove ") {
		t.Errorf("%v\n%v", dry, r)
	}
	for path := range everything(t, l.Dir) {
		if dir, _, _ := strings.Cut(path, "/"); (dir == "tombstones" || dir == "leases" || dir == "locks") && strings.Contains(path, "/") && !strings.Contains(path, "/held.") {
			t.Errorf("%s is left", path)
		}
	}
	l.Run("check", "held", "--token", "1").Want(t, 0)
	for _, key := range keys {
		if now := tokenOf(t, l, key); now <= before[key] {
			t.Errorf("%s had generation %d and got %d", key, before[key], now)
		}
	}
	if r := l.Run("gc", "--older-than", "0s", "--json").Want(t, 0); parseRecord(t, "stdout", []byte(r.Stdout)).Int("tombstones") != 4 {
		t.Errorf("%v", r)
	}
	for _, args := range [][]string{{"gc", "--older-than", "30"}, {"gc", "word"}, {"gc", "--older-than"}} {
		l.Run(args...).Want(t, 64)
	}
}

// What nobody can be told to have ended is left: a lease, and the liveness file of its dead holder.
func TestGCLeavesProofs(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	p := l.Start("run", "k", "--", "sh", "-c", "echo $$ >pid; exec sleep 600")
	l.End(l.UntilPid("pid"))
	p.Wait()
	p = l.Start("run", "k", "--", "sh", "-c", "echo yes >started; exec sleep 600")
	l.UntilFile("started")
	p.Kill()
	l.Run("gc", "--older-than", "0s").Want(t, 0)
	files, err := filepath.Glob(filepath.Join(l.Dir, "holders", "*.json"))
	if err != nil || len(files) == 0 || l.Lease("k") == nil {
		t.Fatalf("left are %v, %v", files, err)
	}
	if r := l.Run("show", "--json", "k").Want(t, 0); !strings.Contains(r.Stdout, `"verdict":"dead"`) {
		t.Errorf("%v", r)
	}
	if _, err := os.Stat(filepath.Join(l.Dir, "locks", "k.fence")); err != nil {
		t.Errorf("the fence that the command keeps: %v", err)
	}
}
