package reconcile_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fslease/fslease"
	"fslease/hostproc"
	"fslease/ledgerfs"
	"fslease/reconcile"
)

// What a pass, and a start, cost beside 100,000 tickets that are DONE, as a multiple of what they cost beside
// 100; 100 tickets are in progress. Both ledgers take turns, so that the figures are of one run.
func BenchmarkBesideDoneTickets(b *testing.B) {
	few, many := filled(b, 100), filled(b, 100_000)
	b.Run("reconcile", func(b *testing.B) {
		compare(b, few, many, func(l *ledgerfs.Ledger, _ *fslease.Manager) {
			acts, troubles, err := reconcile.Run(context.Background(), l, func() string { return "bench" }, false)
			if err != nil || len(acts)+len(troubles) > 0 {
				b.Fatal(acts, troubles, err)
			}
		})
	})
	b.Run("start", func(b *testing.B) {
		compare(b, few, many, func(_ *ledgerfs.Ledger, m *fslease.Manager) {
			s, err := m.StartTicket(context.Background(), fslease.Start{Ticket: "next"})
			if err == nil {
				_, err = m.TicketAct(context.Background(), "next", fslease.Act{Verb: fslease.VerbBlock, Token: s.Generation})
			}
			if err != nil {
				b.Fatal(err)
			}
		})
	})
}

// compare runs do on both ledgers in turn, and reports the time of the second as a multiple of the first.
func compare(b *testing.B, few, many string, do func(*ledgerfs.Ledger, *fslease.Manager)) {
	var took [2]time.Duration
	for b.Loop() {
		for i, dir := range []string{few, many} {
			l, err := ledgerfs.Open(dir, ledgerfs.Options{Processes: hostproc.New()})
			if err != nil {
				b.Fatal(err)
			}
			m, err := fslease.NewManager(l, fslease.Options{})
			if err != nil {
				b.Fatal(err)
			}
			start := time.Now()
			do(l, m)
			took[i] += time.Since(start)
			_ = l.Close()
		}
	}
	b.ReportMetric(float64(took[0].Microseconds())/float64(b.N), "µs/op-few")
	b.ReportMetric(float64(took[1].Microseconds())/float64(b.N), "µs/op-many")
	b.ReportMetric(float64(took[1])/float64(took[0]), "times")
}

// filled makes a ledger with 100 tickets in progress, one that may start, and the given number that are DONE.
func filled(b *testing.B, done int) string {
	b.Helper()
	dir := b.TempDir()
	l, err := ledgerfs.Open(dir, ledgerfs.Options{Processes: hostproc.New()})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	m, err := fslease.NewManager(l, fslease.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	add := func(id string) {
		_, err := m.AddTicket(ctx, id, "Work on "+id, []fslease.Key{fslease.Key("repo/" + id)}, "bench")
		if err == nil {
			_, err = m.TicketAct(ctx, id, fslease.Act{Verb: fslease.VerbApprove, By: "bench"})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for i := range 100 {
		id := fmt.Sprintf("active-%d", i)
		add(id)
		if _, err := m.StartTicket(ctx, fslease.Start{Ticket: id, Lease: 24 * time.Hour}); err != nil {
			b.Fatal(err)
		}
	}
	add("next")
	for i := range done {
		writeDone(b, dir, fmt.Sprint(i))
	}
	return dir
}

// writeDone writes the files of a ticket that is done, as they would be, but without waiting for the disk.
func writeDone(b *testing.B, dir, id string) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	t := fslease.Ticket{ID: id, Title: "Work on " + id, Status: fslease.Done, Scope: []fslease.Key{fslease.Key("repo/" + id)}, Session: 1, CreatedAt: at, UpdatedAt: at,
		History: []fslease.Move{{At: at, From: fslease.InProgress, To: fslease.Done, By: "bench"}}}
	s := fslease.Session{Ticket: id, Generation: 1, Status: fslease.SessionEnded, StartedAt: at, LeaseUntil: at, Lease: fslease.DefaultSession}
	tomb := fslease.Tombstone{Key: fslease.TicketKey(id), Generation: 1, Revision: 3, ReleasedAt: at, Reason: fslease.ReasonReleased, LastHolder: fslease.Holder{Kind: fslease.KindTicket, Ticket: id, Session: 1}}
	for name, v := range map[string]interface{ MarshalJSON() ([]byte, error) }{
		"tickets/" + id + ".json": t, "sessions/" + id + "/1.json": s, "tombstones/ticket:" + id + ".json": tomb,
	} {
		data, err := v.MarshalJSON()
		path := filepath.Join(dir, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = os.WriteFile(path, fslease.Indent(data), 0o600)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "locks", "ticket:"+id+".lock"), nil, 0o600)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
