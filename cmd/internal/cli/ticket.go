package cli

import (
	"fmt"
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
		hint := o.callEach("ticket")
		if o.ctx.Command.Name == "add" {
			hint = fmt.Sprintf("a key of its scope is --scope %s; a title of several words stands in quotes", shellWord(o.ctx.Args().Get(1)))
		}
		o.fail(hint, "more than one ticket is given")
	}
	id := o.ctx.Args().First()
	o.refuse("", fslease.CheckTicketID(id))
	return id
}

// ticketToken is this process's token of a ticket, as its environment has it: in LEASE_KEYS, else in
// LEASE_TOKEN, unless LEASE_TICKET or LEASE_KEY says that it is the token of something else: tokens are
// small numbers, and another key's may well be the same. 0 if it has none.
func ticketToken(id string) int64 {
	key := fslease.TicketKey(id)
	if token, ok := under()[key]; ok {
		return token
	}
	ticket, first := os.Getenv("LEASE_TICKET"), os.Getenv("LEASE_KEY")
	if ticket != id && first != string(key) && (ticket != "" || first != "") {
		return 0
	}
	token, err := strconv.ParseInt(os.Getenv("LEASE_TOKEN"), 10, 64)
	if err != nil || token < 1 {
		return 0
	}
	return token
}
