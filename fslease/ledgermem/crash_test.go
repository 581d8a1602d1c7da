package ledgermem_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fslease/fslease"
	"fslease/fslease/ledgermem"
	"fslease/reconcile"
)

// TestTicketsSurviveADeathAtAnyWrite kills the process of each transition at its first write, its second,
// and so on. Whatever is left, after the next command's pass the ticket is in its old or its new state,
// keeps its scope just as that says, no key is reserved for good, and work can go on.
func TestTicketsSurviveADeathAtAnyWrite(t *testing.T) {
	act := func(verb fslease.Verb, token int64) step {
		return func(p process) error {
			_, err := p.TicketAct(context.Background(), "42", fslease.Act{Verb: verb, Token: token})
			return err
		}
	}
	start := func(p process) error {
		_, err := p.StartTicket(context.Background(), fslease.Start{Ticket: "42"})
		return err
	}
	work := func(act *fslease.Act) step {
		return func(p process) error {
			w, err := p.WorkOn(context.Background(), fslease.Start{Ticket: "42", Also: []fslease.Key{"beside"}}, nil)
			if err != nil {
				return err
			}
			return w.End(act)
		}
	}
	pass := func(p process) error {
		p.clock.Advance(fslease.DefaultSession)
		_, troubles, err := reconcile.Run(context.Background(), p.handle, func() string { return "bob" }, false)
		if len(troubles) > 0 {
			return troubles[0].Err
		}
		return err
	}
	for _, c := range []struct {
		name string
		from []step // what brings the ticket from READY to where it is
		do   step
		old  fslease.Status
		new  fslease.Status
	}{
		{"start", nil, start, fslease.Ready, fslease.InProgress},
		{"start from BLOCKED", steps(start, act(fslease.VerbBlock, 1)), start, fslease.Blocked, fslease.InProgress},
		{"start from REVIEW", steps(start, act(fslease.VerbReview, 1)), start, fslease.Review, fslease.InProgress},
		{"checkpoint", steps(start), act(fslease.VerbCheckpoint, 1), fslease.InProgress, fslease.InProgress},
		{"review", steps(start), act(fslease.VerbReview, 1), fslease.InProgress, fslease.Review},
		{"block", steps(start), act(fslease.VerbBlock, 1), fslease.InProgress, fslease.Blocked},
		{"done", steps(start), act(fslease.VerbDone, 1), fslease.InProgress, fslease.Done},
		{"done from REVIEW", steps(start, act(fslease.VerbReview, 1)), act(fslease.VerbDone, 0), fslease.Review, fslease.Done},
		{"reopen", steps(start, act(fslease.VerbBlock, 1)), act(fslease.VerbReopen, 0), fslease.Blocked, fslease.Ready},
		{"cancel", steps(start), act(fslease.VerbCancel, 1), fslease.InProgress, fslease.Cancelled},
		{"done from BLOCKED", steps(start, act(fslease.VerbBlock, 1)), act(fslease.VerbDone, 0), fslease.Blocked, fslease.Done},
		{"reopen from REVIEW", steps(start, act(fslease.VerbReview, 1)), act(fslease.VerbReopen, 0), fslease.Review, fslease.Ready},
		{"cancel from REVIEW", steps(start, act(fslease.VerbReview, 1)), act(fslease.VerbCancel, 0), fslease.Review, fslease.Cancelled},
		{"break", steps(start), func(p process) error {
			_, err := p.BreakTicket(context.Background(), "42", "test", "bob")
			return err
		}, fslease.InProgress, fslease.Blocked},
		{"expiry", steps(start), pass, fslease.InProgress, fslease.Blocked},
		{"work to review", nil, work(&fslease.Act{Verb: fslease.VerbReview}), fslease.Ready, fslease.Review},
		{"work to done", steps(start, act(fslease.VerbReview, 1)), work(&fslease.Act{Verb: fslease.VerbDone}), fslease.Review, fslease.Done},
		{"work to block", nil, work(&fslease.Act{Verb: fslease.VerbBlock, Fail: &fslease.Failure{Kind: fslease.FailureCommand}}), fslease.Ready, fslease.Blocked},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := 1; ; n++ {
				clock := ledgermem.NewClock(fslease.Instant{Wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), BootID: "boot", TimeNS: 1})
				store := ledgermem.New(ledgermem.Options{Clock: clock})
				setUp := open(t, store, clock, "ann")
				_, err := setUp.AddTicket(t.Context(), "42", "", []fslease.Key{"repo/api", "z"}, "ann")
				must(t, err)
				must(t, act(fslease.VerbApprove, 0)(setUp))
				for _, step := range c.from {
					must(t, step(setUp))
				}
				dying := open(t, store, clock, "bob")
				dying.handle.KillAtWrite(n)
				err = c.do(dying)
				if err == nil {
					if n == 1 {
						t.Error("it writes nothing")
					}
					return
				}
				status := afterCrash(t, store, n)
				// Work that has begun and dies before its end leaves the ticket BLOCKED.
				began := c.old != fslease.InProgress && strings.HasPrefix(c.name, "work")
				if status != c.old && status != c.new && !(began && status == fslease.Blocked) {
					t.Errorf("killed at write %d: the ticket is %s", n, status)
				}
			}
		})
	}
}

// A process is a handle with its manager, and the clock of all.
type process struct {
	*fslease.Manager
	handle *ledgermem.Handle
	clock  *ledgermem.Clock
}

func open(t *testing.T, store *ledgermem.Store, clock *ledgermem.Clock, name string) process {
	h := store.Handle(name)
	return process{manager(t, h), h, clock}
}

type step func(process) error

