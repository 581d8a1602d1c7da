package cli

import (
	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/child"
)

func waitCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "wait",
		Usage:     "wait until a key is free",
		UsageText: "lease wait KEY [--wait DUR | -n]",
		Flags:     waitOptions(),
		Description: `Waits until nothing that overlaps the key is held, and no command of an
earlier holder is left. It takes no place in the queue and reserves nothing.
Exit code 75 if that has not come in time.

examples:
  lease wait deploy && echo 'deploy is free'
  lease wait -n repo || lease show repo`,
		Action: func(ctx *cli.Context) error {
			o := &options{ctx: ctx}
			key, wait := o.anyKey(), o.wait()
			if o.err != nil {
				return o.err
			}
			signals := child.Watch()
			l, err := c.open()
			if err != nil {
				return err
			}
			w := c.waiting()
			defer w.done()
			return l.leases.WaitFree(signals.Context(), key, wait, under(), w.tell)
		},
	}
}
