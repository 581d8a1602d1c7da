package ledgerfs

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"fslease/fslease"
)

// NoteCommand notes the command that runs under this presence's leases, right after its start. A successor
// waits for that process even if it gave up the fence that it inherited.
func (p *Presence) NoteCommand(records []fslease.Record, command fslease.Holder) error {
	c := newNote(records, command, p.holder.ID)
	c.Process.UID, c.Process.User, c.Process.Command, c.Process.Cwd = p.holder.UID, p.holder.User, p.holder.Command, p.holder.Cwd
	p.noted = true
	return p.l.saveNote(commandPath(p.holder.ID), c)
}

// commandNote is holders/<id>.command.json, or orphans/<id>.json: what a successor waits for although no holder names it, once
// the holder was buried, or because the command runs under somebody else's lease.
type commandNote = fslease.CommandNote

// newNote is about a command that runs under leases.
func newNote(records []fslease.Record, command fslease.Holder, id string) commandNote {
	c := commandNote{Generation: records[0].Generation, Process: command}
	c.Process.Kind, c.Process.ID, c.Process.Evidence = fslease.KindProcess, id, fslease.EvidencePid
	for _, r := range records {
		c.Keys = append(c.Keys, r.Key)
	}
	return c
}

func (l *Ledger) saveNote(name string, note commandNote) error {
	data, err := note.MarshalJSON()
	if err != nil {
		return err
	}
	return l.fail(name, l.link(name, fslease.Indent(data), !l.mendsAtBoot(), nil))
}

// readNote reads a note; nil if there is none.
func (l *Ledger) readNote(name string) (*commandNote, error) {
	var c commandNote
	ok, err := (&reader{l: l}).load(name, "", &c)
	if !ok {
		return nil, err
	}
	return &c, nil
}

// isSelf reports whether h is this very process.
func (l *Ledger) isSelf(h fslease.Holder) bool {
	self, err := l.who()
	return err == nil && h.PID == self.PID && h.StartTime == self.StartTime && h.PIDNS == self.PIDNS && h.BootID == self.BootID
}

// NoteFenced notes a command that was just started under the fence of keys but not by the holder, for the case that this process
// is killed and the command gives up the fence that it inherited. What it returns forgets that once the command has ended.
func (l *Ledger) NoteFenced(records []fslease.Record, command fslease.Holder) (forget func(), err error) {
	note := newNote(records, command, newID())
	name := orphanPath(note.Process.ID)
	if err := l.saveNote(name, note); err != nil {
		return func() {}, err
	}
	return func() { _ = l.fsys.Remove(name) }, nil // what stays is removed by the next who takes the fence
}

// noteExec notes a command that holds its key itself (run --exec), for it may have closed the fence that it has. Who gives
// up by itself has not become that command.
func (l *Ledger) noteExec(rec fslease.Record) error {
	h := rec.Holder
	if !h.Exec || h.Evidence != fslease.EvidencePid || l.isSelf(h) || l.opt.Processes.Judge(h, l.local()).Life == fslease.Dead {
		return nil
	}
	id := newID() // the holder of several keys has a note for each
	return l.saveNote(orphanPath(id), newNote([]fslease.Record{rec}, h, id))
}

// noteOrphan keeps the note of a holder's command that may still run, so that the wait for it outlives the
// holder's files. One that cannot be judged from here is kept for those who can.
func (l *Ledger) noteOrphan(h fslease.Holder) error {
	if h.Evidence != fslease.EvidenceLock || !fslease.ValidHolderID(h.ID) {
		return nil
	}
	note, err := l.readNote(commandPath(h.ID))
	if err != nil || note == nil || l.opt.Processes.Judge(note.Process, l.local()).Life == fslease.Dead {
		return err
	}
	err = l.saveNote(orphanPath(h.ID), *note)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// keeper is a command that works under key as one who keeps others out.
func (l *Ledger) keeper(command fslease.Holder, key fslease.Key) fslease.Keeper {
	return fslease.Keeper{
		PID: command.PID, Name: commandName(int(command.PID)), Orphan: true, Process: &command, Key: key,
		Own: l.isSelf(command) || l.opt.Processes.Ancestor(int(command.PID)),
	}
}

// Working returns the command that works for h: the one that was noted beside its liveness file, or h itself if it is a command.
func (l *Ledger) Working(h fslease.Holder) (*fslease.Keeper, error) {
	command := h
	switch {
	case h.Evidence == fslease.EvidenceLock && fslease.ValidHolderID(h.ID):
		note, err := l.readNote(commandPath(h.ID))
		if err != nil || note == nil {
			return nil, err
		}
		command = note.Process
	case h.Evidence != fslease.EvidencePid || !h.Exec:
		return nil, nil
	}
	if l.opt.Processes.Judge(command, l.local()).Life != fslease.Alive {
		return nil, nil // only its fence counts
	}
	k := l.keeper(command, "")
	if k.Own {
		return nil, nil
	}
	return &k, nil
}

// orphans returns the commands in orphans/ that run under a key which overlaps one of keys.
// Where it cannot be told whether one still runs (another namespace) only its fence counts.
// With clear, the notes of those that are proven gone are removed.
func (l *Ledger) orphans(keys []fslease.Key, clear bool) ([]fslease.Keeper, error) {
	names, err := l.fsys.List(orphansDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, l.fail(orphansDir, err)
	}
	var keepers []fslease.Keeper
	for _, n := range names {
		id, ok := strings.CutSuffix(n, ".json")
		if !ok || !fslease.ValidHolderID(id) {
			continue
		}
		note, err := l.readNote(orphansDir + "/" + n)
		if err != nil {
			return nil, err
		}
		if note == nil {
			continue
		}
		i := slices.IndexFunc(keys, func(k fslease.Key) bool { return note.Overlaps([]fslease.Key{k}) })
		if i < 0 {
			continue
		}
		switch l.opt.Processes.Judge(note.Process, l.local()).Life {
		case fslease.Alive:
			keepers = append(keepers, l.keeper(note.Process, keys[i]))
		case fslease.Dead:
			if clear {
				if err := l.fsys.Remove(orphansDir + "/" + n); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return nil, l.fail(orphansDir+"/"+n, err)
				}
			}
		}
	}
	return keepers, nil
}
