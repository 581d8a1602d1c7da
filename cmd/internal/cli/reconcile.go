package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"fslease/reconcile"
)

func reconcileCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "reconcile",
		Usage:     "end sessions of tickets that lapsed",
		UsageText: "lease reconcile [--dry-run]",
		Flags:     []cli.Flag{flag("dry-run", "say what would be done, and do nothing")},
		Description: `A session without a checkpoint in time, or whose process has died, is ended, and
its ticket is BLOCKED with the reason and keeps its scope. Every command that
changes something does that first, so that this one is for looking. It waits for
nobody: a ticket that somebody else is changing is left to the next command. In
a pipe the lines are tab-separated: ticket, session, act, reason.

examples:
  lease reconcile --dry-run
  lease reconcile --json | jq -r '.acts[] | .ticket + " " + .reason'`,
		Action: func(ctx *cli.Context) error {
			o := &options{ctx: ctx}
			if o.none(); o.err != nil {
				return o.err
			}
			l, err := c.open()
			if err != nil {
				return err
			}
			acts, troubles, err := reconcile.Run(ctx.Context, l, l.operator, o.flag("dry-run"))
			if err != nil {
				return err
			}
			for _, t := range troubles {
				if code := c.trouble(t); c.exit == 0 {
					c.exit = code
				}
			}
			return c.acts(acts)
		},
	}
}

var actColumns = []column{{name: "ticket", least: 8}, {name: "session"}, {name: "act"}, {name: "reason", least: 12}}

func (c *call) acts(acts []reconcile.Act) error {
	if c.json {
		return c.value(struct {
			Acts []reconcile.Act `json:"acts"`
		}{append([]reconcile.Act{}, acts...)})
	}
	var rows [][]cell
	for _, a := range acts {
		session := ""
		if a.Session > 0 {
			session = fmt.Sprint(a.Session)
		}
		rows = append(rows, []cell{{escape(a.Ticket), plain}, {session, plain}, {a.What, plain}, {escape(a.Reason), plain}})
	}
	var b strings.Builder
	if err := writeTable(&b, c.screen(), actColumns, rows); err != nil {
		return err
	}
	return c.answer(b.String())
}

// openToChange is open for a command that changes the ledger: it makes the pass first. Trouble with a ticket
// is told, and stops only who needs that ticket.
func (c *call) openToChange(ctx context.Context) (*opened, error) {
	l, err := c.open()
	if err != nil {
		return nil, err
	}
	acts, troubles, err := reconcile.Run(ctx, l, l.operator, false)
	if err != nil {
		c.fail(err)
	}
	for _, t := range troubles {
		c.trouble(t)
	}
	if c.verbose {
		for _, a := range acts {
			c.tell("ticket %s: %s: %s", a.Ticket, strings.ReplaceAll(a.What, "_", " "), a.Reason)
		}
	}
	return l, nil
}

// openIf is openToChange for a command that only looks unless change is set.
func (c *call) openIf(ctx context.Context, change bool) (*opened, error) {
	if change {
		return c.openToChange(ctx)
	}
	return c.open()
}

// trouble tells what is wrong with a ticket, and returns the exit code that it means: that somebody else is
// changing it is none.
func (c *call) trouble(t reconcile.Trouble) int {
	if t.IsBusy() {
		c.tell("ticket %s is being changed by somebody else, and left to the next command", t.Ticket)
		return 0
	}
	return c.fail(t.Err)
}

// operator is who does something, for the histories of tickets.
func (l *opened) operator() string {
	self, err := l.processes.Self()
	if err != nil {
		return "unknown"
	}
	return self.User + "@" + self.Host
}
