package steps

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// A Grant is a generation that somebody was told.
type Grant struct {
	Key        fslease.Key
	Generation int64
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

// answered returns the generations that a command printed: as its answer, or as what it ran did.
func (r Row) answered(stdout string) []Grant {
	var grants []Grant
	for line := range strings.Lines(stdout) {
		if !strings.HasSuffix(line, "\n") {
			break // it was killed meanwhile
		}
		for token := range strings.FieldsSeq(line) {
			if i := strings.LastIndexByte(token, '='); i > 0 {
				grants = appendGrant(grants, fslease.Key(token[:i]), token[i+1:])
			}
		}
		number, key, several := strings.Cut(strings.TrimSpace(line), "\t")
		if several {
			grants = appendGrant(grants, fslease.Key(key), number)
		} else if r.Answer != "" {
			grants = appendGrant(grants, r.Answer, number)
		}
	}
	return grants
}

func appendGrant(grants []Grant, key fslease.Key, number string) []Grant {
	g, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return grants
	}
	return append(grants, Grant{key, g})
}

// overlaps says what ran while something else did, by the notes of $WORK; "" if nothing.
func overlaps(file string) string {
	data, _ := os.ReadFile(file)
	running := ""
	for line := range strings.Lines(string(data)) {
		verb, tokens, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case verb == "begin" && running != "":
			return fmt.Sprintf("%q began while %q ran", tokens, running)
		case verb == "begin":
			running = tokens
		case running != tokens:
			return fmt.Sprintf("%q ended while %q ran", tokens, running)
		default:
			running = ""
		}
	}
	return ""
}

// last returns the last generation of key among grants, 0 if there is none.
func last(grants []Grant, key fslease.Key) int64 {
	var g int64
	for _, grant := range grants {
		if grant.Key == key {
			g = grant.Generation
		}
	}
	return g
}
