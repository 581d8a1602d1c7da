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

// The time of these tests is that of a synctest bubble: it passes when everybody waits.

func bubble(t *testing.T, f func(t *testing.T, store *ledgermem.Store)) {
	synctest.Test(t, func(t *testing.T) { f(t, ledgermem.New(ledgermem.Options{})) })
}

func manager(t *testing.T, l fslease.Ledger) *fslease.Manager {
	t.Helper()
	m, err := fslease.NewManager(l, fslease.Options{TTL: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func acquire(t *testing.T, m *fslease.Manager, names ...string) *fslease.Lease {
	t.Helper()
	lease, err := m.Acquire(context.Background(), names...)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func TestHeartbeatsKeepALease(t *testing.T) {
	bubble(t, func(t *testing.T, store *ledgermem.Store) {
		h := store.Handle("ann")
		lease := acquire(t, manager(t, h), "k")
		other := manager(t, store.Handle("bob"))
		revision := int64(1)
		for range 100 { // 25 TTLs
			time.Sleep(15*time.Second + time.Millisecond)
			if _, err := other.Acquire(t.Context(), "k"); !errors.Is(err, fslease.ErrHeld) {
				t.Fatalf("a lease that is renewed: %v", err)
			}
			now := lease.Records()[0].Revision
			if now != revision+1 {
				t.Fatalf("revision %d after %d: one heartbeat every quarter of the TTL", now, revision)
			}
			revision = now
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(time.Hour)
		st, err := h.View(t.Context()).Load("k")
		if err != nil || st.Revision() != revision+1 {
			t.Errorf("after the release somebody went on renewing: %+v, %v", st, err)
		}
	})
}

func TestLeaseThatCannotBeRenewedIsLostAtThreeQuartersOfItsTTL(t *testing.T) {
	bubble(t, func(t *testing.T, store *ledgermem.Store) {
		h := store.Handle("ann")
		lease := acquire(t, manager(t, h), "k")
		defer func() { _ = lease.Release() }()
		start := time.Now()
		h.Kill()
		<-lease.Lost()
		if after := time.Since(start); after != 45*time.Second {
			t.Errorf("lost after %s", after)
		}
		var lost *fslease.LostError
		if !errors.As(lease.Err(), &lost) || lost.Reason != fslease.ReasonCannotRenew || lost.Err == nil {
			t.Errorf("lost as %#v", lease.Err())
		}
	})
}

func TestWaitEndsAtItsLimit(t *testing.T) {
	bubble(t, func(t *testing.T, store *ledgermem.Store) {
		lease := acquire(t, manager(t, store.Handle("ann")), "k")
		start := time.Now()
		_, err := manager(t, store.Handle("bob")).AcquireRequest(t.Context(), fslease.Request{Keys: []fslease.Key{"k"}, Wait: 10 * time.Second})
		if after := time.Since(start); !errors.Is(err, fslease.ErrHeld) || after != 10*time.Second {
			t.Errorf("waited %s: %v", after, err)
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	})
}

// A reader that appears while the lease is made must not see it half made.
func TestContextThatEndsDuringTheGrantReleases(t *testing.T) {
	bubble(t, func(t *testing.T, store *ledgermem.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		h := store.Handle("ann")
		lease, err := manager(t, cancelling{h, cancel}).Acquire(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if st, err := h.View(t.Context()).Load("k"); err != nil || st.Current() != nil || lease.Err() != nil {
			t.Errorf("on record %+v, %v; lease: %v", st, err, lease.Err())
		}
	})
}

// cancelling is a ledger whose caller gives up as soon as something was written.
type cancelling struct {
	fslease.Ledger
	cancel func()
}

func (c cancelling) Update(ctx context.Context, keys []fslease.Key, fn func(fslease.Tx) error) error {
	defer c.cancel()
	return c.Ledger.Update(ctx, keys, fn)
}

// A program that is interrupted ends its context and then defers Release: it must not be gone before the
// lease is.
func TestReleaseWaitsForTheOneThatTheContextBegan(t *testing.T) {
	bubble(t, func(t *testing.T, store *ledgermem.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		h := store.Handle("ann")
		lease, err := manager(t, slow{h}).Acquire(ctx, "k")
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
		if st, err := h.View(t.Context()).Load("k"); err != nil || st.Current() != nil {
			t.Errorf("after Release returned: %+v, %v", st, err)
		}
	})
}

// slow is a ledger whose updates take a second.
type slow struct{ fslease.Ledger }

func (s slow) Update(ctx context.Context, keys []fslease.Key, fn func(fslease.Tx) error) error {
	time.Sleep(time.Second)
	return s.Ledger.Update(ctx, keys, fn)
}

func TestTakeoverIsLoggedOnceForADeadLeaseAboveSeveralKeys(t *testing.T) {
	events := map[string]int{}
	store := ledgermem.New(ledgermem.Options{Log: func(e fslease.Event) { events[e.Event+" "+string(e.Key)]++ }})
	dying := store.Handle("ann")
	lease := acquire(t, manager(t, dying), "repo")
	dying.Kill()
	next := acquire(t, manager(t, store.Handle("bob")), "repo/a", "repo/b")
	for event, n := range map[string]int{"taken_over repo": 1, "granted repo/a": 1, "granted repo/b": 1} {
		if events[event] != n {
			t.Errorf("%q is logged %d times, want %d", event, events[event], n)
		}
	}
	_ = lease.Release() // fails: its process was killed
	if err := next.Release(); err != nil {
		t.Fatal(err)
	}
}

// Whoever waits in memory is woken in the moment in which there is something to be had, not at the next look.
func TestWaitersAreWokenAtOnce(t *testing.T) {
	for name, free := range map[string]func(*ledgermem.Handle, *fslease.Lease, *ledgermem.Handle){
		"release":             func(_ *ledgermem.Handle, l *fslease.Lease, _ *ledgermem.Handle) { _ = l.Release() },
		"death":               func(h *ledgermem.Handle, _ *fslease.Lease, _ *ledgermem.Handle) { h.Kill() },
		"death of its fence":  func(h *ledgermem.Handle, _ *fslease.Lease, child *ledgermem.Handle) { h.Kill(); child.Kill() },
		"release of the next": func(h *ledgermem.Handle, l *fslease.Lease, _ *ledgermem.Handle) { _ = l.Release() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, store *ledgermem.Store) {
				h := store.Handle("ann")
				lease, err := manager(t, h).AcquireRequest(context.Background(), fslease.Request{Keys: []fslease.Key{"k"}, Fence: name == "death of its fence"})
				must(t, err)
				child := h.Fork("child")
				waiters := 1
				if name == "release of the next" {
					waiters = 3
				}
				got := make(chan time.Duration, waiters)
				start := time.Now()
				for range waiters {
					m := manager(t, store.Handle("bob"))
					go func() {
						next, err := m.AcquireRequest(context.Background(), fslease.Request{Keys: []fslease.Key{"k"}, Wait: fslease.Forever, Fence: true})
						if err != nil {
							t.Error(err)
							return
						}
						got <- time.Since(start)
						_ = next.Release()
					}()
					synctest.Wait()
				}
				time.Sleep(300 * time.Millisecond)
				free(h, lease, child)
				for range waiters {
					if after := <-got; after != 300*time.Millisecond {
						t.Errorf("had after %s", after)
					}
				}
				child.Kill()
				_ = lease.Release()
			})
		})
	}
}

func TestUnlockedFenceWakesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *ledgermem.Store) {
		f, _, err := store.Handle("ann").TryFence(t.Context(), []fslease.Key{"k"})
		must(t, err)
		start := time.Now()
		time.AfterFunc(300*time.Millisecond, func() { _ = f.Unlock() })
		lease, err := manager(t, store.Handle("bob")).AcquireRequest(t.Context(), fslease.Request{Keys: []fslease.Key{"k"}, Wait: fslease.Forever, Fence: true})
		must(t, err)
		if after := time.Since(start); after != 300*time.Millisecond {
			t.Errorf("had after %s", after)
		}
		must(t, lease.Release())
	})
}
