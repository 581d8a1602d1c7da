// Command torture breaks fslease on purpose, many times, on the real binary with real processes, and says what it found.
// scripts/torture runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"fslease/internal/torture/fail"
	"fslease/internal/torture/fence"
	"fslease/internal/torture/fuzz"
	"fslease/internal/torture/history"
	"fslease/internal/torture/identity"
	"fslease/internal/torture/kill"
	"fslease/internal/torture/kit"
	"fslease/internal/torture/loop"
	"fslease/internal/torture/loss"
	"fslease/internal/torture/model"
	"fslease/internal/torture/power"
	"fslease/internal/torture/queue"
	"fslease/internal/torture/scarcity"
)

// parts are run in this order.
var parts = []kit.Part{
	kill.Part,
	fail.Part,
	fence.Part,
	loss.Part,
	identity.Part,
	history.Part,
	queue.Part,
	queue.Load,
	power.Part,
	loop.Part,
	scarcity.Part,
	fuzz.Part,
	model.Part,
}

func main() { os.Exit(harness{parts, kit.Build}.run(os.Args[1:], os.Stdout, os.Stderr)) }

// A harness runs parts on builds of the command.
type harness struct {
	parts []kit.Part
	build func(dir, name string, edits ...kit.Edit) (string, error)
}

func (h harness) run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("torture", flag.ContinueOnError)
	flags.SetOutput(stderr)
	seed := flags.Uint64("seed", uint64(time.Now().UnixNano()), "the `number` that all random choices come from")
	share := flags.Float64("share", 1, "how much of the long form is run: a `fraction`")
	list := flags.Bool("list", false, "list the parts and the deliberate faults, and run nothing")
	only := flags.String("only", "", "run only these `parts`, separated by commas; faults are one of them, fault:NAME is one fault")
	quiet := flags.Bool("quiet", false, "print the table only")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if flags.NArg() > 0 || *share <= 0 || *share > 1 {
		fmt.Fprintln(stderr, "torture: a share is above 0 and at most 1, and there are no arguments; see --help")
		return 2
	}
	chosen, err := h.choose(*only)
	if err != nil {
		fmt.Fprintln(stderr, "torture:", err)
		return 2
	}
	if *list {
		h.print(stdout)
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := kit.Options{Seed: *seed, Share: *share, Log: stderr}
	if *quiet {
		o.Log = io.Discard
	}
	fmt.Fprintf(stdout, "seed %d, share %g (repeat with: scripts/torture --seed %d --share %g)\n", o.Seed, o.Share, o.Seed, o.Share)
	s := summary{build: h.build}
	for _, p := range chosen.parts {
		s.part(ctx, p, o)
	}
	for _, f := range chosen.faults {
		s.fault(ctx, f.part, f.fault, o)
	}
	if ctx.Err() != nil {
		fmt.Fprintln(stderr, "torture: interrupted")
		return 130
	}
	return s.print(stdout)
}

// A choice is what is to be run.
type choice struct {
	parts  []kit.Part
	faults []partFault
}

// A partFault is a fault and the part that must catch it.
type partFault struct {
	part  kit.Part
	fault kit.Fault
}

// faults are those of all parts.
func (h harness) faults() []partFault {
	var all []partFault
	for _, p := range h.parts {
		for _, f := range p.Faults {
			all = append(all, partFault{p, f})
		}
	}
	return all
}

// choose returns the parts and faults with these names, all if there are none.
func (h harness) choose(names string) (choice, error) {
	if names == "" {
		return choice{h.parts, h.faults()}, nil
	}
	var c choice
	for name := range strings.SplitSeq(names, ",") {
		parts, faults := len(c.parts), len(c.faults)
		for _, p := range h.parts {
			if name == p.Name {
				c.parts = append(c.parts, p)
			}
		}
		for _, f := range h.faults() {
			if name == "faults" || name == "fault:"+f.fault.Name {
				c.faults = append(c.faults, f)
			}
		}
		if len(c.parts) == parts && len(c.faults) == faults && name != "faults" {
			return choice{}, fmt.Errorf("there is no part %q; --list shows all", name)
		}
	}
	return c, nil
}

// print lists the parts and the faults.
func (h harness) print(w io.Writer) {
	for _, p := range h.parts {
		fmt.Fprintf(w, "%-10s %s\n", p.Name, p.Does)
		for _, c := range p.Counts {
			fmt.Fprintf(w, "%-10s   at least %d %s in the long form\n", "", c.Floor, c.Name)
		}
	}
	fmt.Fprintf(w, "%-10s %s\n", "faults", "deliberate faults, each in a build of its own, that a part must catch")
	for _, f := range h.faults() {
		fmt.Fprintf(w, "%-10s   fault:%s (%s): %s\n", "", f.fault.Name, f.part.Name, f.fault.Rule)
	}
}
