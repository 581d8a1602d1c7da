// Package reconcile is the pass that every command makes before it changes anything: sessions that ran out
// or whose process died are ended, and what a crash left half done is finished. So nothing has to watch
// the clock.
package reconcile

import (
	"context"
	"errors"
	"slices"

	"fslease/fslease"
)

// A Trouble is a ticket that could not be looked at, or that somebody else was changing (FaultBusy). It
// stops nobody but those who need that ticket.
type Trouble struct {
	Ticket string
	Err    error
}

// Run looks at each ticket that may have an active session, and at no other. It never waits for a lock: a
// ticket that somebody else is changing is left to the next command. With dry nothing is written. by tells who
// does it, for the histories of the tickets. It fails only if the list of tickets cannot be read.
func Run(ctx context.Context, l fslease.Ledger, by func() string, dry bool) ([]Act, []Trouble, error) {
	view := l.View(ctx)
	ids, err := view.Active()
	if err != nil {
		return nil, nil, err
	}
	var acts []Act
	var troubles []Trouble
	for _, id := range ids {
		p, err := survey(l, view, id)
		if err == nil && len(p.acts) > 0 && !dry {
			p, err = settle(ctx, l, p, by)
		}
		if err != nil {
			troubles = append(troubles, Trouble{id, err})
			continue
		}
		acts = append(acts, p.acts...)
	}
	return acts, troubles, nil
}

// settle decides again under the locks of the ticket and its scope, where alone it counts, and acts.
func settle(ctx context.Context, l fslease.Ledger, seen plan, by func() string) (plan, error) {
	var done plan
	err := l.TryUpdate(ctx, seen.keys, func(tx fslease.Tx) error {
		done = plan{}
		now, err := survey(l, tx, seen.id)
		if err != nil || !slices.Equal(now.keys, seen.keys) { // the scope was changed: the next pass sees it
			return err
		}
		if err := now.apply(tx, by); err != nil {
			return err
		}
		done = now
		return nil
	})
	return done, err
}

// IsBusy reports whether a trouble is only that somebody else was changing the ticket.
func (t Trouble) IsBusy() bool {
	var re *fslease.RepositoryError
	return errors.As(t.Err, &re) && re.Fault == fslease.FaultBusy
}
