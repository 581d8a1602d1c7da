package cli

import (
	"github.com/urfave/cli/v2"

	"fslease/fslease"
)

func checkCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "ask whether a key is held: exit code 0 yes, 1 no",
		UsageText: "lease check KEY [--token N]",
		Flags:     []cli.Flag{text("token", "N", "ask whether it is held with this token")},
		Description: `Asks about just this key, not about those above or below it. A holder that is
proven dead, or was silent past its ttl, does not hold.

examples:
  lease check deploy || echo 'nobody deploys'
  lease check task:42 --token 7 && echo 'still mine'`,
		Action: func(ctx *cli.Context) error {
			o := &options{ctx: ctx}
			key := o.anyKey()
			var token int64
			if o.has("token") {
				token = o.token()
			}
			if o.err != nil {
				return o.err
			}
			l, err := c.open()
			if err != nil {
				return err
			}
			held, err := l.leases.Check(ctx.Context, key, token)
			if token == 0 && hasFault(err, fslease.FaultNewer) {
				held, err = true, nil // by somebody whom this version does not understand
			}
			if err != nil {
				return err
			}
			if !held {
				c.exit = 1
			}
			if !c.json {
				return nil
			}
			return c.value(struct {
				Key  fslease.Key `json:"key"`
				Held bool        `json:"held"`
			}{key, held})
		},
	}
}
