package cli

import (
	"os"

	"github.com/urfave/cli/v2"

	"fslease/ledgerfs"
)

func initCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "init",
		Usage:     "make a ledger here",
		UsageText: "lease init [--shared]",
		Flags:     []cli.Flag{flag("shared", "for everybody in the directory's group")},
		Description: `In a git repository it is made in the common directory, which all worktrees
share, elsewhere as ./.lease. --ledger and $LEASE_LEDGER name another place.

examples:
  lease init
  lease --ledger /srv/ci/lease init --shared`,
		Action: func(ctx *cli.Context) error {
			o := &options{ctx: ctx}
			if o.none(); o.err != nil {
				return o.err
			}
			path, err := c.initPath()
			if err != nil {
				return err
			}
			made, err := ledgerfs.Init(path, o.flag("shared"))
			switch {
			case err != nil:
				return err
			case c.json:
				return c.value(struct {
					Ledger  string `json:"ledger"`
					Created bool   `json:"created"`
				}{path, made})
			case made:
				return c.answer("made the ledger " + escape(path) + "\n")
			}
			return c.answer(escape(path) + " is a ledger already\n")
		},
	}
}

// initPath is where a ledger is named, or the place that suits the working directory.
func (c *call) initPath() (string, error) {
	if c.ledgerDir != "" || os.Getenv("LEASE_LEDGER") != "" {
		return ledgerfs.Find(ledgerfs.FindOptions{Dir: c.ledgerDir})
	}
	return ledgerfs.InitPath()
}
