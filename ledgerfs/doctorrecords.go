package ledgerfs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// files calls visit with each file of a folder whose names end in one of ends, once it is known to be a
// regular one. What cannot be such a file is a finding.
func (e *examination) files(top string, visit func(name string), ends ...string) {
	err := e.l.walkAll(top, func(name string, folder bool) error {
		base := path.Base(name)
		ours := false
		for _, end := range ends {
			ours = ours || strings.HasSuffix(base, end)
		}
		switch {
		case strings.Contains(name, "/."): // a temporary file, what was set aside, and what is in it
		case ours && !folder:
			if kind := e.l.kind(name); kind != "" {
				e.record(name, errNotRegular{kind})
				return nil
			}
			visit(name)
		case ours && folder:
			e.record(name, errNotRegular{"a directory"})
		case !folder:
			e.stray(name)
		}
		return nil
	})
	if err != nil {
		e.trouble("records", Broken, err)
	}
}

// damage is a finding about a file that is not what it should be, and keeps somebody from something.
func (e *examination) damage(name string, err error) *Finding {
	what := path.Base(name) + " is damaged: " + err.Error()
	var not errNotRegular
	if errors.As(err, &not) {
		what = path.Base(name) + " " + not.Error()
	}
	f := e.broken("records", what, "lease doctor --repair sets it aside")
	f.Path = e.l.file(name)
	f.mend = func(context.Context) (string, error) { return e.l.mendByMoving(name) }
	return f
}

// stray is a finding about a file that nobody put there who keeps to the rules. Among the records it is in
// the way of whoever reads them all.
func (e *examination) stray(name string) {
	top, _, _ := strings.Cut(name, "/")
	st, err := e.l.fsys.Stat(name)
	switch {
	case err != nil:
	case st.Mode&unix.S_IFMT == unix.S_IFLNK && path.Ext(name) == "":
		f := e.broken("records", "a link where a folder or nothing should be: it is not followed, and what is behind it does not count", "put the folder itself in its place")
		f.Path = e.l.file(name)
	case top == leasesDir || top == tombstonesDir || top == ticketsDir:
		e.damage(name, errors.New("it is no record"))
	default:
		f := e.warn("strangers", "nothing of lease's", "remove it if nobody needs it")
		f.Path = e.l.file(name)
	}
}

// newer is a finding about a record that this version does not understand.
func (e *examination) newer(name string, err error) {
	f := e.trouble("records", Warning, e.l.damaged(name, keyFromPath(name), err))
	f.What = "written by a newer version: it counts as held, and is left as it is"
}

// records reads every lease and tombstone.
func (e *examination) records() {
	before := len(e.found)
	highest := map[string]int64{} // generations of tombstones
	e.files(tombstonesDir, func(name string) {
		var t fslease.Tombstone
		if e.readable(name, &t, func() (fslease.Key, int64) { return t.Key, t.Generation }) {
			highest[strings.TrimPrefix(name, tombstonesDir)] = t.Generation
		}
	}, ".json")
	e.files(leasesDir, func(name string) {
		var rec fslease.Record
		if !e.readable(name, &rec, func() (fslease.Key, int64) { return rec.Key, rec.Generation }) {
			return
		}
		if rec.Generation > highest[strings.TrimPrefix(name, leasesDir)] {
			e.leases = append(e.leases, fslease.State{Lease: &rec})
			return
		}
		if !e.still(rec.Key, func() bool { return e.l.has(name) }) {
			return
		}
		f := e.warn("records", "given up already, as its tombstone says: a crash left it", "lease doctor --repair removes it")
		f.Path, f.Key = e.l.file(name), rec.Key
		f.mend = func(ctx context.Context) (string, error) { return e.l.mendReleased(ctx, rec.Key) }
	}, ".json")
	if len(e.found) == before {
		e.ok("records", "%s, %s", counted{len(e.leases), "key is held", "keys are held"}, counted{len(highest), "tombstone", "tombstones"})
	}
	e.overlaps()
}

