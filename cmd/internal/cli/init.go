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
			before := c.foundHere()
			made, err := ledgerfs.Init(path, o.flag("shared"))
			if err != nil {
				return err
			}
			c.tellOther(path, before)
			switch {
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
	if c.namesLedger() {
		return ledgerfs.Find(ledgerfs.FindOptions{Dir: c.ledgerDir})
	}
	return ledgerfs.InitPath()
}

// namesLedger reports whether the user says which ledger it is, so that none is looked for.
func (c *call) namesLedger() bool { return c.ledgerDir != "" || os.Getenv("LEASE_LEDGER") != "" }

// foundHere is the ledger that is found from the working directory, "" if there is none or another is named.
func (c *call) foundHere() string {
	if c.namesLedger() {
		return ""
	}
	return ledgerfs.FindHere()
}

// tellOther says that beside the ledger at path there is the one that was found here before: it is used above as
// before, and may be found here still.
func (c *call) tellOther(path, before string) {
	switch {
	case before == "" || before == path:
	case c.foundHere() == path:
		c.tell("until now the ledger here was %s, which is used above as before: what is held in one of them is free in the other", before)
	default:
		c.tell("the ledger that is found here is still %s; --ledger or LEASE_LEDGER names another", before)
	}
}
