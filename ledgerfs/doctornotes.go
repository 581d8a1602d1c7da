package ledgerfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"fslease/fslease"
)

// notes reads what is no record, but in somebody's way if it is damaged.
func (e *examination) notes(ctx context.Context) {
	// A note of a command keeps everybody from burying its holder, an orphan everybody from every fence.
	e.files(orphansDir, func(name string) { e.note(name) }, ".json")
	e.files(holdersDir, func(name string) {
		if strings.HasSuffix(name, commandSuffix) {
			e.note(name)
		}
	}, ".json")
	e.files(queueDir, func(string) {}, ".json", turnSuffix)
	e.files(sightingsDir, func(string) {}, ".json")
	e.locksHeld()
	e.journals(ctx)
}

// locksHeld looks for a process that was stopped while it had a lock of a moment: whoever needs the lock
// fails with "busy" until it goes on.
func (e *examination) locksHeld() {
	stopped := stoppedOwners()
	before := len(e.found)
	look := func(name string) {
		if len(stopped) == 0 || path.Ext(name) != ".lock" {
			return
		}
		st, err := e.l.fsys.Stat(name)
		if pid := stopped[inodeOf(st)]; err == nil && pid > 0 {
			f := e.warn("locks", fmt.Sprintf("%s is locked by process %d, which is stopped: whoever needs it fails with busy", path.Base(name), pid), fmt.Sprintf("continue or end it: kill -CONT %d", pid))
			f.Path = e.l.file(name)
		}
	}
	e.files(locksDir, look, ".lock", ".fence")
	if kind := e.l.kind(configLock); kind != "" {
		e.damage(configLock, errNotRegular{kind})
	}
	look(configLock)
	if len(e.found) == before {
		e.ok("locks", "none is held by a stopped process")
	}
}

// stoppedOwners returns the stopped processes that have locked something, by its inode.
func stoppedOwners() map[string]int {
	owners := map[string]int{}
	flockOwners(func(inode string, pid int) bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if i := bytes.LastIndexByte(stat, ')'); err == nil && i > 0 && len(stat) > i+2 && (stat[i+2] == 'T' || stat[i+2] == 't') {
			owners[inode] = pid
		}
		return false // there may be more of them
	})
	return owners
}

func (e *examination) note(name string) {
	_, err := e.l.readNote(name)
	var re *fslease.RepositoryError
	if !errors.As(err, &re) {
		return
	}
	if re.Fault == fslease.FaultNewer {
		e.newer(name, err)
		return
	}
	f := e.damage(name, re.Err)
	f.Hint += "; the command that it named may still run, and only its fence tells"
	e.blameTheCut(f, name)
}

// journals reads the history.
func (e *examination) journals(ctx context.Context) {
	e.files(journalDir, func(string) {}, ".jsonl")
	lines := 0
	torn, err := e.l.Journal(ctx, Filter{}, false, func(fslease.Event) error { lines++; return nil })
	switch {
	case err != nil:
		e.trouble("journal", Warning, err)
	case torn > 0:
		e.warn("journal", fmt.Sprintf("%s among %d: a power cut or a full disk did that", counted{torn, "line is cut off", "lines are cut off"}, lines), "they are skipped; nothing else depends on them")
	default:
		e.ok("journal", "%s", counted{lines, "line", "lines"})
	}
}

// strangers looks for what is not lease's in the directory itself.
func (e *examination) strangers() {
	known := []string{configFile, configLock, readmeFile}
	folders := []string{leasesDir, tombstonesDir, ticketsDir, sessionsDir, activeDir, queueDir, holdersDir, orphansDir, sightingsDir, locksDir, journalDir}
	names, err := e.l.list(".")
	if err != nil {
		e.trouble("strangers", Broken, err)
		return
	}
	for _, n := range names {
		name := strings.TrimSuffix(n, "/")
		switch {
		case slices.Contains(folders, name), slices.Contains(known, name), strings.HasPrefix(name, "."):
		default:
			e.stray(name)
		}
	}
	active, err := e.l.list(activeDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return // the finding about tickets says so
	}
	for _, n := range active {
		if strings.HasSuffix(n, "/") || e.l.kind(activeDir+"/"+n) != "" {
			e.stray(activeDir + "/" + strings.TrimSuffix(n, "/"))
		}
	}
}
