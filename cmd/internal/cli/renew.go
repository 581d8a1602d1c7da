package cli

import (
	"github.com/urfave/cli/v2"
)

func renewCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "renew",
		Usage:     "renew the lease of a key",
		UsageText: "lease renew KEY --token N",
		Flags:     []cli.Flag{tokenOption()},
		Description: `Its ttl counts from now again. Whoever has the token may do that.

examples:
  lease renew task:42 --token 7
  lease renew "$LEASE_KEY" --token "$LEASE_TOKEN"`,
		Action: func(ctx *cli.Context) error {
			o := &options{ctx: ctx}
			key, token := o.key(), o.token()
			if o.err != nil {
				return o.err
			}
			l, err := c.openToChange(ctx.Context)
			if err != nil {
				return err
			}
			rec, err := l.leases.RenewToken(ctx.Context, key, token)
			if err != nil || !c.json {
				return err
			}
			return c.value(rec)
		},
	}
}
