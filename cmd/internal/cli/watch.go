package cli

import (
	"bufio"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/child"
	"fslease/ledgerfs"
)

func watchCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "watch",
		Usage:     "tell each change as it comes",
		UsageText: "lease watch [PREFIX]",
		Description: `A line for each change from now on, until it is interrupted: granted, released,
taken over, broken, transferred, and what becomes of tickets. PREFIX is a key,
by segments. With --json one value a line. lease log tells what was before.

examples:
  lease watch repo
  lease watch --json | jq -r 'select(.event == "released") | .key'`,
		Action: func(ctx *cli.Context) error {
			o := &options{ctx: ctx}
			filter := ledgerfs.Filter{New: true}
			if ctx.NArg() > 0 {
				filter.Prefix = o.anyKey()
			}
			if o.err != nil {
				return o.err
			}
			signals := child.Watch()
			l, err := c.open()
			if err != nil {
				return err
			}
			h := &history{c: c, screen: c.screen(), follow: true, out: bufio.NewWriter(c.stdout)}
			return h.write(signals.Context(), l.Ledger, filter)
		},
	}
}
