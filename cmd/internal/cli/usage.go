package cli

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"
)

// A command's help page is made from what the command itself says: UsageText is its synopsis, Usage one
// line for the list, Description what there is to know, with two examples at its end.

func helpCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "help",
		Usage:     "say how lease, or one of its commands, is used",
		UsageText: "lease help [COMMAND...] [--man]",
		Flags:     []cli.Flag{flag("man", "print the man page, for man -l - or a file lease.1")},
		Description: `examples:
  lease help run
  lease help --man | man -l -`,
		Action: func(ctx *cli.Context) error {
			if ctx.Bool("man") {
				return c.answer(c.manual())
			}
			return c.help(ctx.Args().Slice())
		},
	}
}

// help answers with the page of the command that path names, or the overview.
func (c *call) help(path []string) error {
	if len(path) == 0 {
		return c.answer(c.overview())
	}
	s := &sorter{c: &call{}}
	for _, name := range path {
		s.descend(name)
	}
	if s.err != nil {
		return s.err
	}
	return c.answer(page(strings.Join(path, " "), s.command))
}

func (c *call) overview() string {
	var all []*cli.Command
	for _, e := range commands() {
		all = append(all, e.build(c))
	}
	return `lease keeps a key for one owner at a time and survives workers that die

usage: lease [OPTIONS] COMMAND ...

commands:
` + commandList(all) + `
options, before or after the command:
` + optionList(append(globalOptions(),
		flag("help", "say how the command is used", "h"),
		flag("version", "say which version this is"))) + `
example: lease run deploy -- make deploy         if it hangs: lease show deploy

exit codes: 0 yes, 1 no, 64 usage, 74 trouble with the ledger, 75 held, 76 the
token is not current; of run and fenced the command's own, 125 lease's trouble
`
}

// page is the help of one command.
func page(path string, cmd *cli.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "lease %s: %s\n", path, cmd.Usage)
	b.WriteString("usage: " + strings.ReplaceAll(cmd.UsageText, "\n", "\n       ") + "\n")
	if len(cmd.Subcommands) > 0 {
		b.WriteString("\n" + commandList(cmd.Subcommands))
	}
	if len(cmd.Flags) > 0 {
		b.WriteString("\n" + optionList(cmd.Flags))
	}
	if cmd.Description != "" {
		b.WriteString("\n" + cmd.Description + "\n")
	}
	return b.String()
}

func commandList(commands []*cli.Command) string {
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-10s %s\n", c.Name, c.Usage)
	}
	return b.String()
}

func optionList(flags []cli.Flag) string {
	var left, right []string
	for _, f := range flags {
		how, usage := typed(f)
		left, right = append(left, how), append(right, usage)
	}
	wide := 0
	for _, how := range left {
		wide = max(wide, len(how))
	}
	var b strings.Builder
	for i, how := range left {
		fmt.Fprintf(&b, "  %-*s  %s\n", wide, how, right[i])
	}
	return b.String()
}

// typed returns how an option is typed, such as "-n, --no-wait" or "--wait DUR", and what it does.
func typed(f cli.Flag) (how, usage string) {
	names := f.Names()
	how = dashed(names[0])
	for _, short := range names[1:] {
		how = dashed(short) + ", " + how
	}
	usage = f.(cli.DocGenerationFlag).GetUsage()
	if value, rest, ok := strings.Cut(strings.TrimPrefix(usage, "`"), "` "); ok {
		return how + " " + value, rest
	}
	return how, usage
}

// release is the version that this tree is on the way to, or that it is.
const release = "0.1.0"

// commit is set by the linker where the build has no version control to ask (scripts/install does).
var commit string

// version answers with the release and the commit that the binary was built from, if that is known.
func (c *call) version() error {
	revision, changed := commit, ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value
			case "vcs.modified":
				if s.Value == "true" {
					changed = ", changed"
				}
			}
		}
	}
	if c.json {
		return c.value(struct {
			Version string `json:"version"`
			Commit  string `json:"commit"`
		}{release, revision})
	}
	if revision != "" {
		revision = " (commit " + revision[:min(12, len(revision))] + changed + ")"
	}
	return c.answer("lease " + release + revision + "\n")
}
