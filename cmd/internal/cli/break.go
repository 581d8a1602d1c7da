package cli

import (
	"fmt"

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
renewal. A command that still runs under the lease is not ended: the next one
waits for it.

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
			l, err := c.open()
			if err != nil {
				return err
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
