package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"fslease/cmd/internal/child"
	"fslease/fslease"
)

// A usageError says that a command line means nothing. Nothing was touched.
type usageError struct{ what, hint string }

func usage(hint, format string, args ...any) error {
	return &usageError{what: fmt.Sprintf(format, args...), hint: hint}
}

func (e *usageError) Error() string { return e.what }

// A noError is the answer no, with its reason.
type noError struct{ what, hint string }

func (e *noError) Error() string { return e.what }

// lostCode is the exit code of a lease that is lost.
const lostCode = 76

// faults maps errors to what is said of them: the kind under --json and the exit code, which for run and
// fenced is another one, so that it is not taken for the command's own. The first that fits counts; it
// adds what else it knows to the report.
var faults = []struct {
	kind string
	code int
	run  int
	fits func(error, *report) bool
}{
	{"usage", 64, 125, as(func(e *usageError, r *report) { r.Hint = e.hint })},
	{"conflict", 1, 125, as(func(e *noError, r *report) { r.Hint = e.hint })},
	{"conflict", 1, 125, as(func(e *fslease.ConflictError, r *report) { r.Hint = e.Hint })},
	{"held", 1, 125, as(reportRefusal)},
	{"held", 75, 75, as(reportHeld)},
	{"lost", lostCode, lostCode, as(reportLost)},
	{"held", 75, 75, fault(fslease.FaultNewer)}, // by somebody whom this version does not understand
	{"busy", 74, 125, fault(fslease.FaultBusy)},
	{"damaged", 74, 125, fault(fslease.FaultDamaged)},
	{"ledger", 74, 125, as(reportLedger)},
	{"config", 64, 125, as(func(e *fslease.ConfigError, r *report) { r.Hint = e.Hint })},
	{"config", 125, 125, as(func(e *child.StartError, r *report) { r.code = e.ExitCode() })},
	{"ledger", 74, 125, func(error, *report) bool { return true }},
}

// as fits errors of one type.
func as[E error](fill func(E, *report)) func(error, *report) bool {
	return func(err error, r *report) bool {
		var e E
		if !errors.As(err, &e) {
			return false
		}
		fill(e, r)
		return true
	}
}

// fault fits errors of the ledger of one sort.
func fault(f fslease.Fault) func(error, *report) bool {
	return func(err error, r *report) bool {
		return hasFault(err, f) && as(reportLedger)(err, r)
	}
}

func hasFault(err error, f fslease.Fault) bool {
	var e *fslease.RepositoryError
	return errors.As(err, &e) && e.Fault == f
}

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// A report is what is said of an error. Its fields are those under --json.
type report struct {
	Kind    string          `json:"kind"`
	Message string          `json:"message"`
	Hint    string          `json:"hint,omitempty"`
	Key     fslease.Key     `json:"key,omitempty"`
	Holder  json.RawMessage `json:"holder,omitempty"`

	lines []string // the message as it is told in words
	code  int
}

func (c *call) report(err error) report {
	r := report{Message: err.Error()}
	for _, f := range faults {
		r.Kind, r.code = f.kind, f.code
		if c.wrapper {
			r.code = f.run
		}
		if f.fits(err, &r) {
			break
		}
	}
	if r.Kind == "usage" && r.Hint == "" {
		r.Hint = fmt.Sprintf("%s says how it is used", strings.Join(append([]string{"lease help"}, c.path...), " "))
	}
	if start, is := errors.AsType[*child.StartError](err); is && len(c.argv) == 1 && start.NotFound() && strings.ContainsAny(start.Name, " \t\n") {
		r.Hint = "no shell takes the words apart; if one is to: sh -c " + shellWord(start.Name)
	}
	if r.lines == nil {
		r.lines = []string{r.Message}
	}
	return r
}

func reportHeld(e *fslease.HeldError, r *report) {
	r.Message, r.lines = heldMessage(e)
	r.Hint, r.Key, r.Holder = heldHint(e), e.Key, heldBy(e)
}

func reportLost(e *fslease.LostError, r *report) {
	r.Key = e.Key
	key := shellWord(string(e.Key))
	r.Hint = fmt.Sprintf("stop what is done under it; lease show %s says who has the key now, lease log %s what happened", key, key)
	if id, is := e.Key.Ticket(); is {
		r.Hint = fmt.Sprintf("stop what is done under it; lease ticket show %s says how the ticket stands and what happened", shellWord(id))
	}
}

func reportLedger(e *fslease.RepositoryError, r *report) { r.Hint, r.Key = e.Hint, e.Key }

// fail tells err and returns the exit code that it means. A signal tells nothing: who sent it knows.
func (c *call) fail(err error) int {
	var sig *child.SignalError
	if errors.As(err, &sig) {
		return sig.ExitCode()
	}
	r := c.report(err)
	c.telling.Lock()
	defer c.telling.Unlock()
	if slices.Contains(c.told, r.Message) {
		return r.code // trouble that was told before the command began is why it failed
	}
	c.told = append(c.told, r.Message)
	if c.json {
		c.stderrLine(string(errorJSON(r)))
		return r.code
	}
	for _, line := range r.lines {
		c.say(line)
	}
	if r.Hint != "" {
		c.say("hint: " + r.Hint)
	}
	return r.code
}

func errorJSON(r report) []byte {
	data, err := json.Marshal(struct {
		Error report `json:"error"`
	}{r})
	if err != nil {
		panic(err) // plain fields, and a value that was JSON before
	}
	return escapeJSON(data)
}

// shellWord quotes s for a command line that is proposed, if it needs it.
func shellWord(s string) string {
	safe := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_:@+=,./%-", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
