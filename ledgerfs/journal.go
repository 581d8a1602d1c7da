package ledgerfs

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// Log appends one line to the journal of the month, in one write. It is a hint: it goes unsynced, and its
// loss is no error.
func (t *tx) Log(e fslease.Event) { t.l.Log(e) }

// Log appends an event, with the time and who did it filled in.
func (l *Ledger) Log(e fslease.Event) {
	if e.At.IsZero() {
		e.At = l.clock.Now().Wall
	}
	if self, err := l.who(); err == nil && e.By == (fslease.Actor{}) {
		e.By = fslease.Actor{User: self.User, PID: self.PID, Host: self.Host}
	}
	line, err := e.MarshalJSON()
	if err != nil {
		return
	}
	name := journalDir + "/" + e.At.UTC().Format("2006-01") + ".jsonl"
	fd, err := l.openJournal(name)
	if err != nil {
		return
	}
	_, _ = unix.Write(fd, append(line, '\n'))
	_ = unix.Close(fd)
}

func (l *Ledger) openJournal(name string) (int, error) {
	const flags = unix.O_WRONLY | unix.O_APPEND
	fd, _, err := l.dir.openRegular(name, flags)
	if !errors.Is(err, fs.ErrNotExist) {
		return fd, err
	}
	if err := l.makeEmpty(name); err != nil { // an empty file with the ledger's mode and owner
		return -1, err
	}
	fd, _, err = l.dir.openRegular(name, flags)
	return fd, err
}
