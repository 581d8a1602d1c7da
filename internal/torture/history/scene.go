package history

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"fslease/internal/torture/kit"
)

// strangers lets a hand remove the record of a lease while its holder sleeps, so that somebody else is given the same generation
// of the same key. The holder must not take the other's lease for its own when it wakes.
func strangers(t *kit.T, witness *kit.Witness) {
	l := t.Ledger()
	defer l.Close()
	witness = witness.On(l)
	record := filepath.Join(l.Dir, "leases", "k.json")
	first := l.Start(append([]string{"run", "--heartbeat", "50ms", "--ttl", "1m", "k", "--"}, witness.Command("first", time.Minute)...)...)
	if !l.Until("the first command runs", func() bool { return len(witness.Log()) == 1 }) {
		return
	}
	_ = first.Process.Signal(syscall.SIGSTOP)
	_ = os.Remove(record)
	second := l.Start(append([]string{"run", "-q", "k", "--"}, witness.Command("second", 0)...)...)
	var theirs lease
	if !l.Until("the second has a lease", func() bool { return theirs.read(record) }) {
		return
	}
	_ = first.Process.Signal(syscall.SIGCONT)
	var now lease
	ended := l.Until("the first is told", func() bool {
		select {
		case <-first.Ended():
			return true
		default:
			return now.read(record) && now.Holder.ID == theirs.Holder.ID && now.Revision > theirs.Revision
		}
	})
	if !ended {
		return
	}
	select {
	case <-first.Ended():
	case <-time.After(time.Second): // its last renewal may have been before it was told
		t.Violate("generation %d of a key was given to a second process after a hand had removed the record, and the first went on renewing the other's lease, to revision %d",
			now.Generation, now.Revision)
		return
	}
	if got := first.Wait(); got.Code != 76 {
		t.Violate("the first of two holders of generation %d, whose record a hand had removed, was not told: %s", theirs.Generation, got)
	}
	if got := second.Wait(); got.Code != 0 || len(witness.Log()) != 2 {
		t.Violate("the second of two holders of generation %d did not get its turn: %s", theirs.Generation, got)
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
