// Package fail is the part that lets every command that changes something fail at each of its system calls.
package fail

import (
	"fmt"
	"math/rand/v2"
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
	bench.Visit(false, func(f steps.Found, chance float64, random *rand.Rand) {
		for _, s := range f.Steps {
			p := fails(f, s, random)
			if random.Float64() >= chance || t.Ended() || slices.Contains(runtimes, s.Call) || impossible(s.Seen) {
				continue
			}
			if err := p.try(t, bench); err != nil {
				t.Violate("%v", err)
			}
		}
	})
}

// fails chooses how a step fails.
func fails(f steps.Found, s steps.Step, random *rand.Rand) point {
	p := point{f.Template, s, failures[random.IntN(len(failures))], false}
	if s.Call == "wait4" || s.Call == "waitid" { // the command is there until it was waited for
		p.failure = "EINTR"
	}
	// Who is interrupted each time tries for ever, and rightly.
	p.onwards = random.IntN(4) == 0 && p.failure != "EINTR" && s.Call != "close" &&
		s.Call != "pidfd_open" // who never sees whether a process lives waits for its TTL, and rightly so
	return p
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
