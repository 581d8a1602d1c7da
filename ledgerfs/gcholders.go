package ledgerfs

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// waiters removes the queue entries of dead waiters, those that cannot be read, which keep nobody waiting,
// and marks of no entry.
func (c *collector) waiters(context.Context) error {
	return c.r.walkFiles(queueDir, func(name string) error {
		if entry, ok := strings.CutSuffix(name, turnSuffix); ok {
			if c.l.has(entry + ".json") {
				return nil
			}
			return c.drop(name, &c.got.Waiters)
		}
		var w fslease.Waiter
		ok, err := c.r.load(name, "", &w)
		if isDamaged(err) && c.l.kind(name) == "" {
			return c.drop(name, &c.got.Waiters)
		}
		if err != nil || !ok || c.l.Probe(w.Holder).Life != fslease.Dead {
			return ignoreUnreadable(err)
		}
		return c.drop(name, &c.got.Waiters)
	})
}

// sessions removes what ended long enough ago, under the lock of its ticket. The session that a ticket
// names stays with it.
func (c *collector) sessions(context.Context) error {
	folders, err := c.l.list(sessionsDir)
	if err != nil {
		return err
	}
	for _, f := range folders {
		if folder, ok := strings.CutSuffix(f, "/"); ok {
			if err := c.sessionsIn(folder); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *collector) sessionsIn(folder string) error {
	dir := sessionsDir + "/" + folder
	names, err := c.l.list(dir)
	if err != nil {
		return err
	}
	stay := 0
	for _, n := range names {
		number, ok := strings.CutSuffix(n, ".json")
		gen, err := strconv.ParseInt(number, 10, 64)
		if !ok || err != nil || !c.oldFile(dir+"/"+n) {
			stay++
			continue
		}
		gone, err := c.session(dir+"/"+n, gen)
		if err != nil {
			return err
		}
		if !gone {
			stay++
		}
	}
	if stay > 0 || !c.aged() {
		return nil
	}
	_, err = c.rmdir(dir) // one that is made at this moment is made again
	return err
}

// session removes one session if it has ended and its ticket does not name it.
func (c *collector) session(name string, gen int64) (gone bool, err error) {
	var s fslease.Session
	ok, err := c.r.load(name, "", &s)
	if err != nil || !ok || sessionPath(s.Ticket, gen) != name {
		return false, ignoreUnreadable(err)
	}
	if !c.dry {
		locks, err := c.lockPath(encodeKey(fslease.TicketKey(s.Ticket)))
		if isBusy(err) {
			c.got.Busy++
			return false, nil
		}
		if err != nil {
			return false, err
		}
		defer locks.unlock()
		if ok, err = c.r.load(name, "", &s); err != nil || !ok {
			return false, ignoreUnreadable(err)
		}
	}
	t, err := c.r.Ticket(s.Ticket)
	if err != nil || s.Status == fslease.SessionActive || t != nil && t.Session == gen {
		return false, ignoreUnreadable(err)
	}
	return true, c.drop(name, &c.got.Sessions)
}

// holders removes what dead holders left under holders/, unless some record still names them: their file is
// what proves that they are dead.
func (c *collector) holders(context.Context) error {
	names, err := c.l.list(holdersDir)
	if err != nil {
		return err
	}
	var dead []string
	for _, n := range names {
		if id := holderOf(n); id != "" && !c.l.livesHere(id) {
			dead = append(dead, n)
		}
	}
	if len(dead) == 0 {
		return nil
	}
	// A dead holder takes nothing any more, so that who is not named now is named by nothing later.
	named, err := c.named()
	if err != nil {
		return ignoreUnreadable(err) // a record that cannot be read may name any
	}
	for _, n := range dead {
		if !named[holderOf(n)] {
			if err := c.drop(holdersDir+"/"+n, &c.got.Holders); err != nil {
				return err
			}
		}
	}
	return nil
}

// holderOf returns the id in the name of a file under holders/, "" if it has none.
func holderOf(name string) string {
	id, end, _ := strings.Cut(name, ".")
	if !fslease.ValidHolderID(id) || end != "json" && end != "command.json" {
		return ""
	}
	return id
}

// livesHere reports whether the liveness file of a holder is locked, or may be.
func (l *Ledger) livesHere(id string) bool {
	fd, _, err := l.dir.openRegular(holderPath(id), unix.O_RDONLY)
	if err != nil {
		return !errors.Is(err, unix.ENOENT)
	}
	defer func() { _ = unix.Close(fd) }()
	err = ignoreEINTR(func() error { return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) })
	return err != nil || !l.local()
}

// named returns the ids of the holders that leases, active sessions and queue entries name.
func (c *collector) named() (map[string]bool, error) {
	ids := map[string]bool{}
	err := c.r.walkFiles(leasesDir, func(name string) error {
		var rec fslease.Record
		_, err := c.r.load(name, "", &rec)
		ids[rec.Holder.ID] = true
		return err
	})
	if err != nil {
		return nil, err
	}
	err = c.r.walkFiles(sessionsDir, func(name string) error {
		var s fslease.Session
		_, err := c.r.load(name, "", &s)
		if s.Status == fslease.SessionActive && s.Holder != nil {
			ids[s.Holder.ID] = true
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return ids, c.r.walkFiles(queueDir, func(name string) error {
		var w fslease.Waiter
		if !strings.HasSuffix(name, ".json") {
			return nil
		}
		_, err := c.r.load(name, "", &w)
		ids[w.Holder.ID] = true
		return ignoreDamage(err)
	})
}

// orphans removes the notes of commands that are proven gone.
func (c *collector) orphans(context.Context) error {
	names, err := c.l.list(orphansDir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if strings.HasPrefix(n, ".") || !strings.HasSuffix(n, ".json") {
			continue
		}
		note, err := c.l.readNote(orphansDir + "/" + n)
		if err == nil && note != nil && c.l.opt.Processes.Judge(note.Process, c.l.local()).Life == fslease.Dead {
			err = c.drop(orphansDir+"/"+n, &c.got.Orphans)
		}
		if ignoreUnreadable(err) != nil {
			return err
		}
	}
	return nil
}
