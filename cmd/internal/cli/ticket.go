package cli

import (
	"os"
	"strconv"

	"github.com/urfave/cli/v2"

	"fslease/fslease"
)

func ticketCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "ticket",
		Usage:     "pieces of work, and the keys that they may touch",
		UsageText: "lease ticket COMMAND ...",
		Subcommands: []*cli.Command{
			ticketAddCommand(c),
			ticketApproveCommand(c),
			ticketStartCommand(c),
			ticketCheckpointCommand(c),
			ticketReviewCommand(c),
			ticketBlockCommand(c),
			ticketDoneCommand(c),
			ticketReopenCommand(c),
			ticketCancelCommand(c),
			ticketLsCommand(c),
			ticketShowCommand(c),
		},
		Description: `PROPOSED -approve-> READY -start-> IN_PROGRESS -review-> REVIEW -done-> DONE
Work that fails, runs out or dies leaves the ticket BLOCKED with the reason.
While it is IN_PROGRESS, BLOCKED or in REVIEW its scope is reserved. From there
it is started again, done, or reopened: READY. All but DONE can be cancelled.

examples:
  lease ticket add 42 --title 'Fix the login' --scope repo/api
  lease ticket approve 42 && lease run --ticket 42 -- ./worker.sh`,
	}
}

// list is an option that may be given several times.
func list(name, value, usage string) cli.Flag {
	return &cli.StringSliceFlag{Name: name, Usage: "`" + value + "` " + usage}
}

// ticket is the one argument as the id of a ticket.
func (o *options) ticket() string {
	switch o.ctx.NArg() {
	case 1:
	case 0:
		o.fail("", "no ticket is given")
	default:
		o.fail("", "more than one ticket is given")
	}
	id := o.ctx.Args().First()
	if err := fslease.CheckTicketID(id); err != nil {
		o.fail(err.(*fslease.ConfigError).Hint, "%v", err)
	}
	return id
}

// ticketToken is this process's token of a ticket, as its environment has it: in LEASE_KEYS, else in
// LEASE_TOKEN if LEASE_TICKET or LEASE_KEY names the ticket; 0 if it has none.
func ticketToken(id string) int64 {
	key := fslease.TicketKey(id)
	if token, ok := under()[key]; ok {
		return token
	}
	if os.Getenv("LEASE_TICKET") != id && os.Getenv("LEASE_KEY") != string(key) {
		return 0
	}
	token, err := strconv.ParseInt(os.Getenv("LEASE_TOKEN"), 10, 64)
	if err != nil || token < 1 {
		return 0
	}
	return token
}
