package ledgerfs

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// Presence is this process as a holder: an exclusive lock on its own file under holders/, for life.
type Presence struct {
	l      *Ledger
	holder fslease.Holder
	fd     int
	noted  bool
}

// Announce makes this process known as a holder.
func (l *Ledger) Announce(_ context.Context, command []string) (fslease.Presence, error) {
	if err := l.ready(); err != nil {
		return nil, err
	}
	h, err := l.who()
	if err != nil {
		return nil, l.failSelf(err)
	}
	h.ID, h.Evidence = newID(), fslease.EvidenceLock
	p := &Presence{l: l, fd: -1}
	about, err := json.Marshal(holderFile{Schema: fslease.Schema, ID: h.ID, PID: h.PID, Host: h.Host, User: h.User})
	if err != nil {
		return nil, err
	}
	// The lock is taken before the file is visible: a probe never finds it unlocked.
	err = l.link(holderPath(h.ID), fslease.Indent(about), false, func(fd int) error {
		p.drop()
		p.fd = fd
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		h.HolderInode = int64(st.Ino)
		return ignoreEINTR(func() error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	})
	if err != nil {
		p.drop()
		return nil, l.fail(holderPath(h.ID), err)
	}
	h.Command = fslease.CommandWords(command)
	p.holder = h
	return p, nil
}

// holderFile is what a file under holders/ says, for people; its lock is what counts.
type holderFile struct {
	Schema int    `json:"schema"`
	ID     string `json:"id"`
	PID    int64  `json:"pid"`
	Host   string `json:"host"`
	User   string `json:"user"`
}

// recordable cuts a holder's command to what the ledger's settings let a record hold.
func (t *tx) recordable(h fslease.Holder) (fslease.Holder, error) {
	if len(h.Command) == 0 {
		return h, nil
	}
	c, err := t.config()
	if err != nil {
		return h, t.l.fail(configFile, err)
	}
	switch c.Settings.RecordCommand {
	case "none":
		h.Command = nil
	case "name":
		h.Command = h.Command[:1]
	}
	return h, nil
}

// Holder returns the process as a record names it.
func (p *Presence) Holder() fslease.Holder { return p.holder }

// Close removes the file: this process holds nothing any more.
func (p *Presence) Close() error {
	if p.fd < 0 {
		return nil
	}
	defer p.drop()
	defer p.l.use()()
	err := p.l.attach() // the handle may have been closed
	if err == nil && p.noted {
		_ = p.l.fsys.Remove(commandPath(p.holder.ID))
	}
	if err == nil {
		err = p.l.fsys.Remove(holderPath(p.holder.ID))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p.l.fail(holderPath(p.holder.ID), err)
	}
	return nil
}

func (p *Presence) drop() {
	if p.fd >= 0 {
		_ = unix.Close(p.fd)
		p.fd = -1
	}
}

// probeLock judges by the liveness file. ok is false if it cannot tell: the file is missing, or another
// one is in its place. The probe is a shared lock that does not wait, so that probes do not see each other.
func (l *Ledger) probeLock(h fslease.Holder) (v fslease.Verdict, ok bool) {
	if l.fsys == nil || !fslease.ValidHolderID(h.ID) {
		return v, false
	}
	fd, st, err := l.dir.openRegular(holderPath(h.ID), unix.O_RDONLY)
	if err != nil {
		return v, false
	}
	defer func() { _ = unix.Close(fd) }()
	if int64(st.Ino) != h.HolderInode {
		return v, false
	}
	err = ignoreEINTR(func() error { return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) })
	switch {
	case err == unix.EWOULDBLOCK:
		return fslease.Verdict{Life: fslease.Alive, Reason: "keeps its liveness lock"}, true
	case err == nil && l.local():
		return fslease.Verdict{Life: fslease.Dead, Reason: "its liveness lock is free"}, true
	}
	return v, false
}
