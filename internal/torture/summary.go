package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"fslease/internal/torture/kit"
)

// summary collects what came of all runs.
type summary struct {
	build    func(dir, name string, edits ...kit.Edit) (string, error)
	outcomes []kit.Outcome
	took     []time.Duration
	faults   []caught
	broken   []string
}

// caught is a deliberate fault and the first violation that its part saw, or that it saw none.
type caught struct {
	fault kit.Fault
	part  string
	by    string
}

func (s *summary) part(ctx context.Context, p kit.Part, o kit.Options) {
	begin := time.Now()
	if outcome, ok := s.run(ctx, p, o, p.Edits); ok {
		s.outcomes = append(s.outcomes, outcome)
		s.took = append(s.took, time.Since(begin))
	}
}

func (s *summary) fault(ctx context.Context, p kit.Part, f kit.Fault, o kit.Options) {
	o.Share, o.StopAtFirst = f.Share, true
	fmt.Fprintf(o.Log, "faults: %s\n", f.Name)
	outcome, ok := s.run(ctx, p, o, slices.Concat(p.Edits, f.Edits))
	if !ok {
		return
	}
	c := caught{fault: f, part: p.Name}
	if len(outcome.Violations) > 0 {
		c.by = outcome.Violations[0]
	} else if len(outcome.NotRun) > 0 {
		c.by = "not run: " + outcome.NotRun[0]
	}
	s.faults = append(s.faults, c)
}

// run runs a part on a build of its own.
func (s *summary) run(ctx context.Context, p kit.Part, o kit.Options, edits []kit.Edit) (kit.Outcome, bool) {
	if ctx.Err() != nil {
		return kit.Outcome{}, false
	}
	dir, err := os.MkdirTemp("", "lease-torture-build-")
	if err == nil {
		defer os.RemoveAll(dir)
		os.Chmod(dir, 0o755) // other users run it
		o.Binary, err = s.build(dir, "lease", edits...)
	}
	var outcome kit.Outcome
	if err == nil {
		outcome, err = kit.Run(ctx, p, o)
	}
	if err != nil && ctx.Err() == nil {
		s.broken = append(s.broken, fmt.Sprintf("%s: %v", p.Name, err))
	}
	return outcome, err == nil
}

// print prints the tables and returns the exit code: 0 if nothing was violated, and every fault caught.
func (s *summary) print(w io.Writer) int {
	code, notRun := 0, 0
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "part\tcounted\tmade\tat least\tviolations\ttime")
	for i, o := range s.outcomes {
		name, violations, took := o.Part.Name, fmt.Sprint(len(o.Violations)), s.took[i].Round(time.Second).String()
		for _, c := range counts(o) {
			fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\n", name, c, o.Made[c], o.Floors[c], violations, took)
			name, violations, took = "", "", ""
		}
	}
	for _, c := range s.faults {
		state := "caught"
		if c.by == "" {
			state, code = "NOT CAUGHT", 1
		}
		fmt.Fprintf(table, "fault\t%s (%s)\t%s\n", c.fault.Name, c.part, state)
	}
	table.Flush()
	for _, o := range s.outcomes {
		for _, v := range o.Violations {
			fmt.Fprintf(w, "VIOLATION %s: %s\n", o.Part.Name, v)
			code = 1
		}
		for _, n := range o.NotRun {
			fmt.Fprintf(w, "not run: %s: %s\n", o.Part.Name, n)
			notRun++
		}
	}
	for _, b := range s.broken {
		fmt.Fprintln(w, "BROKEN", b)
		code = 1
	}
	fmt.Fprintf(w, "%d parts, %d faults, %d not run\n", len(s.outcomes), len(s.faults), notRun)
	return code
}

// counts are the names of what a run counted: those with a floor first.
func counts(o kit.Outcome) []string {
	var names, others []string
	for _, c := range o.Part.Counts {
		names = append(names, c.Name)
	}
	for name := range o.Made {
		if !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return append(names, others...)
}
