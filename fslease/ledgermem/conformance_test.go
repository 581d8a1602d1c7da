package ledgermem_test

import (
	"testing"
	"time"

	"fslease/fslease"
	"fslease/fslease/ledgermem"
	"fslease/fslease/ledgertest"
)

func TestConformance(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledgertest.Harness {
		clock := ledgermem.NewClock(fslease.Instant{Wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
		store := ledgermem.New(ledgermem.Options{Clock: clock})
		return ledgertest.Harness{
			Open:     func() fslease.Ledger { return store.Handle("ann") },
			Kill:     func(l fslease.Ledger) { l.(*ledgermem.Handle).Kill() },
			Fork:     func(l fslease.Ledger) func() { return l.(*ledgermem.Handle).Fork("child").Kill },
			Advance:  clock.Advance,
			StepWall: clock.StepWall,
			Plant:    store.Plant,
		}
	})
}
