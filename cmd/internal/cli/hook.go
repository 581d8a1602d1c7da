package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/githook"
	"fslease/fslease"
)

func hookCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "hook",
		Usage:     "git hooks that refuse what is somebody else's",
		UsageText: "lease hook install [--dry-run]\nlease hook uninstall [--dry-run]\nlease hook status\nlease hook run NAME ...",
		Description: `The file api/handler.go is the key repo/api/handler.go; git config lease.prefix
names another first segment. With git config lease.strict true they refuse also
what no ticket of your own declares; with lease.onError allow they let pass what
cannot be told.

examples:
  lease hook install
  lease hook status`,
		Subcommands: []*cli.Command{
			{
				Name:      "install",
				Usage:     "put the hooks where git looks for them",
				UsageText: "lease hook install [--dry-run]",
				Flags:     []cli.Flag{dryRun()},
				Description: `Installs pre-commit, pre-push and prepare-commit-msg. A hook that is there is
renamed beside itself, to NAME.lease-prev, and asked first. Where the pre-commit
framework, husky or lefthook runs the hooks, the lines to add are printed and
nothing is changed.

examples:
  lease hook install --dry-run
  lease hook install`,
				Action: func(ctx *cli.Context) error {
					err := c.changeHooks(ctx, githook.Install)
					if err == nil {
						c.tellUnshared()
					}
					return err
				},
			},
			{
				Name:      "uninstall",
				Usage:     "take the hooks away, and bring back those that were there",
				UsageText: "lease hook uninstall [--dry-run]",
				Flags:     []cli.Flag{dryRun()},
				Description: `examples:
  lease hook uninstall --dry-run
  lease hook uninstall`,
				Action: func(ctx *cli.Context) error { return c.changeHooks(ctx, githook.Uninstall) },
			},
			{
				Name:      "status",
				Usage:     "ask whether git asks lease: exit code 0 yes, 1 no",
				UsageText: "lease hook status",
				Description: `Looks in every worktree. Git is made to run each hook of lease's, which does
nothing then but answer. In a pipe the lines are tab-separated: worktree, hook,
ok or no, path, why.

examples:
  lease hook status
  lease hook status --json | jq '.hooks[] | select(.ok | not)'`,
				Action: c.hookStatus,
			},
			hookRunCommand(c),
		},
	}
}

func dryRun() cli.Flag { return flag("dry-run", "say what would be done, and do nothing") }

// here is the repository of the working directory.
func here() githook.Repo { return githook.At(".", os.Environ()) }

// changeHooks carries out a plan, or shows it.
func (c *call) changeHooks(ctx *cli.Context, plan func(context.Context, githook.Repo) (githook.Plan, error)) error {
	o := &options{ctx: ctx}
	if o.none(); o.err != nil {
		return o.err
	}
	p, err := plan(ctx.Context, here())
	if e, refused := errors.AsType[*fslease.ConfigError](err); refused {
		return &noError{e.What, e.Hint}
	}
	if err != nil {
		return err
	}
	if !o.flag("dry-run") {
		if err := p.Do(); err != nil {
			return err
		}
	}
	for _, note := range p.Notes {
		c.tell("%s", note)
	}
	return c.showPlan(p)
}

// tellUnshared says that the hooks of this repository ask a ledger that is no place where its users meet.
func (c *call) tellUnshared() {
	if c.namesLedger() || c.foundHere() != "" {
		return
	}
	c.tell("this repository has no ledger of its own: its hooks ask the default ledger of whoever commits, which nobody else shares")
	c.tell("hint: lease init makes one for all worktrees, lease init --shared one that others of the group can use too")
}

func (c *call) showPlan(p githook.Plan) error {
	if c.json {
		p.Steps = append([]githook.Step{}, p.Steps...)
		return c.value(p)
	}
	text := ""
	for _, s := range p.Steps {
		text += escape(s.String()) + "\n"
	}
	for _, f := range p.Frameworks {
		c.tell("%s runs the hooks of this repository (%s): nothing is changed, these lines are to be added", f.Name, f.Seen)
		for _, add := range f.Add {
			text += fmt.Sprintf("==> %s\n%s", add.File, add.Text)
		}
	}
	return c.answer(text)
}

var hookColumns = []column{{name: "worktree", least: 10}, {name: "hook"}, {name: "asks"}, {name: "path", least: 12, spare: 1}, {name: "why", least: 20}}

func (c *call) hookStatus(ctx *cli.Context) error {
	o := &options{ctx: ctx}
	if o.none(); o.err != nil {
		return o.err
	}
	all, err := githook.Status(ctx.Context, here())
	if err != nil {
		return err
	}
	c.tellUnshared()
	var rows [][]cell
	for _, s := range all {
		word := cell{"ok", green}
		if !s.OK {
			c.exit = 1
			word = cell{"no", red}
		}
		rows = append(rows, []cell{{escape(s.Worktree), plain}, {s.Hook, plain}, word, {escape(s.Path), plain}, {escape(s.Reason), plain}})
	}
	if c.json {
		return c.value(struct {
			Hooks []githook.HookStatus `json:"hooks"`
		}{all})
	}
	return writeTable(c.stdout, c.screen(), hookColumns, rows)
}
