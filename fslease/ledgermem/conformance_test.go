package ledgermem_test

import (
	"testing"
	"time"

	"fslease/fslease"
	"fslease/fslease/ledgermem"
	"fslease/fslease/ledgertest"
)

func harness(clock *ledgermem.Clock) ledgertest.Harness {
	var o ledgermem.Options
	h := ledgertest.Harness{}
	if clock != nil {
		o.Clock = clock
		h.Advance, h.StepWall = clock.Advance, clock.StepWall
	}
	store := ledgermem.New(o)
	h.Open = func() fslease.Ledger { return store.Handle("ann") }
	h.Kill = func(l fslease.Ledger) { l.(*ledgermem.Handle).Kill() }
	h.Fork = func(l fslease.Ledger) func() { return l.(*ledgermem.Handle).Fork("child").Kill }
	h.Plant = store.Plant
	return h
}

func TestConformance(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledgertest.Harness { return harness(nil) })
}

func TestConformanceWithAClockDrivenByHand(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledgertest.Harness {
		return harness(ledgermem.NewClock(fslease.Instant{Wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}))
	})
}
