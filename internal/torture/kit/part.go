// Package kit is what the parts of the torture harness share: how a part counts the faults that it made, how the command under
// test is built and run, and how a ledger is made for it and looked at.
package kit

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"sync"
)

// A Part is one way of breaking things on purpose.
type Part struct {
	Name   string
	Does   string // in a few words, for --list
	Counts []Count
	Edits  []Edit  // laid over the source of the command that this part runs
	Faults []Fault // deliberate mistakes that this part must catch
	Run    func(*T)
}

// A Count is something that a part makes many of, such as kill points.
type Count struct {
	Name  string
	Floor int // how many a whole run must make; a run of a share s must make s times as many, and one at least
}

// T is one run of a part.
type T struct {
	context.Context
	*rand.Rand
	Part   Part
	Seed   uint64
	Share  float64 // of a whole run: 1 is the long form
	Binary string  // the command under test
	Dir    string  // an empty directory, removed after the run
	Log    io.Writer

	stop       context.CancelCauseFunc
	first      bool // the first violation ends the run
	mu         sync.Mutex
	made       map[string]int
	violations []string
	notRun     []string
}

// Outcome is what came of a run.
type Outcome struct {
	Part       Part
	Made       map[string]int
	Floors     map[string]int // of what was counted, and of what should have been
	Violations []string
	NotRun     []string
}

// Options say how a part is run.
type Options struct {
	Seed        uint64
	Share       float64
	Binary      string
	Log         io.Writer
	StopAtFirst bool   // the first violation ends the run, and floors do not count
	Dir         string // where the directory of the run is made; os.TempDir if empty
}

// Run runs a part. Its error says that it could not even begin.
func Run(ctx context.Context, p Part, o Options) (Outcome, error) {
	Unignore()
	dir, err := os.MkdirTemp(o.Dir, "lease-torture-"+p.Name+"-")
	if err != nil {
		return Outcome{}, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // other users run the command in it
		return Outcome{}, err
	}
	t := &T{Part: p, Seed: o.Seed, Share: o.Share, Binary: o.Binary, Dir: dir, Log: o.Log, first: o.StopAtFirst, made: map[string]int{},
		Rand: rand.New(rand.NewPCG(o.Seed, 1))}
	t.Context, t.stop = context.WithCancelCause(ctx)
	defer t.stop(nil)
	t.run()
	return t.outcome(), ctx.Err()
}

func (t *T) run() {
	defer func() {
		if p := recover(); p != nil {
			t.Violate("the part itself broke: %v\n%s", p, debug.Stack())
		}
	}()
	t.Part.Run(t)
}

func (t *T) outcome() Outcome {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := Outcome{Part: t.Part, Made: maps.Clone(t.made), Floors: map[string]int{}, Violations: slices.Clone(t.violations), NotRun: slices.Clone(t.notRun)}
	for _, c := range t.Part.Counts {
		o.Floors[c.Name] = max(1, int(float64(c.Floor)*t.Share))
		if !t.first && o.Made[c.Name] < o.Floors[c.Name] && len(o.NotRun) == 0 {
			o.Violations = append(o.Violations, fmt.Sprintf("only %d %s were made, %d are the least", o.Made[c.Name], c.Name, o.Floors[c.Name]))
		}
	}
	return o
}

// Scale is the share of n that this run has to do, and one at least.
func (t *T) Scale(n int) int { return max(1, int(float64(n)*t.Share)) }

// Made counts n more of what the part makes.
func (t *T) Made(count string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made[count] += n
}

// Violate records that a promise was broken: what was done, what was seen, what should have been. The run goes on, unless it looks
// for one violation only.
func (t *T) Violate(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	t.mu.Lock()
	t.violations = append(t.violations, message)
	t.mu.Unlock()
	if t.first {
		t.stop(fmt.Errorf("violated: %s", message))
	} else {
		t.Logf("VIOLATION %s", message)
	}
}

// NotRun records that something cannot be tried on this machine, and why.
func (t *T) NotRun(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	t.mu.Lock()
	t.notRun = append(t.notRun, message)
	t.mu.Unlock()
	t.Logf("not run: %s", message)
}

// Logf says what the part does.
func (t *T) Logf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.Log, t.Part.Name+": "+format+"\n", args...)
}

// Ended reports whether the run is to end early.
func (t *T) Ended() bool { return t.Err() != nil }
