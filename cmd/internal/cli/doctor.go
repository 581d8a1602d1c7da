package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"fslease/fslease"
	"fslease/ledgerfs"
)

func doctorCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "doctor",
		Usage:     "look whether everything that lease relies on holds here",
		UsageText: "lease doctor [--repair]",
		Flags:     []cli.Flag{flag("repair", "mend what is safe to mend, and say what was done")},
		Description: `Tries locks, the watcher and syncing, looks at what the machine lets processes
see, and reads every file of the ledger. Exit code 1 if a promise is broken on
this ledger, or a repair failed; warnings are no reason. With --repair damaged
files are kept aside, under a name that begins with a dot, and every generation
handed out later is above all before. After a ledger was restored from a backup,
run it with --repair before anything else. In a pipe the lines are
tab-separated: level, check, what, file, hint.

examples:
  lease doctor
  lease doctor --json | jq '.findings[] | select(.level == "broken")'`,
		Action: c.doctor,
	}
}

// A mended finding, as --json has it.
type mended struct {
	Check string      `json:"check"`
	Path  string      `json:"path,omitempty"`
	Key   fslease.Key `json:"key,omitempty"`
	What  string      `json:"what"`
	Done  string      `json:"done,omitempty"`
	Error string      `json:"error,omitempty"`
}

func (c *call) doctor(ctx *cli.Context) error {
	o := &options{ctx: ctx}
	if o.none(); o.err != nil {
		return o.err
	}
	l, err := c.openIf(ctx.Context, o.flag("repair"))
	if err != nil {
		return err
	}
	done := []mended{}
	if o.flag("repair") {
		for _, m := range l.Repair(ctx.Context) {
			d := mended{Check: m.Finding.Check, Path: m.Finding.Path, Key: m.Finding.Key, What: m.Finding.What, Done: m.Done}
			if m.Err != nil {
				d.Error = m.Err.Error()
				c.exit = 1
			}
			done = append(done, d)
		}
	}
	found := l.Examine(ctx.Context, elsewhere())
	for _, f := range found {
		if f.Level == ledgerfs.Broken {
			c.exit = 1
		}
	}
	if c.json {
		return c.value(struct {
			Ledger   string             `json:"ledger"`
			Repaired []mended           `json:"repaired"`
			Findings []ledgerfs.Finding `json:"findings"`
		}{l.Path(), done, found})
	}
	return c.answer(c.diagnosis(done, found))
}

// diagnosis is what was done and found: for a program a line each, on a terminal with the file and what to
// do below it. With --quiet what is well is left out.
func (c *call) diagnosis(done []mended, found []ledgerfs.Finding) string {
	var b strings.Builder
	s := c.screen()
	for _, d := range done {
		if d.Done != "" {
			writeFinding(&b, s, cell{"mended", green}, d.Check, d.What+": "+d.Done, d.Path, "")
		}
		if d.Error != "" {
			writeFinding(&b, s, cell{"failed", red}, d.Check, d.What+": "+d.Error, d.Path, "")
		}
	}
	colours := map[ledgerfs.Level]string{ledgerfs.OK: green, ledgerfs.Warning: yellow, ledgerfs.Broken: red}
	for _, f := range found {
		if f.Level != ledgerfs.OK || !c.quiet {
			writeFinding(&b, s, cell{string(f.Level), colours[f.Level]}, f.Check, f.What, f.Path, f.Hint)
		}
	}
	return b.String()
}

func writeFinding(b *strings.Builder, s *screen, level cell, check, what, path, hint string) {
	if s == nil {
		fmt.Fprintf(b, "%s\t%s\t%s\t%s\t%s\n", level.text, check, escape(what), escape(path), escape(hint))
		return
	}
	const indent = len("warning") + 2 + 11 + 2
	fmt.Fprintf(b, "%s%s  %-11s  ", s.paint(level.text, level.colour), strings.Repeat(" ", len("warning")-len(level.text)), check)
	before := 0 // what stands before the next line
	for _, text := range []string{what, path, hint} {
		for _, line := range folded(escape(text), s.width-indent) {
			if line != "" {
				fmt.Fprintf(b, "%*s%s\n", before, "", line)
				before = indent
			}
		}
	}
}

// elsewhere tries locks in another process, which is this program again. Where that cannot be told, nil:
// then a second descriptor has to do.
func elsewhere() ledgerfs.Elsewhere {
	program, err := os.Executable()
	if err != nil {
		return nil
	}
	return func(ctx context.Context, file string) (bool, error) {
		err := exec.CommandContext(ctx, program, lockWord, file).Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 {
			return false, nil
		}
		return err == nil, err
	}
}

// lockWord is the hidden command of that other process.
const lockWord = "__lock"

// tryLock answers by its exit code whether a file can be locked: 1 if somebody else has it locked.
func (c *call) tryLock(file string) error {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		c.exit, err = 1, nil
	}
	return err
}