// readable reads one lease or tombstone and reports whether it is what it should be.
func (e *examination) readable(name string, v json.Unmarshaler, about func() (fslease.Key, int64)) bool {
	data, err := e.l.fsys.ReadFile(name)
	if err == nil {
		err = v.UnmarshalJSON(data)
	} else if !errors.Is(err, fs.ErrNotExist) {
		e.trouble("records", Broken, e.l.fail(name, err))
		return false
	}
	key, gen := about()
	_, at, _ := strings.Cut(name, "/")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case errors.Is(err, fslease.ErrNewerSchema):
		e.newer(name, err)
		return false
	case err == nil && encodeKey(key)+".json" != at:
		err = fmt.Errorf("it is a record of %q", key)
	case err == nil && e.cfg != nil && e.aboveCeiling(gen):
		err = fmt.Errorf("generation %d is above the ceiling %d of this ledger", gen, e.cfg.Ceiling)
	}
	if err == nil {
		return true
	}
	e.record(name, err)
	return false
}

// record is damage of a file whose kind has a mend of its own.
func (e *examination) record(name string, err error) {
	f := e.damage(name, err)
	switch top, _, _ := strings.Cut(name, "/"); top {
	case leasesDir, tombstonesDir:
		f.Key = keyFromPath(name)
		f.Hint += ", and gives the key a generation above all that were handed out"
		f.mend = func(ctx context.Context) (string, error) { return e.l.mendRecord(ctx, name) }
		e.blameTheCut(f, name)
	case ticketsDir:
		f.Hint += ", and makes the ticket anew from what is reserved for it"
		f.mend = func(ctx context.Context) (string, error) { return e.l.mendTicket(ctx, name) }
	case sessionsDir:
		f.Hint += ", and blocks the ticket if it is the current session"
		f.mend = func(ctx context.Context) (string, error) { return e.l.mendSession(ctx, name) }
	}
}

// blameTheCut makes a warning of a finding about a file that the next change sets aside.
func (e *examination) blameTheCut(f *Finding, name string) {
	if e.torn() && e.l.kind(name) == "" {
		f.Level, f.Hint = Warning, "most likely a power cut did that: the next command that changes something sets it aside"
	}
}

// aboveCeiling reads the ceiling anew: it may have been raised since.
func (e *examination) aboveCeiling(gen int64) bool {
	if gen <= e.cfg.Ceiling {
		return false
	}
	if c, err := e.l.readConfig(); err == nil {
		e.cfg = &c
	}
	return gen > e.cfg.Ceiling
}

// torn reports whether nobody has changed anything yet on this boot: then the first one who does sets
// aside what the end of the boot before left damaged.
func (e *examination) torn() bool {
	self, err := e.l.who()
	return err == nil && e.cfg != nil && e.l.local() && self.BootIDGenuine && e.cfg.BootID != "" && e.cfg.BootID != self.BootID
}

// overlaps looks for keys that are held although a key above them is held too, by somebody else.
func (e *examination) overlaps() {
	holders := map[fslease.Key]fslease.Record{}
	for _, st := range e.leases {
		holders[st.Lease.Key] = *st.Lease
	}
	for _, st := range e.leases {
		for _, a := range st.Lease.Key.Ancestors() {
			above, held := holders[a]
			if !held || e.l.stale(above) || e.l.stale(*st.Lease) {
				continue
			}
			f := e.broken("holders", fmt.Sprintf("held by %s while %s, above it, is held by %s", st.Lease.Holder.Describe(), a, above.Holder.Describe()),
				"ask both, and take the key from one of them: lease break")
			f.Key, f.Path = st.Lease.Key, e.l.file(leasePath(st.Lease.Key))
		}
	}
}

// still reports whether what looks half done about a key stays so while nobody can change it: then a crash
// left it. If somebody changes it just now, it is not.
func (e *examination) still(key fslease.Key, odd func() bool) bool {
	missing := func() error { return fs.ErrNotExist }
	for _, k := range append(key.Ancestors(), key) {
		switch f, err := e.l.lock(lockPath(k), false, 0, missing); {
		case err == nil:
			defer f.unlock()
		case isBusy(err):
			return false
		}
	}
	return odd()
}

// stale reports whether a lease does not count: it is gone by now, or may be taken over.
func (l *Ledger) stale(rec fslease.Record) bool {
	r := &reader{l: l}
	st, err := r.Load(rec.Key)
	cur := st.Current()
	if err != nil || cur == nil || cur.Generation != rec.Generation {
		return true
	}
	if cur.Holder.IsTicket() {
		t, err := r.Ticket(cur.Holder.Ticket)
		return err == nil && !t.Reserves(*cur)
	}
	seen, _ := r.Sighting(rec.Key)
	return fslease.Judge(*cur, l.Probe(cur.Holder), l.clock.Now(), seen).Takeover
}
