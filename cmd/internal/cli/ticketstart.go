package cli

import (
	"context"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/child"
	"fslease/fslease"
)

func ticketStartCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "start",
		Usage:     "open a session: reserve the scope, print the token",
		UsageText: "lease ticket start ID [--lease DUR] [--pid PID] [--wait DUR | -n]",
		Flags: []cli.Flag{
			text("lease", "DUR", "how long the session lasts without a checkpoint (15m)"),
			text("pid", "PID", "the session also ends with this process ($$: the shell)"),
			text("wait", "DUR", "wait this long for leases, tickets and commands in the way"),
			flag("no-wait", "wait for nothing, not even for a command that has not ended", "n"),
		},
		Description: `A ticket that is READY, BLOCKED or in REVIEW. All keys of the scope are reserved
or none. Who is in the way is told at once, exit code 75; commands of earlier
holders that still run are waited for. The answer is the token for checkpoint,
review, block and done.

examples:
  token=$(lease ticket start 42)
  lease ticket start 42 --pid $$ --lease 1h`,
		Action: c.startTicket,
	}
}

func (c *call) startTicket(ctx *cli.Context) error {
	o := &options{ctx: ctx}
	id, pid := o.ticket(), 0
	if o.has("pid") {
		pid = o.pid("pid")
	}
	forever := fslease.Forever
	start := fslease.Start{Ticket: id, Lease: o.positive("lease", 0), FenceWait: &forever}
	if o.has("wait") || o.flag("no-wait") {
		start.Wait, start.FenceWait = o.wait(), nil
	}
	if o.err != nil {
		return o.err
	}
	l, err := c.openToChange(ctx.Context)
	if err != nil {
		return err
	}
	start.Under = under()
	if pid != 0 {
		to, err := l.heir(pid)
		if err != nil {
			return err
		}
		start.Bound = &to.Holder
	}
	start.By = l.operator()
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone must not end this process before it gave back
	w := c.waiting()
	defer w.done()
	start.Waiting = w.tell
	session, err := l.leases.StartTicket(child.Watch().Context(), start)
	if err != nil {
		return err
	}
	if c.json {
		err = c.value(session)
	} else {
		err = c.answer(fmt.Sprintf("%d\n", session.Generation))
	}
	if err != nil {
		_, _ = l.leases.TicketAct(context.Background(), id, fslease.Act{ // err says what went wrong
			Verb: fslease.VerbBlock, Token: session.Generation, Reason: "nobody could be told the token", By: start.By,
		})
		return fmt.Errorf("%w; the ticket is BLOCKED", err)
	}
	return nil
}
