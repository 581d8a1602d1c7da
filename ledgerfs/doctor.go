package ledgerfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"fslease/fslease"
)

// A Level says how bad a finding is.
type Level string

const (
	OK      Level = "ok"
	Warning Level = "warning" // worth knowing, and no promise is broken
	Broken  Level = "broken"  // a promise does not hold on this ledger
)

// A Finding is what one check of an examination found.
type Finding struct {
	Check string      `json:"check"`
	Level Level       `json:"level"`
	Path  string      `json:"path,omitempty"`
	Key   fslease.Key `json:"key,omitempty"`
	What  string      `json:"what"`
	Hint  string      `json:"hint,omitempty"`

	mend func(context.Context) (done string, err error) // nil: nothing that is safe to do
}

// An Elsewhere tries to lock a file exclusively in another process, and says whether it got the lock.
type Elsewhere func(ctx context.Context, file string) (got bool, err error)

// Examine looks at the ledger, the file system that it lies on, and what this machine lets processes see,
// and reads and judges every file. It proves what it can by trying it, in a folder of its own inside the
// ledger. Where nothing can be written, that part is left out, and a finding says so.
//
// A nil elsewhere tries the lock with a second descriptor of this process.
func (l *Ledger) Examine(ctx context.Context, elsewhere Elsewhere) []Finding {
	e := &examination{l: l, r: &reader{l: l}, elsewhere: elsewhere}
	e.machine()
	if e.ledger() {
		e.place()
		e.probes(ctx)
		e.content(ctx)
	}
	return e.found
}

// ledger opens the ledger and reports whether there is one to look at.
func (e *examination) ledger() bool {
	err := e.l.attach()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.ok("ledger", "there is none yet at %s: the first command that changes something makes it", e.l.path)
		return false
	case err != nil:
		e.trouble("ledger", Broken, err)
		return false
	}
	return e.config()
}

// content looks at every file.
func (e *examination) content(ctx context.Context) {
	e.modes()
	e.records()
	e.tickets()
	e.notes(ctx)
	e.strangers()
	e.litter(ctx)
}

// An examination collects findings.
type examination struct {
	l         *Ledger
	r         *reader
	elsewhere Elsewhere
	cfg       *config // nil: it cannot be used
	readOnly  bool
	found     []Finding
	leases    []fslease.State // current ones
}

func (e *examination) add(f Finding) *Finding {
	e.found = append(e.found, f)
	return &e.found[len(e.found)-1]
}

func (e *examination) ok(check, format string, args ...any) {
	e.add(Finding{Check: check, Level: OK, What: fmt.Sprintf(format, args...)})
}

func (e *examination) warn(check, what, hint string) *Finding {
	return e.add(Finding{Check: check, Level: Warning, What: what, Hint: hint})
}

func (e *examination) broken(check, what, hint string) *Finding {
	return e.add(Finding{Check: check, Level: Broken, What: what, Hint: hint})
}

// trouble is a finding about what an error says.
func (e *examination) trouble(check string, level Level, err error) *Finding {
	f := Finding{Check: check, Level: level, What: err.Error()}
	var re *fslease.RepositoryError
	if errors.As(err, &re) {
		f.Path, f.Key, f.Hint = re.Path, re.Key, re.Hint
	}
	return e.add(f)
}

// config judges ledger.json, and reports whether the rest is to be looked at: there is a ledger.
func (e *examination) config() bool {
	c, err := e.l.readConfig()
	var re *fslease.RepositoryError
	switch {
	case err == nil:
		e.cfg = &c
		e.ok("ledger", "%s: ceiling %d, floor %d", e.l.path, c.Ceiling, c.Floor)
	case errors.Is(err, fs.ErrNotExist):
		e.ok("ledger", "%s is empty: the first command that changes something makes it a ledger", e.l.path)
		return false
	case !errors.As(err, &re):
		e.trouble("ledger", Broken, err)
	case e.missing():
		f := e.trouble("ledger", Broken, err)
		if !e.hasRecords() {
			return false
		}
		f.What, f.Path = configFile+" is missing: nothing can be granted", e.l.file(configFile)
		f.Hint = "lease doctor --repair makes one with a floor above every generation on record"
		f.mend = e.l.mendConfig
	default:
		f := e.trouble("ledger", Broken, err)
		if re.Fault == fslease.FaultDamaged && !strings.Contains(re.Error(), "setting") {
			f.Hint = "lease doctor --repair makes a new one with a floor above every generation on record"
			f.mend = e.l.mendConfig
		}
	}
	return true
}

func (e *examination) missing() bool {
	_, err := e.l.fsys.Stat(configFile)
	return errors.Is(err, fs.ErrNotExist)
}

// hasRecords reports whether the directory was a ledger.
func (e *examination) hasRecords() bool {
	for _, dir := range []string{leasesDir, tombstonesDir, locksDir, ticketsDir} {
		if e.l.has(dir) {
			return true
		}
	}
	return false
}

// litter counts what crashes left behind.
func (e *examination) litter(ctx context.Context) {
	c := e.l.collector(true)
	if err := c.clean(ctx); err != nil {
		e.trouble("litter", Warning, err)
		return
	}
	what := listed(c.got.litter())
	if what == "" {
		e.ok("litter", "none")
		return
	}
	f := e.warn("litter", what, "lease gc or lease doctor --repair removes them")
	f.mend = func(ctx context.Context) (string, error) {
		c := e.l.collector(false)
		err := c.clean(ctx)
		if what := c.got.String(); what != "" {
			return "removed " + what, err
		}
		return "", err
	}
}

// clean is Collect for what has no age.
func (c *collector) clean(ctx context.Context) error {
	return c.run(ctx, c.leftovers, c.waiters, c.keys, c.holders, c.orphans)
}
