package ledgermem_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fslease/fslease"
	"fslease/fslease/ledgermem"
)

// held is a ledger whose changes wait, once it is told so.
type held struct {
	fslease.Ledger
	wait *chan struct{}
}

func (h held) Update(ctx context.Context, keys []fslease.Key, fn func(fslease.Tx) error) error {
	if *h.wait != nil {
		<-*h.wait
	}
	return h.Ledger.Update(ctx, keys, fn)
}

// A renewal is under way for a minute. If the process was stopped meanwhile, the renewal may end first; if it was not, the
// ledger hangs, and the lease is lost at three quarters of its TTL.
func TestRenewalThatIsCutShortByAStop(t *testing.T) {
	for name, stopped := range map[string]bool{"stopped": true, "hangs": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := ledgermem.NewClock(fslease.Instant{Wall: time.Now()})
				store := ledgermem.New(ledgermem.Options{Clock: clock})
				advance := func(d time.Duration) {
					clock.Advance(d)
					synctest.Wait()
				}
				var wait chan struct{}
				lease := acquire(t, manager(t, held{store.Handle("ann"), &wait}), "k")
				defer func() { _ = lease.Release() }()
				synctest.Wait()
				wait = make(chan struct{})
				advance(15 * time.Second) // a heartbeat
				if stopped {
					advance(2 * time.Minute)
				} else {
					for range 29 {
						advance(time.Second)
					}
					if lease.Err() != nil {
						t.Errorf("44 s after the last renewal: %v", lease.Err())
					}
					advance(time.Second)
				}
				lost := lease.Err()
				renewal := wait
				wait = nil
				close(renewal)
				synctest.Wait()
				if stopped {
					advance(time.Second)
					if err := lease.Err(); lost != nil || err != nil || lease.Records()[0].Revision == 1 {
						t.Errorf("%v and then %v, at revision %d: the record still names the lease", lost, err, lease.Records()[0].Revision)
					}
				} else if !errors.Is(lost, fslease.ErrLost) {
					t.Errorf("45 s after the last renewal: %v", lost)
				}
			})
		})
	}
}
