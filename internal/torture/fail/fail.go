// Package fail is the part that lets every command that changes something fail at each of its system calls.
package fail

import (
	"fmt"
	"slices"
	"strings"

	"fslease/internal/torture/kit"
	"fslease/internal/torture/steps"
)

const (
	once    = "error points, once"
	onwards = "error points, from then on"
)

// Part lets commands fail.
var Part = kit.Part{
	Name:   "fail",
	Does:   "lets every command that changes something fail at each of its system calls, once and from then on",
	Counts: []kit.Count{{Name: once, Floor: 6000}, {Name: onwards, Floor: 2000}},
	Edits:  []kit.Edit{kit.Pinned, steps.Marker},
	Faults: faults,
	Run:    run,
}

var failures = []string{"EIO", "ENOSPC", "EDQUOT", "EROFS", "EMFILE", "ENOMEM", "EACCES", "EINTR"}

// runtimes are calls that Go's runtime makes for itself, and does not survive.
var runtimes = []string{"epoll_create1", "epoll_ctl", "eventfd2", "exit_group"}

// Some failures are not tried. A call that is interrupted each time is tried for ever, and rightly. A close that strace lets fail
// leaves the file open, with its lock, which no real one does; so it fails once at most, and never of a pipe, whose reader waits for it.
// A read of a pipe in this machine does not fail, and the start of a thread is not ours.
func impossible(call string) bool {
	name, what, _ := strings.Cut(strings.TrimSpace(call), "(")
	_, what, _ = strings.Cut(what, "<")
	switch name {
	case "close", "read":
		return strings.HasPrefix(what, "pipe:") || strings.HasPrefix(what, "anon_inode:[eventfd]")
	case "write":
		return strings.HasPrefix(what, "anon_inode:[eventfd]")
	case "clone":
		return strings.Contains(call, "CLONE_THREAD")
	}
	return false
}

// whole is about how many points the long form has, one for each step.
const whole = 14000

// A point is where a command fails, and how.
type point struct {
	template *steps.Template
	step     steps.Step
	failure  string
	count    string
}

func run(t *kit.T) {
	bench, err := steps.NewBench(t)
	if err != nil {
		t.NotRun("needs strace: %v", err)
		return
	}
	defer bench.Close()
	points := list(t, bench)
	t.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
	bench.Each(min(t.Scale(whole), len(points)), func(i int) {
		if err := points[i].try(t, bench); err != nil {
			t.Violate("%v", err)
		}
	})
}

func list(t *kit.T, bench *steps.Bench) []point {
	var points []point
	for _, found := range bench.Steps(false) {
		for _, s := range found.Steps {
			if slices.Contains(runtimes, s.Call) || impossible(s.Seen) {
				continue
			}
			p := point{found.Template, s, failures[t.IntN(len(failures))], once}
			if s.Call == "wait4" || s.Call == "waitid" { // the command is there until it was waited for
				p.failure = "EINTR"
			}
			if t.IntN(4) == 0 && p.failure != "EINTR" && s.Call != "close" {
				p.count = onwards
			}
			points = append(points, p)
		}
	}
	return points
}

func (p point) try(t *kit.T, bench *steps.Bench) error {
	more := ""
	if p.count == onwards {
		more = "+"
	}
	c, err := bench.Trial(p.template, fmt.Sprintf("%s%s at %v", p.failure, more, p.step))
	if err != nil {
		return err
	}
	defer c.Close()
	c.Wait(c.Start("-e", "trace="+p.step.Call, "-e", fmt.Sprintf("inject=%s:error=%s:when=%d%s", p.step.Call, p.failure, p.step.N, more)))
	if len(c.Calls) > 0 {
		t.Made(p.count, 1)
	} else {
		t.Made("not reached", 1)
	}
	if slices.ContainsFunc(c.Calls, impossible) {
		t.Made("met what is not tried", 1)
		return nil
	}
	if judge(c); c.Result.Hung {
		return nil
	}
	c.Sound()
	c.Again()
	c.Free()
	c.Next()
	c.Collected()
	return nil
}

// judge checks that what the command says of itself is true.
func judge(c *steps.Trial) {
	r := c.Result
	for _, stack := range []string{"goroutine ", "panic:", "fatal error:", "runtime:"} {
		if strings.Contains(r.Stderr, stack) {
			c.Violate("it ended with a stack of Go")
			return
		}
	}
	switch {
	case r.Hung:
		c.Violate("it hung")
	case c.Row.Execs: // and how strace ended says nothing
	case r.Signal != 0:
		c.Violate("it did not end by itself")
	case r.Code == 0 && c.Row.Works && (strings.Contains(r.Stderr, "the lease is not given back") || mute(c.Calls)):
		if !c.Ran() {
			c.Violate("it said that the command ran, which did not")
		}
	case r.Code == 0 && slices.ContainsFunc(c.Calls, writes) && !slices.Contains(c.Row.Args, "--heartbeat"):
		c.Violate("it said that it was done, and what was written may not be on the disk")
	case r.Code == 0 && c.Row.Command == "reconcile" && slices.ContainsFunc(c.Calls, looks): // who cannot be seen is not dead
	case r.Code == 0:
		if missing := c.Missing(); missing != "" {
			c.Violate("it said that it was done, and is not: %s", missing)
		}
	case !slices.Contains(codes(c.Row), r.Code):
		c.Violate("this is no exit code for trouble with the ledger")
	case r.Code == 1: // the doctor's: it says what it finds on stdout
	case mute(c.Calls):
	case !strings.HasPrefix(r.Stderr, "lease: "):
		c.Violate("it did not say what went wrong")
	case doubtful(r.Stderr):
	case c.Ran():
		c.Violate("it said that it could not run the command, which ran")
	case r.Code == 126 && slices.Contains(c.Row.Args, "--ticket"): // which is BLOCKED then
	default:
		if changed := c.Changed(); changed != "" {
			c.Violate("it failed, and told of no change, and %s", changed)
		}
	}
}

// writes reports whether a call that failed is one by which a record reaches the disk. A tombstone for which there is no room has
// another way, and a renewal is made again.
func writes(call string) bool {
	name, what, _ := strings.Cut(strings.TrimSpace(call), "(")
	what, result, _ := strings.Cut(what, ">")
	full := strings.Contains(what, "/tombstones/") && (strings.Contains(result, "ENOSPC") || strings.Contains(result, "EDQUOT"))
	return strings.HasSuffix(what, ".json.tmp") && !full && (name == "close" || name == "fsync" && !strings.Contains(result, "EINTR")) ||
		name == "fsync" && !strings.Contains(what, ".tmp") && !strings.Contains(result, "EINTR")
}

// looks reports whether a call that failed is a look at a process.
func looks(call string) bool {
	return strings.Contains(call, "/proc/") || strings.Contains(call, "pidfd")
}

// doubtful reports whether a command said that it may have changed something, or that it changed only the part that counts.
func doubtful(stderr string) bool {
	return strings.Contains(stderr, "cannot tell whether") || strings.Contains(stderr, "cannot be told") || strings.Contains(stderr, "cannot write the answer") || strings.Contains(stderr, "is left to the next command")
}

// codes are the exit codes other than 0 for trouble with the ledger or with starting the command.
func codes(r steps.Row) []int {
	switch {
	case r.Works:
		return []int{125, 126}
	case r.Command == "doctor":
		return []int{1, 74}
	}
	return []int{74}
}

// mute reports whether the calls that failed are those by which the command speaks.
func mute(calls []string) bool {
	return slices.ContainsFunc(calls, func(c string) bool { return strings.Contains(c, ", \"lease: ") })
}
