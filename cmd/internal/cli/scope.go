package cli

import (
	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/githook"
	"fslease/fslease"
)

func scopeCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "scope",
		Usage:     "compare a ticket's scope with what was really changed",
		UsageText: "lease scope check [--ticket ID] [--base REV]",
		Description: `examples:
  lease scope check
  lease scope check --ticket 42 --base main`,
		Subcommands: []*cli.Command{{
			Name:      "check",
			Usage:     "list what was changed outside it: exit code 0 nothing, 1 some",
			UsageText: "lease scope check [--ticket ID] [--base REV]",
			Flags: []cli.Flag{
				text("ticket", "ID", "the ticket (yours, by $LEASE_TICKET and its token)"),
				text("base", "REV", "count commits since this one (the branch's upstream, if any)"),
			},
			Description: `What was changed is what commits since the base, the index and the work tree
change, files that git does not know yet included. Lists each path outside the
scope, and each key of the scope in which nothing was changed; in a pipe,
tab-separated: outside or untouched, key, path, commit.

examples:
  lease scope check --ticket 42 --base main
  lease scope check --json | jq -r '.outside[].path'`,
			Action: c.checkScope,
		}},
	}
}

// A scopeAnswer is what scope check says under --json.
type scopeAnswer struct {
	Ticket    string        `json:"ticket"`
	Base      string        `json:"base,omitempty"`
	Outside   []outsidePath `json:"outside"`
	Untouched []fslease.Key `json:"untouched"`
}

type outsidePath struct {
	Path   string      `json:"path"`
	Key    fslease.Key `json:"key"`
	Commit string      `json:"commit,omitempty"`
}

var scopeColumns = []column{{name: "what"}, {name: "key", least: 14}, {name: "path", least: 14}, {name: "commit", least: 8, spare: 1}}

func (c *call) checkScope(ctx *cli.Context) error {
	o := &options{ctx: ctx}
	o.none()
	mine := &claims{c: c, as: o.ticketID("ticket")}
	if o.err != nil {
		return o.err
	}
	ticket, err := mine.forScope(ctx)
	if err != nil {
		return err
	}
	report, err := here().CheckScope(ctx.Context, ticket.Scope, o.text("base"))
	if err != nil {
		return err
	}
	if len(report.Outside) > 0 {
		c.exit = 1
	}
	if report.Base == "" {
		c.tell("no commits were looked at: the branch has no upstream, and no --base is given")
	}
	answer := scopeAnswer{Ticket: ticket.ID, Base: report.Base, Outside: []outsidePath{}, Untouched: append([]fslease.Key{}, report.Untouched...)}
	var rows [][]cell
	for _, change := range report.Outside {
		path := githook.Escape(change.Path)
		answer.Outside = append(answer.Outside, outsidePath{path, change.Key, change.Commit})
		rows = append(rows, []cell{{"outside", red}, {escape(string(change.Key)), plain}, {escape(path), plain}, {change.Commit, plain}})
	}
	for _, key := range report.Untouched {
		rows = append(rows, []cell{{"untouched", yellow}, {escape(string(key)), plain}, {}, {}})
	}
	if c.json {
		return c.value(answer)
	}
	return writeTable(c.stdout, c.screen(), scopeColumns, rows)
}

// forScope returns the ticket of --ticket, or else the caller's own.
func (c *claims) forScope(ctx *cli.Context) (*fslease.Ticket, error) {
	named := c.as
	err := c.open(ctx.Context)
	switch {
	case err == githook.ErrNoLedger && named != "":
		return nil, usage("", "there is no ticket %s: there is no ledger yet", named)
	case err != nil && err != githook.ErrNoLedger:
		return nil, err
	case named != "":
		return c.ticket(named)
	case c.own == nil:
		return nil, usage("name one with --ticket", "no ticket is known to be yours")
	}
	return c.own, nil
}
