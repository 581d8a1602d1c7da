package cli

import (
	"context"
	"os"
	"strings"

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

// runInScope runs the command on keys that are reserved for the ticket on which this process works. The
// records stay the ticket's; only the fence is taken, or joined where it is held around this process.
func (c *call) runInScope(l *opened, r runOptions, own []fslease.Record, signals *child.Signals) error {
	var take []fslease.Key
	for _, rec := range own {
		joined, err := l.joins(signals.Context(), rec)
		if err != nil {
			return c.refusedToRun(r, err)
		}
		if !joined {
			take = append(take, rec.Key)
		}
	}
	limit := r.request.Wait
	if r.request.FenceWait != nil {
		limit = *r.request.FenceWait
	}
	w := c.waiting()
	fence, err := l.leases.FenceInScope(signals.Context(), own, take, limit, w.tell)
	w.done()
	if err != nil {
		return c.refusedToRun(r, err)
	}
	fences := fenceSetOf(fence)
	if r.exec {
		err := child.Exec(child.Command{Argv: c.argv, Env: environment(l.Path(), own), Inherit: fences.descriptors()})
		_ = fences.Unlock()
		return err
	}
	status, err := c.runIn(l, fences, own, r.tree)
	if err != nil {
		return err
	}
	c.exit = status.Code
	_, err = l.leases.FenceInScope(context.Background(), own, nil, 0, nil) // takes nothing: was it lost meanwhile?
	return c.heldThroughout(err)
}
