package ledgerfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"fslease/fslease"
)

// A Mending is what was done about a finding, or why it could not be.
type Mending struct {
	Finding Finding
	Done    string // "": nothing
	Err     error
}

// Repair mends what Examine finds and what is safe to mend, and says what it did. What was damaged is kept
// aside, in the same folder under a name that begins with a dot.
//
// It also raises the floor to the ceiling, durably: every generation handed out from now on is above all
// that this ledger knows of. So a key whose record is damaged gets one that is higher than any it may have
// had, and so does every key of a ledger that was restored from a backup.
//
// What a live ticket had reserved stays reserved for it.
func (l *Ledger) Repair(ctx context.Context) []Mending {
	var all []Mending
	tried := map[string]bool{}
	for range repairRounds {
		before := len(all)
		e := &examination{l: l, r: &reader{l: l}}
		if e.ledger() {
			e.content(ctx)
		}
		for _, f := range e.found {
			if f.mend == nil || tried[f.Path+f.What] {
				continue
			}
			tried[f.Path+f.What] = true
			done, err := f.mend(ctx)
			if done != "" || err != nil {
				all = append(all, Mending{f, done, err})
			}
			if done != "" {
				l.Log(fslease.Event{Event: eventRepaired, Key: f.Key, Reason: f.What + ": " + done})
			}
		}
		if len(all) == before {
			break
		}
	}
	if l.dir == nil || !l.has(configFile) {
		return all // there is no ledger
	}
	if _, err := l.raiseFloor(0); err != nil {
		all = append(all, Mending{Finding: Finding{Check: "ledger", Level: Broken, Path: l.file(configFile), What: "the floor cannot be raised"}, Err: err})
	}
	return all
}

// repairRounds bounds how often what the last round mended lets something else be seen.
const repairRounds = 4

// mendConfig makes ledger.json anew, with a floor that is above everything on record by lostStep: the
// highest generation may have been that of a tombstone that was collected.
func (l *Ledger) mendConfig(ctx context.Context) (string, error) {
	if kind := l.kind(configLock); kind != "" {
		if _, err := l.mendByMoving(configLock); err != nil {
			return "", err
		}
	}
	lock, err := l.lockFile(configLock, true, l.opt.LockWait)
	if err != nil {
		return "", err
	}
	defer lock.unlock()
	var re *fslease.RepositoryError
	if _, err := l.readConfig(); err == nil || errors.As(err, &re) && re.Fault == fslease.FaultNewer {
		return "", err // somebody else did
	}
	highest, err := l.highestGeneration(ctx)
	if err != nil {
		return "", err
	}
	kept := ""
	if l.has(configFile) {
		if kept, err = l.setAside(configFile); err != nil {
			return "", err
		}
		kept = ", and kept the old one as " + kept
	}
	c := config{Schema: fslease.Schema, ID: newID(), Ceiling: highest + lostStep, Floor: highest + lostStep}
	if err := l.writeConfig(c); err != nil {
		return "", err
	}
	return fmt.Sprintf("made a new %s: generations go on above %d; settings that were changed are to be set again%s", configFile, c.Floor, kept), nil
}

// lostStep is how far above everything on record generations go on after the ceiling was lost.
const lostStep = 1_000_000

// highestGeneration returns the highest generation that any file of the ledger names, damaged or not: of
// the fields of these names, whatever else is wrong.
func (l *Ledger) highestGeneration(ctx context.Context) (int64, error) {
	var highest int64
	see := func(data []byte) {
		var named map[string]json.RawMessage
		_ = json.Unmarshal(data, &named) // what cannot be read names nothing
		for _, field := range []string{"generation", "session", "ceiling", "floor"} {
			var n int64
			if json.Unmarshal(named[field], &n) == nil && n > highest && n < fslease.MaxNumber/2 {
				highest = n
			}
		}
	}
	err := l.walkAll(".", func(name string, folder bool) error {
		if folder || !strings.Contains(path.Base(name), ".json") || strings.HasSuffix(name, ".jsonl") {
			return nil
		}
		data, err := l.fsys.ReadFile(name)
		var not errNotRegular
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.As(err, &not) {
			see(data)
			return nil
		}
		return l.fail(name, err)
	})
	if err != nil {
		return 0, err
	}
	_, err = l.Journal(ctx, Filter{}, false, func(e fslease.Event) error {
		highest = max(highest, e.Generation)
		return nil
	})
	return highest, err
}

// mendByMoving sets a file aside that belongs to no key.
func (l *Ledger) mendByMoving(name string) (string, error) {
	aside, err := l.setAside(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return "kept it as " + aside, nil
}

// operator is who repairs, for the history of tickets.
func operator() string {
	host, _ := os.Hostname()
	return userName(os.Geteuid()) + "@" + host
}
