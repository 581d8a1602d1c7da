package cli

import (
	"github.com/urfave/cli/v2"

	"fslease/fslease"
)

func ticketAddCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "add",
		Usage:     "propose a ticket",
		UsageText: "lease ticket add ID [--title TEXT] [--scope KEY]...",
		Flags: []cli.Flag{
			text("title", "TEXT", "what it is about"),
			list("scope", "KEY", "a key that the work may touch; may be given several times"),
		},
		Description: `ID is one word without a slash. A scope key covers all that is below it. Work on
the ticket can start once it is approved.

examples:
  lease ticket add 42 --title 'Fix it' --scope repo/api --scope terminal-1
  lease ticket add fix-login --scope repo/web/login`,
		Action: func(ctx *cli.Context) error {
			o := &options{ctx: ctx}
			id := o.ticket()
			var scope []fslease.Key
			for _, name := range ctx.StringSlice("scope") {
				scope = append(scope, o.parseKey(name))
			}
			if o.err != nil {
				return o.err
			}
			l, err := c.openToChange(ctx.Context)
			if err != nil {
				return err
			}
			return c.ticket(l.leases.AddTicket(ctx.Context, id, o.text("title"), scope, l.operator()))
		},
	}
}

func ticketApproveCommand(c *call) *cli.Command {
	return actCommand(c, fslease.VerbApprove, "let the work on a ticket start: READY", `Only a ticket that is PROPOSED can be approved.

examples:
  lease ticket approve 42
  lease ticket approve 42 && lease run --ticket 42 -- ./worker.sh`)
}

func ticketCheckpointCommand(c *call) *cli.Command {
	return actCommand(c, fslease.VerbCheckpoint, "say that the work goes on: the session lasts anew", `Without a checkpoint in time the session ends, and the ticket is BLOCKED.
`+tokenRule+`

examples:
  lease ticket checkpoint 42 --token 7 --note 'tests pass'
  lease ticket checkpoint "$LEASE_TICKET"`)
}

func ticketReviewCommand(c *call) *cli.Command {
	return actCommand(c, fslease.VerbReview, "end the session: the work is to be looked at", `In REVIEW the ticket keeps its scope, until somebody says done, reopen or
cancel, or starts it again.
`+tokenRule+`

examples:
  lease ticket review 42 --token 7 --note 'see branch fix-login'
  lease ticket review 42 --force --reason 'the worker forgot'`)
}

func ticketBlockCommand(c *call) *cli.Command {
	return actCommand(c, fslease.VerbBlock, "end the session: the work cannot go on", `BLOCKED the ticket keeps its scope, until somebody says done, reopen or
cancel, or starts it again.
`+tokenRule+`

examples:
  lease ticket block 42 --token 7 --note 'needs a decision about the schema'
  lease ticket block 42 --force --reason 'wrong branch'`)
}

func ticketDoneCommand(c *call) *cli.Command {
	return actCommand(c, fslease.VerbDone, "the work is finished: DONE, the scope is free", `From BLOCKED and REVIEW no token is needed.
`+tokenRule+`

examples:
  lease ticket done 42
  lease ticket done 42 --token 7 --note 'merged'`)
}

func ticketReopenCommand(c *call) *cli.Command {
	return actCommand(c, fslease.VerbReopen, "back to READY, the scope is free", `From BLOCKED and REVIEW. To go on with the scope reserved, start it again
instead.

examples:
  lease ticket reopen 42
  lease ticket reopen 42 --reason 'the review found nothing finished'`)
}

func ticketCancelCommand(c *call) *cli.Command {
	return actCommand(c, fslease.VerbCancel, "the work will not be done: CANCELLED, the scope is free", `From anywhere but DONE. A ticket that is IN_PROGRESS needs its token or --force.

examples:
  lease ticket cancel 42 --reason 'a duplicate of 41'
  lease ticket cancel 42 --force --reason 'it touches the wrong files'`)
}

const tokenRule = `The token is what start printed; without --token it is taken from LEASE_KEYS or
LEASE_TOKEN.`

// actCommand is one transition of a ticket, or a checkpoint.
func actCommand(c *call, verb fslease.Verb, usage, description string) *cli.Command {
	words := "lease ticket " + string(verb) + " ID"
	var flags []cli.Flag
	switch verb {
	case fslease.VerbApprove:
	case fslease.VerbReopen, fslease.VerbCancel:
		words += " [--token N | --force --reason TEXT]"
		flags = forceOptions()
	default:
		words += " (--token N | --force --reason TEXT)\n    [--note TEXT]"
		flags = append(forceOptions(), text("note", "TEXT", "for the history"))
	}
	return &cli.Command{
		Name: string(verb), Usage: usage, UsageText: words, Flags: flags, Description: description,
		Action: func(ctx *cli.Context) error {
			o := &options{ctx: ctx}
			id := o.ticket()
			act := o.act(verb, id)
			if o.err != nil {
				return o.err
			}
			l, err := c.openToChange(ctx.Context)
			if err != nil {
				return err
			}
			if act.Token == 0 && !act.Force && verb != fslease.VerbApprove {
				act.Token = ticketToken(id) // who lost a session must not act as if there had been none
			}
			act.By = l.operator()
			return c.ticket(l.leases.TicketAct(ctx.Context, id, act))
		},
	}
}

func forceOptions() []cli.Flag {
	return []cli.Flag{
		text("token", "N", "the token of the session: what start printed"),
		flag("force", "as an operator, without the token"),
		text("reason", "TEXT", "why, for the history"),
	}
}

// act is what is asked for, with the token if one is given.
func (o *options) act(verb fslease.Verb, id string) fslease.Act {
	act := fslease.Act{Verb: verb, Force: o.flag("force"), Reason: o.text("reason")}
	if verb != fslease.VerbReopen && verb != fslease.VerbCancel {
		act.Note = o.note()
	}
	switch {
	case act.Force && o.has("token"):
		o.fail("leave one of them out", "--force and --token contradict each other")
	case act.Force:
		act.Reason = o.need("reason", "say why: --reason 'the worker is gone'")
	case o.has("token"):
		act.Token = o.token()
	}
	o.refuse("--reason: ", fslease.CheckNote(act.Reason))
	return act
}

// ticket answers with a ticket as it is now: for a program, people are told nothing that they did not type.
func (c *call) ticket(t fslease.Ticket, err error) error {
	if err != nil || !c.json {
		return err
	}
	return c.value(t)
}
