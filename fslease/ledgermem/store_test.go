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

func TestLocksThatAreNotHadInTimeAreBusy(t *testing.T) {
	bubble(t, func(t *testing.T, store *ledgermem.Store) {
		a, b := store.Handle("ann"), store.Handle("bob")
		must(t, a.Update(t.Context(), []fslease.Key{"repo"}, func(fslease.Tx) error {
			start := time.Now()
			err := b.Update(t.Context(), []fslease.Key{"repo/api"}, func(fslease.Tx) error { return nil })
			var r *fslease.RepositoryError
			if after := time.Since(start); !errors.As(err, &r) || r.Fault != fslease.FaultBusy || after != 10*time.Second {
				t.Errorf("after %s: %v", after, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := b.Update(ctx, []fslease.Key{"repo/api"}, func(fslease.Tx) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("under a context that ends: %v", err)
			}
			return nil
		}))
		must(t, b.Update(t.Context(), []fslease.Key{"repo/api"}, func(fslease.Tx) error { return nil }))
	})
}

func TestWritesOutsideTheLocksAreRefused(t *testing.T) {
	h := ledgermem.New(ledgermem.Options{}).Handle("ann")
	must(t, h.Update(t.Context(), []fslease.Key{"repo/api"}, func(tx fslease.Tx) error {
		for what, err := range map[string]error{
			"a lease beside":     tx.Put(fslease.Record{Key: "repo/web", Generation: 1, Revision: 1}, true),
			"a lease above":      tx.Put(fslease.Record{Key: "repo", Generation: 1, Revision: 1}, true),
			"a tombstone beside": tx.Bury(fslease.Record{Key: "repo/web", Generation: 1}, fslease.Tombstone{Key: "repo/web", Generation: 1}),
			"a sighting beside":  tx.See(fslease.Sighting{Key: "repo/web"}),
			"a ticket":           tx.PutTicket(fslease.Ticket{ID: "42"}),
			"a session":          tx.PutSession(fslease.Session{Ticket: "42"}),
			"an active ticket":   tx.SetActive("42", true),
		} {
			if err == nil {
				t.Errorf("%s is written under the locks of repo/api", what)
			}
		}
		if _, err := tx.Enqueue(fslease.Waiter{Keys: []fslease.Key{"repo/api", "repo/web"}}); err == nil {
			t.Error("a waiter for repo/web is entered under the locks of repo/api")
		}
		return nil
	}))
}

func TestKilledProcessDoesNothingMore(t *testing.T) {
	store := ledgermem.New(ledgermem.Options{})
	h := store.Handle("ann")
	w := fslease.Waiter{Number: 1, Keys: []fslease.Key{"k"}}
	h.Kill()
	_, announce := h.Announce(t.Context(), nil)
	_, _, fence := h.TryFence(t.Context(), []fslease.Key{"k"})
	for what, err := range map[string]error{
		"announce": announce, "fence": fence, "leave": h.Leave(w), "mark": h.MarkTurn(w, fslease.Instant{}), "clear": h.ClearTurn(w),
		"put": h.Update(t.Context(), []fslease.Key{"k"}, func(tx fslease.Tx) error {
			return tx.Put(fslease.Record{Key: "k", Generation: 1, Revision: 1}, true)
		}),
	} {
		if !errors.Is(err, fslease.ErrRepository) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestKillAtWriteDiesInPlaceOfThatWrite(t *testing.T) {
	store := ledgermem.New(ledgermem.Options{})
	h := store.Handle("ann")
	p, err := h.Announce(t.Context(), nil)
	must(t, err)
	h.KillAtWrite(3)
	written := 0
	err = h.Update(t.Context(), []fslease.Key{"k"}, func(tx fslease.Tx) error {
		for range 5 {
			rec := fslease.Record{Key: "k", Generation: 1, Revision: int64(written + 1), Holder: p.Holder()}
			if err := tx.Put(rec, true); err != nil {
				return err
			}
			written++
		}
		return nil
	})
	other := store.Handle("bob")
	st, loadErr := other.View(t.Context()).Load("k")
	if err == nil || written != 2 || loadErr != nil || st.Revision() != 2 || other.Probe(p.Holder()).Life != fslease.Dead {
		t.Errorf("%d writes, %v; on record %+v, %v", written, err, st, loadErr)
	}
}

func TestHiddenHolderIsUnknown(t *testing.T) {
	store := ledgermem.New(ledgermem.Options{})
	h := store.Handle("ann")
	p, err := h.Announce(t.Context(), []string{"make"})
	must(t, err)
	store.Hide(p.Holder())
	h.Kill()
	if v := store.Handle("bob").Probe(p.Holder()); v.Life != fslease.Unknown {
		t.Errorf("%s (%s)", v.Life, v.Reason)
	}
}

func TestClockDrivenByHand(t *testing.T) {
	wall := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := ledgermem.NewClock(fslease.Instant{Wall: wall, Mono: 100})
	if now := c.Now(); now.Mono != 100 || !now.Wall.Equal(wall) || now.BootID == "" {
		t.Errorf("shows %+v", now)
	}
	fired := func(c <-chan time.Time) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	soon, _ := c.After(time.Minute)
	later, stop := c.After(2 * time.Minute)
	past, _ := c.After(-time.Second)
	if !fired(past) {
		t.Error("what is due already does not fire at once")
	}
	c.StepWall(time.Hour)
	c.Advance(time.Minute - 1)
	if fired(soon) {
		t.Error("fired before its time: a stepped wall clock wakes nobody")
	}
	c.Advance(1)
	if !fired(soon) {
		t.Error("did not fire")
	}
	if !stop() || stop() {
		t.Error("a timer is stopped once")
	}
	c.Advance(time.Hour)
	if fired(later) {
		t.Error("fired after it was stopped")
	}
	if now := c.Now(); now.Mono != 100+int64(time.Hour+time.Minute) || !now.Wall.Equal(wall.Add(2*time.Hour+time.Minute)) {
		t.Errorf("shows %+v", now)
	}
}

func TestRuntimeClockIsThatOfTheBubble(t *testing.T) {
	bubble(t, func(t *testing.T, store *ledgermem.Store) {
		clock := store.Handle("ann").Clock()
		before := clock.Now()
		timer, _ := clock.After(time.Hour)
		<-timer
		synctest.Wait()
		if now := clock.Now(); now.Mono-before.Mono != int64(time.Hour) || before.Mono <= 0 || now.BootID != before.BootID {
			t.Errorf("an hour from %+v to %+v", before, now)
		}
	})
}
