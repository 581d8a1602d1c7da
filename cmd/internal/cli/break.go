package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/child"
	"fslease/fslease"
)

func breakCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "break",
		Usage:     "take a key away from whoever holds it",
		UsageText: "lease break KEY --reason TEXT [--if-silent DUR]",
		Flags: []cli.Flag{
			text("reason", "TEXT", "why, for the history"),
			text("if-silent", "DUR", "watch so long, and break only if it is not renewed"),
		},
		Description: `The old token is refused from now on, and the holder is told at its next
renewal, and ends its command then (TERM, and KILL after --kill-after). Until
that has ended, or where no holder is left to end it, the next one waits for
it. Of a key that a ticket reserves the session ends; the ticket is
BLOCKED and keeps its scope.

examples:
  lease break task:42 --reason 'the host is gone for good'
  lease show task:42 && lease break task:42 --reason 'its holder hangs'`,
		Action: func(ctx *cli.Context) error {
			o := &options{ctx: ctx}
			key := o.anyKey()
			reason := o.need("reason", "say why: --reason 'the host is gone'")
			silence := o.positive("if-silent", 0)
			if o.err != nil {
				return o.err
			}
			l, err := c.openToChange(ctx.Context)
			if err != nil {
				return err
			}
			look, err := l.leases.Look(ctx.Context, key)
			if err != nil {
				return err
			}
			if look.Reserved {
				return c.breakTicket(l, look.State.Current().Holder.Ticket, reason, silence)
			}
			var broken *fslease.Record
			if silence > 0 {
				broken, err = l.leases.BreakIfSilent(child.Watch().Context(), key, reason, silence)
			} else {
				broken, err = l.leases.Break(ctx.Context, key, reason, nil)
			}
			switch {
			case err != nil:
				return err
			case broken == nil:
				return &noError{fmt.Sprintf("nobody holds %s", key), "lease ls shows what is held"}
			case c.json:
				return c.value(broken)
			}
			c.tell("took %s, generation %d, from %s", key, broken.Generation, describe(broken.Holder))
			return nil
		},
	}
}

// breakTicket ends the session of a ticket.
func (c *call) breakTicket(l *opened, id, reason string, silence time.Duration) error {
	ctx := child.Watch().Context()
	var broken bool
	var err error
	if silence > 0 {
		broken, err = l.leases.BreakTicketIfSilent(ctx, id, reason, l.operator(), silence)
	} else {
		broken, err = l.leases.BreakTicket(ctx, id, reason, l.operator())
	}
	if err != nil {
		return err
	}
	t, err := l.View(ctx).Ticket(id)
	if broken && err != nil {
		return fmt.Errorf("the session of ticket %s is ended, but how the ticket stands now cannot be told: %w", id, err)
	}
	if err != nil || t == nil {
		return err
	}
	free := "lease ticket reopen " + shellWord(id) + " frees its scope"
	switch {
	case !broken:
		return &noError{fmt.Sprintf("nobody works on ticket %s, which is %s", id, t.Status), free}
	case c.json:
		return c.value(t)
	}
	c.tell("ended session %d of ticket %s, which is %s now and keeps its scope; %s", t.Session, id, t.Status, free)
	return nil
}
