package ledgerfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// Init makes the directory path a ledger, for its owner alone or shared with its group. Its parent must
// exist. It is safe when several start at once; created is false if it was one already. Afterwards
// ledger.json is on the disk.
func Init(path string, shared bool) (created bool, err error) {
	l := &Ledger{path: path}
	mode := os.FileMode(0o700)
	if fallback, err := stateDir(); err == nil && path == fallback {
		if err := os.MkdirAll(filepath.Dir(path), mode); err != nil {
			return false, l.failMake(err)
		}
	}
	if err := os.Mkdir(path, mode); err == nil {
		if shared {
			mode = os.ModeSetgid | 0o770
		}
		if err := os.Chmod(path, mode); err != nil {
			return false, l.fail("", err)
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return false, l.failMake(err)
	}
	dir, err := openRoot(path)
	if err != nil {
		return false, l.fail("", err)
	}
	defer func() { _ = dir.Close() }()
	l.dir, l.fsys = dir, dir
	if _, err := l.readConfig(); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if shared && dir.file != 0o660 { // an empty directory that was there
		if err := unix.Fchmod(dir.root, unix.S_ISGID|0o770); err != nil {
			return false, l.fail("", err)
		}
		dir.file, dir.dir = 0o660, unix.S_ISGID|0o770
	}
	network, err := networkFS(dir.root)
	if err != nil {
		return false, err
	}
	if network != "" {
		return false, refuseNetwork(path, network)
	}
	c := config{Schema: fslease.Schema, ID: newID(), Ceiling: generationStep}
	err = l.fsys.Link(configFile, c.encode(), true)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, l.fail(configFile, err)
	}
	created = err == nil
	_ = l.fsys.Link(readmeFile, []byte(readme), false) // for people only
	// Whoever lost the race syncs too: it may grant before the winner has.
	if err := l.syncNew(); err != nil {
		return false, err
	}
	return created, nil
}

// syncNew syncs ledger.json and the names that lead to it.
func (l *Ledger) syncNew() error {
	fd, _, err := l.dir.openRegular(configFile, unix.O_RDONLY)
	if err != nil {
		return l.fail(configFile, err)
	}
	err = ignoreEINTR(func() error { return unix.Fsync(fd) })
	_ = unix.Close(fd)
	if err == nil {
		err = l.fsys.SyncDir(".")
	}
	if err != nil {
		return l.fail(configFile, err)
	}
	parent, err := os.Open(filepath.Dir(filepath.Clean(l.path)))
	if err != nil {
		return nil // a parent that cannot be read cannot be synced by us; its owner made it
	}
	defer func() { _ = parent.Close() }()
	if err := parent.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return l.fail("", err)
	}
	return nil
}

func (l *Ledger) failMake(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &fslease.RepositoryError{Fault: fslease.FaultLedger, Path: l.path, What: "cannot make the ledger " + l.path + ": its parent directory does not exist",
			Hint: "make the parent directory first, or name another ledger with --ledger"}
	}
	return l.fail("", err)
}

var readme = strings.TrimLeft(`
This folder is a ledger of lease: a lock that survives workers that die.

leases/      who took a key and has not given it up, one JSON file a key
tombstones/  how a key was last given up
tickets/     pieces of work and the keys they reserve; sessions/, active/: the work on them
queue/       who waits
holders/     processes that hold something, as long as they live
orphans/     commands that outlived their killed wrapper
journal/     what happened, one JSON value a line
locks/, sightings/, ledger.json: for the tool itself

A file under leases/ says who took a key. Whether that still counts (the holder may be dead) says

    lease show KEY

With jq:

    jq -r '[.key, .holder.user, .holder.pid, .acquired_at] | @tsv' leases/*.json
    find leases -name '*.json' -exec jq -c '{key, generation, note}' {} +
    jq -c 'select(.event == "taken_over")' journal/*.jsonl

Leave the files to the tool. Removing the only file of a key takes its generation back to the floor
in ledger.json; lease break frees a key without that.
`, "\n")
