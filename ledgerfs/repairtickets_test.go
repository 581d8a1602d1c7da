package ledgerfs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fslease/fslease"
	"fslease/hostproc"
)

func processOf(t *testing.T, pid int) fslease.Holder {
	t.Helper()
	h, err := hostproc.New().Of(pid)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// started adds a ticket with the scope docs and repo/api, and starts it.
func started(t *testing.T, m *fslease.Manager, id string) fslease.Session {
	t.Helper()
	if _, err := m.AddTicket(ctx, id, "a title", []fslease.Key{"repo/api", "docs"}, "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.TicketAct(ctx, id, fslease.Act{Verb: fslease.VerbApprove}); err != nil {
		t.Fatal(err)
	}
	s, err := m.StartTicket(ctx, fslease.Start{Ticket: id})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func act(t *testing.T, m *fslease.Manager, id string, a fslease.Act) {
	t.Helper()
	if _, err := m.TicketAct(ctx, id, a); err != nil {
		t.Fatal(err)
	}
}

// reservedBy fails the test unless the whole scope is reserved by the ticket.
func reservedBy(t *testing.T, m *fslease.Manager, id string) {
	t.Helper()
	for _, key := range []string{"docs", "repo/api", "repo"} {
		var held *fslease.HeldError
		if _, err := m.Acquire(ctx, key); !errors.As(err, &held) || len(held.Reserved) != 1 || held.Reserved[0].Ticket != id {
			t.Errorf("%s is %v", key, err)
		}
	}
}

// status is where a ticket stands.
func status(t *testing.T, l *Ledger, id string) *fslease.Ticket {
	t.Helper()
	ticket, err := l.View(ctx).Ticket(id)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// long is a ticket whose file name does not tell its id.
var long = "9-" + strings.Repeat("é", 60)

// The work on a ticket survives the loss of each of its records: what was reserved stays reserved, and who
// works on it goes on where that can be told.
func TestRepairTickets(t *testing.T) {
	for _, id := range []string{"7", long} {
		for name, c := range map[string]struct {
			before []fslease.Act // after the start; the token is filled in
			spoil  func(s fslease.Session) string
			status fslease.Status
			goesOn bool // with the token that it has
		}{
			"ticket in progress":   {nil, func(s fslease.Session) string { return ticketPath(id) }, fslease.InProgress, true},
			"ticket in review":     {[]fslease.Act{{Verb: fslease.VerbReview}}, func(s fslease.Session) string { return ticketPath(id) }, fslease.Blocked, false},
			"session in progress":  {nil, func(s fslease.Session) string { return sessionPath(id, s.Generation) }, fslease.Blocked, false},
			"session in review":    {[]fslease.Act{{Verb: fslease.VerbReview}}, func(s fslease.Session) string { return sessionPath(id, s.Generation) }, fslease.Review, false},
			"reservation":          {nil, func(s fslease.Session) string { return leasePath("repo/api") }, fslease.InProgress, true},
			"its own key":          {nil, func(s fslease.Session) string { return leasePath(fslease.TicketKey(id)) }, fslease.InProgress, true},
			"its own key, blocked": {[]fslease.Act{{Verb: fslease.VerbBlock}}, func(s fslease.Session) string { return leasePath(fslease.TicketKey(id)) }, fslease.Blocked, false},
		} {
			t.Run(id[:1]+" "+name, func(t *testing.T) {
				l, m := made(t)
				s := started(t, m, id)
				for _, a := range c.before {
					a.Token = s.Generation
					act(t, m, id, a)
				}
				file := c.spoil(s)
				put(t, l, file, "{")
				if f := finds(t, l.Examine(ctx, nil), "records", Broken, "damaged"); f.Path != l.file(file) {
					t.Errorf("%+v", f)
				}
				repair(t, l)
				found := l.Examine(ctx, nil)
				nothingBroken(t, found)
				if slices.ContainsFunc(found, func(f Finding) bool { return f.Level == Warning }) && c.status == fslease.InProgress {
					t.Errorf("after the repair\n%s", shown(found))
				}
				if now := status(t, l, id); now == nil || now.Status != c.status {
					t.Fatalf("the ticket is %+v, want %s", now, c.status)
				}
				reservedBy(t, m, id)
				_, err := m.TicketAct(ctx, id, fslease.Act{Verb: fslease.VerbCheckpoint, Token: s.Generation})
				if c.goesOn != (err == nil) || err != nil && !errors.Is(err, fslease.ErrLost) {
					t.Errorf("its worker is told: %v", err)
				}
				ok, err := m.Check(ctx, fslease.TicketKey(id), s.Generation)
				if err != nil || ok != c.goesOn {
					t.Errorf("its token is good: %v, %v", ok, err)
				}
				if !c.goesOn { // somebody decides
					if _, err := m.StartTicket(ctx, fslease.Start{Ticket: id}); err != nil {
						t.Errorf("started again: %v", err)
					}
				}
				if len(asideOf(t, l)) != 1 {
					t.Errorf("set aside: %v", asideOf(t, l))
				}
			})
		}
	}
}

// A ticket that reserved nothing is not made anew: its file is kept aside, and the keys are free.
func TestRepairTicketThatReservedNothing(t *testing.T) {
	l, m := made(t)
	s := started(t, m, "7")
	act(t, m, "7", fslease.Act{Verb: fslease.VerbDone, Token: s.Generation})
	put(t, l, ticketPath("7"), "{")
	repair(t, l)
	nothingBroken(t, l.Examine(ctx, nil))
	if now := status(t, l, "7"); now != nil {
		t.Errorf("%+v", now)
	}
	acquired(t, m, "docs")
}

// The title is kept if that much of a ticket can be read.
func TestRepairKeepsTheTitle(t *testing.T) {
	l, m := made(t)
	started(t, m, "7")
	put(t, l, ticketPath("7"), `{"schema": 1, "id": "7", "title": "the title", "status": "LOST"}`)
	repair(t, l)
	if now := status(t, l, "7"); now == nil || now.Title != "the title" || !slices.Equal(now.Scope, []fslease.Key{"docs", "repo/api"}) {
		t.Errorf("%+v", now)
	}
}

// What crashes, hands and clocks leave between the records of a ticket.
func TestExamineTickets(t *testing.T) {
	remove := func(t *testing.T, l *Ledger, name string) {
		t.Helper()
		if err := l.fsys.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, l *Ledger, m *fslease.Manager, s fslease.Session)
		level Level
		text  string
		after Level // OK: mended
	}{
		"no session": {func(t *testing.T, l *Ledger, _ *fslease.Manager, s fslease.Session) {
			remove(t, l, sessionPath("7", s.Generation))
		},
			Broken, "its session 1 is not active", OK},
		"not listed": {func(t *testing.T, l *Ledger, _ *fslease.Manager, _ fslease.Session) { remove(t, l, activePath("7")) },
			Broken, "would never expire", OK},
		"listed for nothing": {func(t *testing.T, l *Ledger, _ *fslease.Manager, _ fslease.Session) { put(t, l, "active/8", "") },
			Warning, "active/ lists ticket 8", Warning},
		"void reservation": {func(t *testing.T, l *Ledger, m *fslease.Manager, s fslease.Session) {
			rec, err := l.View(ctx).Load("docs")
			if err != nil {
				t.Fatal(err)
			}
			act(t, m, "7", fslease.Act{Verb: fslease.VerbDone, Token: s.Generation})
			rec.Lease.Generation = 99
			data, err := rec.Lease.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			put(t, l, "leases/docs.json", string(data))
		}, Warning, "which does not need it any more", OK},
		"lost reservation": {func(t *testing.T, l *Ledger, _ *fslease.Manager, _ fslease.Session) { remove(t, l, leasePath("docs")) },
			Broken, "docs is not reserved for it any more", OK},
	} {
		t.Run(name, func(t *testing.T) {
			l, m := made(t)
			s := started(t, m, "7")
			c.spoil(t, l, m, s)
			finds(t, l.Examine(ctx, nil), "tickets", c.level, c.text)
			repair(t, l)
			found := l.Examine(ctx, nil)
			nothingBroken(t, found)
			finds(t, found, "tickets", c.after, "")
		})
	}
}

// A key that somebody took after its reservation was lost is not taken from him.
func TestRepairLeavesAKeyThatIsHeld(t *testing.T) {
	l, m := made(t)
	started(t, m, "7")
	if err := l.fsys.Remove(leasePath("docs")); err != nil {
		t.Fatal(err)
	}
	acquired(t, m, "docs")
	done := l.Repair(ctx)
	if len(done) != 1 || done[0].Done != "" || !strings.Contains(fmt.Sprint(done[0].Err), "docs is held by") {
		t.Errorf("%+v", done)
	}
	finds(t, l.Examine(ctx, nil), "tickets", Broken, "docs is not reserved")
}
