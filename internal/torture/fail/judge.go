package fail

import (
	"slices"
	"strings"

	"fslease/fslease"
	"fslease/internal/torture/steps"
)

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
	case r.Code == 0 && slices.ContainsFunc(c.Calls, func(call string) bool { return writes(c.Row, call) }):
		c.Violate("it said that it was done, and what was written may not be on the disk")
	case r.Code == 0 && c.Row.Command == "reconcile" && slices.ContainsFunc(c.Calls, looks): // who cannot be seen is not dead
	case r.Code == 0:
		if missing := c.Missing(); missing != "" {
			c.Violate("it said that it was done, and is not: %s", missing)
		}
	case (r.Code == 75 || r.Code == 125) && strings.Contains(r.Stderr, " is held by ") && slices.ContainsFunc(c.Calls, looks): // nor is he taken over
	case !slices.Contains(codes(c.Row), r.Code):
		c.Violate("this is no exit code for trouble with the ledger")
	case r.Code == 1: // the doctor's: it says what it finds on stdout
	case mute(c.Calls):
	case !strings.HasPrefix(r.Stderr, "lease: "):
		c.Violate("it did not say what went wrong")
	case doubtful(r.Stderr):
	case c.Ran():
		c.Violate("it said that it could not run the command, which ran")
	case slices.Contains(c.Row.Args, "--ticket") && c.Now.Tickets["t"].Status == fslease.Blocked: // it says why its command did not start
	default:
		if changed := c.Changed(); changed != "" {
			c.Violate("it failed, and told of no change, and %s", changed)
		}
	}
}

// writes reports whether a call that failed is one by which a record reaches the disk that counts. A renewal is made again, a transfer
// needs no tombstone beside the new lease, and one for which there is no room has another way.
func writes(r steps.Row, call string) bool {
	name, what, _ := strings.Cut(strings.TrimSpace(call), "(")
	what, result, _ := strings.Cut(what, ">")
	tomb, full := strings.Contains(what, "/tombstones"), strings.Contains(result, "ENOSPC") || strings.Contains(result, "EDQUOT")
	switch {
	case slices.Contains(r.Args, "--heartbeat"), tomb && r.Command == "transfer", tomb && full && strings.HasSuffix(what, ".tmp"):
		return false
	case name == "fsync":
		return !strings.Contains(result, "EINTR")
	}
	return name == "close" && strings.HasSuffix(what, ".json.tmp")
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
