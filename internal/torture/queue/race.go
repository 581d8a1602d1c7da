package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"fslease/fslease"
	"fslease/hostproc"
	"fslease/internal/torture/kit"
	"fslease/ledgerfs"
)

// beat is how often leases are renewed in the races.
const beat = time.Millisecond

// raceInside releases leases while they are renewed, in this process. A released one must not come back: its key is free at once.
func raceInside(t *kit.T) {
	l := t.Ledger()
	defer l.Close()
	var all sync.WaitGroup
	for n := range 4 {
		source := rand.New(rand.NewPCG(t.Uint64(), t.Uint64()))
		all.Go(func() {
			handle, err := ledgerfs.Open(l.Dir, ledgerfs.Options{Processes: hostproc.New()})
			if err != nil {
				panic(err)
			}
			defer handle.Close()
			leases, err := fslease.NewManager(handle, fslease.Options{})
			if err != nil {
				panic(err)
			}
			for i := range t.Scale(2_400) {
				if t.Ended() || !raceOnce(t, leases, l.Dir, fmt.Sprintf("k%d-%d", n, i%8), time.Duration(source.Int64N(int64(4*beat)))) {
					return
				}
				t.Made(races, 1)
			}
		})
	}
	all.Wait()
	if left, _ := filepath.Glob(filepath.Join(l.Dir, "leases", "*.json")); len(left) > 0 {
		t.Violate("all was released, but there is %v", left)
	}
}

func raceOnce(t *kit.T, leases *fslease.Manager, ledger, key string, lasts time.Duration) bool {
	lease, err := leases.AcquireRequest(t, fslease.Request{Keys: []fslease.Key{fslease.Key(key)}, TTL: time.Minute, Heartbeat: beat})
	if err != nil {
		t.Violate("%s was released, and cannot be had: %v", key, err)
		return false
	}
	time.Sleep(lasts)
	if err := lease.Release(); err != nil {
		t.Violate("release of %s: %v", key, err)
	}
	gone(t, ledger, key)
	return true
}

// raceOutside is the same with the command.
func raceOutside(t *kit.T, witness *kit.Witness) {
	l := t.Ledger()
	defer l.Close()
	witness = witness.On(l)
	for i := range t.Scale(400) {
		if t.Ended() {
			return
		}
		key := fmt.Sprintf("k%d", i%8)
		work := witness.Command(fmt.Sprint(i), time.Duration(t.Int64N(int64(4*beat))))
		if got := l.Run(append([]string{"run", "-n", "--ttl", "1m", "--heartbeat", beat.String(), key, "--"}, work...)...); got.Code != 0 {
			t.Violate("%s was released: %s", key, got)
		}
		gone(t, l.Dir, key)
		t.Made(races, 1)
	}
}

func gone(t *kit.T, ledger, key string) {
	if _, err := os.Stat(filepath.Join(ledger, "leases", key+".json")); !errors.Is(err, fs.ErrNotExist) {
		t.Violate("%s was released, but its lease is on record (%v)", key, err)
	}
}
