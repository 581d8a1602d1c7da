package ledgerfs

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"fslease/fslease"
	"fslease/hostproc"
)

// A missing directory becomes a ledger at the first change, whoever else begins at the same moment.
func TestManyMakeALedgerAtOnce(t *testing.T) {
	parent := t.TempDir()
	for round := range 40 {
		path := filepath.Join(parent, strconv.Itoa(round))
		start := make(chan struct{})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				<-start
				l, err := Open(path, Options{Processes: hostproc.New()})
				if err == nil {
					defer func() { _ = l.Close() }()
					err = l.Update(context.Background(), []fslease.Key{fslease.Key("k" + strconv.Itoa(i))}, func(fslease.Tx) error { return nil })
				}
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		close(start)
		all.Wait()
	}
}
