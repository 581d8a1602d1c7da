// Package model runs the models of the rules: small exhaustive searches through all that can happen, and the faults that each must find.
package model

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"fslease/internal/torture/kit"
)

// Part is the part of the torture harness.
var Part = kit.Part{
	Name: "model",
	Does: "the models of the rules are searched through, and each finds the faults that are seeded into it",
	Counts: []kit.Count{
		{Name: "models", Floor: 8},
		{Name: "states", Floor: 100000},
		{Name: "faults found", Floor: 20},
	},
	Run: func(t *kit.T) {
		switch {
		case t.Share >= 0.5:
			run(t, "--long")
		case t.Share >= 0.05:
			run(t, "--short")
		default:
			run(t, "--short", "power", "lockorder") // the others take longer than a test may
		}
	},
}

var (
	clean  = regexp.MustCompile(`^model \S+ states (\d+) clean$`)
	caught = regexp.MustCompile(`^model \S+ fault .+ caught$`)
)

// run runs scripts/model/run, and counts what it says. Anything that it does not know is a violation.
func run(t *kit.T, args ...string) {
	root, err := kit.Root()
	if err != nil {
		panic(err)
	}
	cmd := exec.CommandContext(t, filepath.Join(root, "scripts/model/run"), args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		why, missing := strings.CutPrefix(line, "not run: ")
		switch match := clean.FindStringSubmatch(line); {
		case match != nil:
			states, _ := strconv.Atoi(match[1])
			t.Made("models", 1)
			t.Made("states", states)
		case caught.MatchString(line):
			t.Made("faults found", 1)
		case strings.HasPrefix(line, "total "):
		case missing:
			t.NotRun("%s", why)
		default:
			t.Violate("%s", line)
		}
	}
	const someNotRun = 3
	if err := cmd.Wait(); err != nil && !t.Ended() && cmd.ProcessState.ExitCode() != someNotRun {
		t.Violate("scripts/model/run %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
}
