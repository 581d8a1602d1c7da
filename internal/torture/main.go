// Command torture breaks fslease on purpose, many times, on the real binary with real processes, and says what it found.
// scripts/torture runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"fslease/internal/torture/kit"
)

// parts are run in this order.
var parts = []kit.Part{}

func main() { os.Exit(run()) }

func run() int {
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "the `number` that all random choices come from")
	share := flag.Float64("share", 1, "how much of the long form is run: a `fraction`")
	list := flag.Bool("list", false, "list the parts and the deliberate faults, and run nothing")
	only := flag.String("only", "", "run only these `parts`, separated by commas; faults are one of them")
	quiet := flag.Bool("quiet", false, "print the table only")
	flag.Parse()
	if flag.NArg() > 0 || *share <= 0 || *share > 1 {
		fmt.Fprintln(os.Stderr, "torture: a share is above 0 and at most 1, and there are no arguments; see --help")
		return 2
	}
	chosen, faults, err := choose(*only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
		return 2
	}
	if *list {
		printParts(os.Stdout)
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := kit.Options{Seed: *seed, Share: *share, Log: os.Stderr}
	if *quiet {
		o.Log = io.Discard
	}
	fmt.Printf("seed %d, share %g (repeat with: scripts/torture --seed %d --share %g)\n", o.Seed, o.Share, o.Seed, o.Share)
	var s summary
	for _, p := range chosen {
		s.part(ctx, p, o)
	}
	if faults {
		for _, p := range parts {
			for _, f := range p.Faults {
				s.fault(ctx, p, f, o)
			}
		}
	}
	if ctx.Err() != nil {
		fmt.Fprintln(os.Stderr, "torture: interrupted")
		return 130
	}
	return s.print(os.Stdout)
}

// choose returns the parts with these names, all if there are none, and whether the deliberate faults are among them.
func choose(names string) ([]kit.Part, bool, error) {
	if names == "" {
		return parts, true, nil
	}
	var chosen []kit.Part
	faults := false
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(parts, func(p kit.Part) bool { return p.Name == name })
		switch {
		case name == "faults":
			faults = true
		case i < 0:
			return nil, false, fmt.Errorf("there is no part %q; --list shows all", name)
		default:
			chosen = append(chosen, parts[i])
		}
	}
	return chosen, faults, nil
}

func printParts(w io.Writer) {
	for _, p := range parts {
		fmt.Fprintf(w, "%-10s %s\n", p.Name, p.Does)
		for _, c := range p.Counts {
			fmt.Fprintf(w, "%-10s   at least %d %s in the long form\n", "", c.Floor, c.Name)
		}
	}
	fmt.Fprintf(w, "%-10s %s\n", "faults", "deliberate faults, each in a build of its own, that a part must catch")
	for _, p := range parts {
		for _, f := range p.Faults {
			fmt.Fprintf(w, "%-10s   %s (%s): %s\n", "", f.Name, p.Name, f.Rule)
		}
	}
}
