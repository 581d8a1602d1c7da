package cli

import (
	"github.com/urfave/cli/v2"

	"fslease/fslease"
)

func releaseCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "release",
		Usage:     "give a key back",
		UsageText: "lease release KEY --token N",
		Flags:     []cli.Flag{tokenOption()},
		Description: `Whoever has the token may do that, once: the second time the token is not
current, exit code 76.

examples:
  lease release task:42 --token 7
  lease release "$LEASE_KEY" --token "$LEASE_TOKEN"`,
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
			err = l.leases.ReleaseToken(ctx.Context, key, token)
			if err != nil || !c.json {
				return err
			}
			return c.value(generation{key, token})
		},
	}
}

// A generation of a key, as an answer.
type generation struct {
	Key        fslease.Key `json:"key"`
	Generation int64       `json:"generation"`
}
