// Package cli is the command line of lease: what is typed, what is answered, and what an exit code means.
// It is the only place that knows urfave/cli, and it decides nothing about leases.
package cli

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// A call is one run of the tool.
type call struct {
	stdout, stderr *os.File
	talking        sync.Once // see talk

	json, quiet, verbose bool
	ledgerDir            string // --ledger, "" if it was not given

	path    []string // the command's name, of a subcommand with the one above it
	wrapper bool     // run or fenced: the exit code belongs to their command
	argv    []string // run and fenced: the command, which follows --
	exit    int      // what the command line ends with, unless an error says otherwise
	telling sync.Mutex
	told    []string // errors
}

// An entry of the table of commands. Only the command that is asked for is built.
type entry struct {
	name  string
	build func(*call) *cli.Command
}

// commands lists every command, in the order of the help page.
func commands() []entry {
	return []entry{
		{"run", runCommand},
		{"acquire", acquireCommand},
		{"renew", renewCommand},
		{"release", releaseCommand},
		{"transfer", transferCommand},
		{"check", checkCommand},
		{"fenced", fencedCommand},
		{"break", breakCommand},
		{"ls", lsCommand},
		{"show", showCommand},
		{"log", logCommand},
		{"wait", waitCommand},
		{"watch", watchCommand},
		{"ticket", ticketCommand},
		{"reconcile", reconcileCommand},
		{"scope", scopeCommand},
		{"hook", hookCommand},
		{"init", initCommand},
		{"doctor", doctorCommand},
		{"gc", gcCommand},
		{"completion", completionCommand},
		{"help", helpCommand},
	}
}

// wrappers are the commands that run a command of the user: what follows -- is its argv, and trouble of
// lease's own is exit code 125.
var wrappers = map[string]bool{"run": true, "fenced": true}

// Run runs the command line args, which does not contain the program's name, and returns the exit code.
// Whatever was held by this process is given back when it returns.
func Run(args []string) int {
	c := &call{stdout: os.Stdout, stderr: os.Stderr}
	if err := c.run(args); err != nil {
		return c.fail(err)
	}
	return c.exit
}

func (c *call) run(args []string) error {
	if len(args) > 0 && args[0] == completeWord {
		return c.complete(args[1:])
	}
	if len(args) == 2 && args[0] == lockWord {
		return c.tryLock(args[1])
	}
	line, err := c.sort(args)
	if few := tooFewFiles(); few != nil {
		return few
	}
	switch {
	case line.help:
		return c.help(c.path)
	case line.version:
		return c.version()
	case err != nil:
		return err
	}
	// urfave/cli ends the process for some errors, past every defer, and prints a page for others, unless
	// it is told not to. Its own help is off: it would take the keys h and help for itself.
	app := &cli.App{
		Name:     "lease",
		Flags:    line.global,
		Commands: []*cli.Command{line.command},
		Before: func(ctx *cli.Context) error {
			c.json, c.quiet, c.verbose = ctx.Bool("json"), ctx.Bool("quiet"), ctx.Bool("verbose")
			c.ledgerDir = ctx.String("ledger")
			return nil
		},
		HideHelp:                  true,
		HideVersion:               true,
		DisableSliceFlagSeparator: true, // a key may contain a comma
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              usageFrom,
		Writer:                    c.stdout,
		ErrWriter:                 c.stderr,
		Compiled:                  time.Unix(1, 0), // or it would look at its own file
	}
	return app.Run(append([]string{"lease"}, line.words...))
}

// tooFewFiles refuses a limit on open files under which Go's runtime itself would fail, with a stack.
func tooFewFiles() error {
	const enough = 16
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= enough {
		return nil
	}
	return &fslease.RepositoryError{Fault: fslease.FaultLedger, What: fmt.Sprintf("this process may open only %d files", limit.Cur),
		Hint: fmt.Sprintf("raise ulimit -n to %d at least", enough)}
}

// build makes the command of that name, nil if there is none, with what all commands have in common.
func (c *call) build(name string) *cli.Command {
	for _, e := range commands() {
		if e.name == name {
			cmd := e.build(c)
			tame(cmd)
			return cmd
		}
	}
	return nil
}

func tame(cmd *cli.Command) {
	cmd.HideHelp, cmd.OnUsageError = true, usageFrom
	for _, sub := range cmd.Subcommands {
		tame(sub)
	}
}

// usageFrom takes what urfave/cli finds wrong for a usage error of ours.
func usageFrom(_ *cli.Context, err error, _ bool) error {
	return &usageError{what: err.Error()}
}
