package history

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"fslease/internal/torture/kit"
)

// strangers lets a hand remove the record of a lease, so that somebody else is given the same generation of the same key before
// the holder renews. The holder must not take the other's lease for its own.
func strangers(t *kit.T, witness *kit.Witness) {
	inTime(t, "a holder that meets another of its generation", func(int) bool { return meet(t, witness) })
}

// inTime tries a scene again whose timing did not fit, and gives up on a machine on which it never does. The scene is
// told how often it was tried, to take its time.
func inTime(t *kit.T, name string, scene func(tried int) bool) bool {
	for tried := range 20 {
		if t.Ended() || scene(tried) {
			return true
		}
	}
	t.NotRun("%s: needs a machine that is less busy", name)
	return false
}

// meet reports whether the two were given the same generation: the holder may renew first, and leave a tombstone.
func meet(t *kit.T, witness *kit.Witness) bool {
	l := t.Ledger()
	defer l.Close()
	witness = witness.On(l)
	record := filepath.Join(l.Dir, "leases", "k.json")
	first := l.Start(append([]string{"run", "--heartbeat", "1s", "--ttl", "1m", "k", "--"}, witness.Command("first", time.Minute)...)...)
	if !l.Until("the first command runs", func() bool { return len(witness.Log()) == 1 }) {
		return false
	}
	_ = os.Remove(record)
	second := l.Start(append([]string{"run", "-q", "k", "--"}, witness.Command("second", 0)...)...)
	var theirs, now lease
	if !l.Until("the second has a lease", func() bool { return theirs.read(record) }) || theirs.Generation != 1 {
		return false
	}
	told := l.Until("the first renews, or is told that it cannot", func() bool {
		return ended(first) || now.read(record) && now.Holder.ID == theirs.Holder.ID && now.Revision > theirs.Revision
	})
	if !told {
		return false
	}
	if !ended(first) {
		t.Violate("generation 1 of a key was given to a second process after a hand had removed the record, and the first renewed the other's lease, to revision %d", now.Revision)
		return true
	}
	if got := first.Wait(); got.Code != 76 {
		t.Violate("the first of two holders of generation 1, whose record a hand had removed, was not told: %s", got)
	}
	if got := second.Wait(); got.Code != 0 || len(witness.Log()) != 2 {
		t.Violate("the second of two holders of generation 1 did not get its turn: %s", got)
	}
	return true
}

func ended(p *kit.Process) bool {
	select {
	case <-p.Ended():
		return true
	default:
		return false
	}
}

// A lease is what is read of a record.
type lease struct {
	Generation, Revision int64
	Holder               struct{ ID string }
}

func (l *lease) read(name string) bool {
	raw, err := os.ReadFile(name)
	return err == nil && json.Unmarshal(raw, l) == nil
}

// removed lets a hand remove a lock file when one acquire has read the record under it and not written yet, and lets another one
// come. Only one of the two may be given the key. The first is held up for some seconds by the way it looks for a folder.
func removed(t *kit.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.NotRun("lock files removed in mid-change: needs strace")
		return
	}
	for range t.Scale(20) {
		if t.Ended() || !inTime(t, "lock files removed in mid-change", func(tried int) bool { return removeOnce(t, 2+tried) }) {
			return
		}
		t.Made(removals, 1)
	}
}

// removeOnce holds the first up for some seconds. It is false if the other acquire came too late.
func removeOnce(t *kit.T, seconds int) bool {
	l := t.Ledger()
	defer l.Close()
	lock := filepath.Join(l.Dir, "locks", "k.lock")
	if got := l.Run("run", "k", "--", "true"); got.Code != 0 {
		t.Violate("nobody holds anything: %s", got)
		return true
	}
	slowly := l.In("strace", "-f", "-qqq", "-o", "/dev/null", "-P", "tombstones", "-e", "trace=newfstatat", "-e", fmt.Sprintf("inject=newfstatat:delay_enter=%ds", seconds))
	first := slowly.Start("acquire", "--wait", "1s", "--ttl", "1h", "k") // with -n it would have the fence by then
	if !l.Until("the first has the lock", func() bool { return ended(first) || isLocked(lock) }) {
		return true
	}
	locked := kit.Mono()
	time.Sleep(500 * time.Millisecond) // it reads
	_ = os.Remove(lock)
	second := l.Run("acquire", "-n", "--ttl", "1h", "k")
	late := time.Duration(kit.Mono()-locked) > time.Duration(seconds)*time.Second-500*time.Millisecond || second.Code != 0
	if got := first.Wait(); !late && got.Code != 75 {
		t.Violate("a hand removed a lock file while one acquire worked under it; a second was given generation %s, and then the first: %s", second.Stdout, got)
	}
	return !late
}

// isLocked reports whether somebody has a lock file exclusively.
func isLocked(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}
