package ledgerfs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"fslease/fslease"
)

// Among people at work nothing looks broken that is not, and a repair takes nothing from anybody.
func TestExamineAndRepairAmongAcquirers(t *testing.T) {
	l, m := madeIn(t, memory(t))
	for i := range 4 {
		id := fmt.Sprint(i)
		if _, err := m.AddTicket(ctx, id, "", []fslease.Key{fslease.Key("scope/" + id), "shared"}, "ann"); err != nil {
			t.Fatal(err)
		}
		act(t, m, id, fslease.Act{Verb: fslease.VerbApprove})
	}
	rounds := 25
	if testing.Short() {
		rounds = 10
	}
	var workers sync.WaitGroup
	for i := range 8 {
		own := manager(t, opened(t, l.path))
		workers.Go(func() {
			for n := range rounds {
				var err error
				if i < 4 {
					err = workOnTicket(own, fmt.Sprint(i))
				} else {
					err = workOnKey(own, []fslease.Key{"repo", "repo/api", fslease.Key(fmt.Sprintf("once/%d/%d", i, n))}[rand.IntN(3)])
				}
				if err != nil {
					t.Errorf("worker %d: %v", i, err)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	for {
		for _, f := range l.Examine(ctx, nil) {
			if f.Level == Broken || f.Level == Warning && (f.Check == "records" || f.Check == "tickets" || f.Check == "permissions") {
				t.Errorf("%+v", f)
			}
		}
		for _, r := range l.Repair(ctx) {
			if r.Err != nil || r.Finding.Check != "litter" {
				t.Errorf("%+v", r)
			}
		}
		select {
		case <-done:
			nothingBroken(t, l.Examine(ctx, nil))
			return
		default:
		}
	}
}

func workOnKey(m *fslease.Manager, key fslease.Key) error {
	lease, err := m.AcquireRequest(ctx, fslease.Request{Keys: []fslease.Key{key}, Wait: fslease.Forever, Fence: true})
	if err != nil {
		return err
	}
	if err := lease.Renew(ctx); err != nil {
		return err
	}
	return lease.Release()
}

// workOnTicket works on a ticket from start to review, and opens it again.
func workOnTicket(m *fslease.Manager, id string) error {
	s, err := m.StartTicket(ctx, fslease.Start{Ticket: id, Wait: fslease.Forever})
	if err != nil {
		return err
	}
	for _, a := range []fslease.Act{{Verb: fslease.VerbCheckpoint, Token: s.Generation}, {Verb: fslease.VerbReview, Token: s.Generation}, {Verb: fslease.VerbReopen}} {
		if _, err := m.TicketAct(ctx, id, a); err != nil {
			return errors.Join(fmt.Errorf("%s", a.Verb), err)
		}
	}
	return nil
}
