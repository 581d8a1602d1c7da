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
	all     = "error points"
	onwards = "error points of calls that fail from then on"
)

// Part lets commands fail.
var Part = kit.Part{
	Name:   "fail",
	Does:   "lets every command that changes something fail at each of its system calls, once and from then on",
	Counts: []kit.Count{{Name: all, Floor: 8000}},
	Edits:  []kit.Edit{kit.Pinned, steps.Marker},
	Faults: faults,
	Run:    run,
}

var failures = []string{"EIO", "ENOSPC", "EDQUOT", "EROFS", "EMFILE", "ENOMEM", "EACCES", "EINTR"}

// runtimes are calls that Go's runtime makes for itself, and does not survive.
var runtimes = []string{"epoll_create1", "epoll_ctl", "eventfd2", "exit_group"}

// impossible reports whether a call is one that does not fail, or not as strace lets it fail. A close that strace lets fail leaves
// the file open, with its lock, which no real one does; so it fails once at most, and never of a pipe, whose reader waits for it. A
// read of a pipe does not fail, and the start of a thread is not ours.
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
const whole = 11000

// A point is where a command fails, and how.
type point struct {
	template *steps.Template
	step     steps.Step
	failure  string
	onwards  bool
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
			p := point{found.Template, s, failures[t.IntN(len(failures))], false}
			if s.Call == "wait4" || s.Call == "waitid" { // the command is there until it was waited for
				p.failure = "EINTR"
			}
			if t.IntN(4) == 0 && p.failure != "EINTR" && s.Call != "close" { // who is interrupted each time tries for ever, and rightly
				p.onwards = true
			}
			points = append(points, p)
		}
	}
	return points
}

func (p point) try(t *kit.T, bench *steps.Bench) error {
	more := ""
	if p.onwards {
		more = "+"
	}
	c, err := bench.Trial(p.template, fmt.Sprintf("%s%s at %v", p.failure, more, p.step))
	if err != nil {
		return err
	}
	defer c.Close()
	c.Wait(c.Start("-e", "trace="+p.step.Call, "-e", fmt.Sprintf("inject=%s:error=%s:when=%d%s", p.step.Call, p.failure, p.step.N, more)))
	switch {
	case len(c.Calls) == 0:
		t.Made("not reached", 1)
	case p.onwards:
		t.Made(onwards, 1)
		fallthrough
	default:
		t.Made(all, 1)
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
