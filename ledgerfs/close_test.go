package ledgerfs

import (
	"testing"
	"time"

	"fslease/fslease"
)

// A ledger may be closed while a lease on it is being renewed, and the lease goes on.
func TestCloseBesideAHeartbeat(t *testing.T) {
	l, m := made(t)
	lease, err := m.AcquireRequest(ctx, fslease.Request{Keys: []fslease.Key{"k"}, TTL: time.Minute, Heartbeat: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		time.Sleep(time.Millisecond)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}
