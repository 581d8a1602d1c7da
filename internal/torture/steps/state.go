package steps

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"fslease/fslease"
	"fslease/hostproc"
	"fslease/ledgerfs"
)

// A State is what a ledger has on record.
type State struct {
	Root     string // the directory around the ledger
	Keys     map[fslease.Key]fslease.State
	Dead     map[fslease.Key]bool // whose holder is dead
	Tickets  map[string]fslease.Ticket
	Sessions map[string][]fslease.Session
	Active   []string
	Damaged  []string // what cannot be read
}

// look reads the whole ledger.
func look(dir string) State {
	s := State{
		Root: filepath.Dir(dir), Keys: map[fslease.Key]fslease.State{}, Dead: map[fslease.Key]bool{},
		Tickets: map[string]fslease.Ticket{}, Sessions: map[string][]fslease.Session{},
	}
	damaged := func(err error) error {
		if err != nil {
			s.Damaged = append(s.Damaged, err.Error())
		}
		return nil
	}
	l, err := ledgerfs.Open(dir, ledgerfs.Options{Processes: hostproc.New()})
	if err != nil {
		_ = damaged(err)
		return s
	}
	defer l.Close()
	view := l.View(context.Background())
	_ = damaged(view.Walk("", true, func(k fslease.Key, st fslease.State, err error) error {
		s.Keys[k] = st
		if cur := st.Current(); cur != nil {
			s.Dead[k] = l.Probe(cur.Holder).Life == fslease.Dead
		}
		return damaged(err)
	}))
	_ = damaged(view.Tickets(func(id string, t *fslease.Ticket, err error) error {
		if t != nil {
			s.Tickets[id] = *t
		}
		generations, e := view.Sessions(id)
		_ = damaged(e)
		for _, g := range generations {
			session, err := view.Session(id, g)
			if _ = damaged(err); session != nil {
				s.Sessions[id] = append(s.Sessions[id], *session)
			}
		}
		return damaged(err)
	}))
	s.Active, err = view.Active()
	_ = damaged(err)
	return s
}

// queued reports whether the process pid, or with 0 any, is in the queue of the first key.
func (c *Trial) queued(pid int) bool {
	l, err := ledgerfs.Open(c.Ledger.Dir, ledgerfs.Options{Processes: hostproc.New()})
	if err != nil {
		return false
	}
	defer l.Close()
	waiters, _ := fslease.Waiters(l.View(context.Background()), c.Row.Keys[0])
	return slices.ContainsFunc(waiters, func(w fslease.Waiter) bool { return pid == 0 || w.Holder.PID == int64(pid) })
}

// litter returns the files of a ledger that only somebody who is at work needs: all of them, or those of keys and queues alone.
func litter(dir string, keys []fslease.Key) []string {
	var found []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // gone
		}
		name, _ := filepath.Rel(dir, path)
		folder, rest, _ := strings.Cut(name, "/")
		temporary := strings.HasPrefix(d.Name(), ".") && strings.HasSuffix(d.Name(), ".tmp")
		ofKey := func(k fslease.Key) bool {
			at, base := filepath.Split(string(k))
			return temporary && strings.HasPrefix(rest, at+"."+base+".json.")
		}
		switch {
		case folder == "queue", slices.ContainsFunc(keys, ofKey), len(keys) == 0 && (temporary || folder == "holders" || folder == "orphans"):
			found = append(found, name)
		}
		return nil
	})
	return found
}
