package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"fslease/cmd/internal/child"
	"fslease/fslease"
)

// inScope returns those of keys that lie in the scope of a ticket on which this process works, by the token
// in its environment: all of them, or none. A token that is not current is refused if the environment names
// the ticket; a mere LEASE_TOKEN may be that of anything.
func (l *opened) inScope(ctx context.Context, keys []fslease.Key) ([]fslease.Record, error) {
	first, token := os.Getenv("LEASE_KEY"), os.Getenv("LEASE_TOKEN")
	named := os.Getenv("LEASE_TICKET") != "" || strings.Contains(first+" "+os.Getenv("LEASE_KEYS"), fslease.TicketPrefix)
	if !named && (token == "" || first != "") {
		return nil, nil // nothing needs to be read
	}
	own, rest, err := l.leases.InScope(ctx, keys, ticketToken)
	if !named && is[*fslease.LostError](err) {
		return nil, nil
	}
	if err == nil && len(own) > 0 && len(rest) > 0 {
		err = usage("run one command inside the other: lease run "+shellWord(string(rest[0]))+" -- lease run "+shellWord(string(own[0].Key))+" -- COMMAND",
			"%s is reserved for this by ticket %s, but %s is not", own[0].Key, own[0].Holder.Ticket, rest[0])
	}
	return own, err
}

// notJoined returns those of leases under which this process does not run already, so that it has to take their fence.
func (l *opened) notJoined(ctx context.Context, leases []fslease.Record) (take []fslease.Record, err error) {
	for _, rec := range leases {
		joined, err := l.joins(ctx, rec)
		if err != nil {
			return nil, err
		}
		if !joined {
			take = append(take, rec)
		}
	}
	return take, nil
}

// runUnder runs the command under leases that others hold for it, or a ticket on which this process works. The records stay theirs; only
// the fence is taken, or joined where it is held around this process.
func (c *call) runUnder(l *opened, r runOptions, own []fslease.Record, signals *child.Signals) error {
	fence, err := c.borrow(l, own, 0, signals)
	if held, is := errors.AsType[*fslease.HeldError](err); is && held.Keepers != nil {
		limit := r.request.Wait
		if r.request.FenceWait != nil {
			limit = *r.request.FenceWait
		}
		// Somebody may have taken it since it was looked at whether it is to be joined: that is asked again.
		fence, err = c.borrow(l, own, limit, signals)
	}
	if err != nil {
		return c.refusedToRun(r, err)
	}
	if r.exec {
		return c.execNoted(l, own, own, borrowed{fence})
	}
	status, err := c.runIn(l, borrowed{fence}, own, r.tree)
	if err != nil {
		return err
	}
	c.exit = status.Code
	return c.heldThroughout(l.current(context.Background(), own))
}

// borrow takes the fences of leases of others within limit, but for those that are joined. It is nil if all are.
func (c *call) borrow(l *opened, own []fslease.Record, limit time.Duration, signals *child.Signals) (fslease.Fence, error) {
	apart, err := l.notJoined(signals.Context(), own)
	if err != nil {
		return nil, err
	}
	var take []fslease.Key
	for _, rec := range apart {
		take = append(take, rec.Key)
	}
	w := c.waiting()
	defer w.done()
	return l.leases.FenceUnder(signals.Context(), own, take, limit, w.tell)
}

// current fails if one of the leases is not current any more.
func (l *opened) current(ctx context.Context, leases []fslease.Record) error {
	if len(leases) == 0 {
		return nil
	}
	_, err := l.leases.FenceUnder(ctx, leases, nil, 0, nil) // takes nothing
	return err
}