func steps(all ...step) []step { return all }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// afterCrash makes the pass, checks that the scope is kept just as the ticket's status says, brings the
// ticket to its end and checks that nothing is left of it. It returns the status that it found.
func afterCrash(t *testing.T, store *ledgermem.Store, n int) fslease.Status {
	t.Helper()
	h := store.Handle("carol")
	m := manager(t, h)
	ctx := t.Context()
	pass := func() []reconcile.Act {
		t.Helper()
		acts, troubles, err := reconcile.Run(ctx, h, func() string { return "carol" }, false)
		if err != nil || len(troubles) > 0 {
			t.Fatalf("killed at write %d: reconcile: %v, %v", n, troubles, err)
		}
		return acts
	}
	pass()
	if again := pass(); len(again) > 0 {
		t.Errorf("killed at write %d: a second pass does %+v", n, again)
	}
	ticket, err := h.View(ctx).Ticket("42")
	must(t, err)
	found := ticket.Status
	if len(ticket.Failures) > 1 {
		t.Errorf("killed at write %d: one session failed %d times: %+v", n, len(ticket.Failures), ticket.Failures)
	}
	beside, err := m.Acquire(ctx, "beside") // which goes with the process
	must(t, err)
	must(t, beside.Release())
	for _, k := range []string{"repo/api", "z"} {
		lease, err := m.Acquire(ctx, k)
		switch {
		case err == nil && found.Live():
			t.Errorf("killed at write %d: the ticket is %s, and %s is free", n, found, k)
		case err != nil && !found.Live():
			t.Errorf("killed at write %d: the ticket is %s, but %v", n, found, err)
		case err != nil && !errors.Is(err, fslease.ErrHeld):
			t.Fatal(err)
		}
		if lease != nil {
			must(t, lease.Release())
		}
	}
	sessions, err := h.View(ctx).Sessions("42")
	must(t, err)
	for _, g := range sessions {
		s, err := h.View(ctx).Session("42", g)
		must(t, err)
		if named := found == fslease.InProgress && g == ticket.Session; (s.Status == fslease.SessionActive) != named {
			t.Errorf("killed at write %d: the ticket is %s in session %d, and session %d is %s", n, found, ticket.Session, g, s.Status)
		}
	}
	if !slices.Contains(found.Allowed(), fslease.VerbCancel) {
		return found
	}
	if slices.Contains(found.Allowed(), fslease.VerbStart) {
		s, err := m.StartTicket(ctx, fslease.Start{Ticket: "42"})
		if err != nil || slices.Contains(sessions, s.Generation) {
			t.Errorf("killed at write %d: start from %s: generation %d after %v, %v", n, found, s.Generation, sessions, err)
		}
	}
	_, err = m.TicketAct(ctx, "42", fslease.Act{Verb: fslease.VerbCancel, Force: true, Reason: "test"})
	must(t, err)
	lease, err := m.Acquire(ctx, "repo", "z", "ticket:42")
	if err != nil {
		t.Errorf("killed at write %d: after the ticket was cancelled: %v", n, err)
		return found
	}
	must(t, lease.Release())
	return found
}

// TestLeasesSurviveADeathAtAnyWrite does the same with what is done to a lease.
func TestLeasesSurviveADeathAtAnyWrite(t *testing.T) {
	ctx := context.Background()
	to := fslease.Handover{Holder: fslease.Holder{Kind: fslease.KindProcess, ID: "0123456789abcdef0123456789abcdef", Evidence: fslease.EvidenceNone, BootID: "boot", TimeNS: 1}, TTL: time.Minute}
	for _, c := range []struct {
		name string
		held bool // k is held at generation 1 by somebody who lives
		do   func(*fslease.Manager) error
	}{
		{"acquire", false, func(m *fslease.Manager) error { _, err := m.Acquire(ctx, "a", "k"); return err }},
		{"hand over", false, func(m *fslease.Manager) error {
			_, err := m.AcquireFor(ctx, fslease.Request{Keys: []fslease.Key{"a", "k"}}, to)
			return err
		}},
		{"release", true, func(m *fslease.Manager) error { return m.ReleaseToken(ctx, "k", 1) }},
		{"transfer", true, func(m *fslease.Manager) error { _, err := m.Transfer(ctx, "k", 1, to, 0, nil); return err }},
		{"break", true, func(m *fslease.Manager) error { _, err := m.Break(ctx, "k", "test", nil); return err }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for n := 1; ; n++ {
				clock := ledgermem.NewClock(fslease.Instant{Wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), BootID: "boot", TimeNS: 1})
				store := ledgermem.New(ledgermem.Options{Clock: clock})
				if c.held {
					holder := manager(t, store.Handle("ann"))
					acquire(t, holder, "k")
				}
				dying := store.Handle("bob")
				m := manager(t, dying)
				dying.KillAtWrite(n)
				if err := c.do(m); err == nil {
					return
				}
				h := store.Handle("carol")
				st, err := h.View(ctx).Load("k")
				must(t, err)
				highest := st.Generation()
				if cur := st.Current(); c.held && cur != nil {
					must(t, manager(t, h).ReleaseToken(ctx, "k", cur.Generation)) // nobody else can: its token tells
				}
				clock.Advance(2 * time.Minute) // what was handed over already runs out
				lease, err := manager(t, h).Acquire(ctx, "k", "a")
				if err != nil {
					t.Errorf("killed at write %d: %v", n, err)
					continue
				}
				if lease.Token() <= highest {
					t.Errorf("killed at write %d: generation %d after %d", n, lease.Token(), highest)
				}
				must(t, lease.Release())
			}
		})
	}
}
