package cli

import (
	"time"

	"github.com/urfave/cli/v2"
)

func gcCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "gc",
		Usage:     "remove what nobody needs any more",
		UsageText: "lease gc [--older-than DUR] [--dry-run]",
		Flags: []cli.Flag{
			text("older-than", "DUR", "what was given up, ended or set aside longer ago (30d)"),
			flag("dry-run", "say what would be removed, and remove nothing"),
		},
		Description: `Removes tombstones, lock files of keys of which nothing else is left, ended
sessions, whole months of the journal and damaged files that were set aside, if
they are old; and whatever crashes left behind. Tickets stay. It may run at any
time: what is in use is left for the next time, and no generation is ever handed
out again.

examples:
  lease gc --dry-run
  lease gc --older-than 7d`,
		Action: func(ctx *cli.Context) error {
			o := &options{ctx: ctx}
			o.none()
			age, dry := o.duration("older-than", 30*24*time.Hour), o.flag("dry-run")
			if o.err != nil {
				return o.err
			}
			l, err := c.openIf(ctx.Context, !dry)
			if err != nil {
				return err
			}
			got, err := l.Collect(ctx.Context, age, dry)
			if err != nil {
				return err
			}
			if got.Busy > 0 {
				c.tell("%d keys were in use and are left for the next time", got.Busy)
			}
			what := got.String()
			switch {
			case c.json:
				return c.value(got)
			case what == "":
				return c.answer("there is nothing to remove\n")
			case dry:
				return c.answer("would remove " + what + "\n")
			}
			return c.answer("removed " + what + "\n")
		},
	}
}
