package cli

import (
	"fmt"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/child"
	"fslease/fslease"
)

func transferCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "transfer",
		Usage:     "hand a lease to another process, and print the new token",
		UsageText: "lease transfer KEY --token N --to-pid PID [--wait DUR | -n]",
		Flags:     append([]cli.Flag{tokenOption(), text("to-pid", "PID", "the process that holds from now on")}, waitOptions()...),
		Description: `The old token is not current any more. A command that still runs under it is
waited for.

examples:
  lease transfer task:42 --token 7 --to-pid $$
  token=$(lease transfer task:42 --token 7 --to-pid 4242 -n)`,
		Action: c.transfer,
	}
}

func (c *call) transfer(ctx *cli.Context) error {
	o := &options{ctx: ctx}
	key, token, pid, wait := o.key(), o.token(), o.pid("to-pid"), o.wait()
	if o.err != nil {
		return o.err
	}
	l, err := c.openToChange(ctx.Context)
	if err != nil {
		return err
	}
	to, err := l.heir(pid)
	if err != nil {
		return err
	}
	signal.Ignore(syscall.SIGPIPE) // a reader that has gone must not keep this process from saying so
	w := c.waiting()
	rec, err := l.leases.Transfer(child.Watch().Context(), key, token, to, wait, w.tell)
	w.done()
	if err != nil {
		return err
	}
	if err := c.granted([]fslease.Record{rec}); err != nil {
		return fmt.Errorf("%w; pid %d holds it now, under generation %d", err, pid, rec.Generation)
	}
	return nil
}
