package ledgerfs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"fslease/fslease"
)

// reader reads records. The configuration is read once, after the first record: a ceiling read earlier
// could be lower than a generation that was handed out meanwhile.
type reader struct {
	l      *Ledger
	cfg    *config
	broken error                         // why nothing can be read
	loaded map[fslease.Key]fslease.State // what a transaction has read, and written since; nil outside of one
}

// remember keeps what is on record for a key for the rest of the transaction.
func (r *reader) remember(key fslease.Key, st fslease.State) {
	if r.loaded != nil {
		r.loaded[key] = st
	}
}

// config returns ledger.json as it was read last.
func (r *reader) config() (config, error) {
	if r.cfg == nil {
		c, err := r.l.readConfig()
		if err != nil {
			return c, err
		}
		r.cfg = &c
	}
	return *r.cfg, nil
}

// load reads the record in the file name into v; it is false if there is none.
func (r *reader) load(name string, key fslease.Key, v json.Unmarshaler) (bool, error) {
	if r.broken != nil {
		return false, r.broken
	}
	data, err := r.l.fsys.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, r.l.fail(name, err)
	}
	if err := v.UnmarshalJSON(data); err != nil {
		return false, r.l.damaged(name, key, err)
	}
	return true, nil
}

// checkGeneration refuses a generation above the ceiling: it cannot have been handed out.
func (r *reader) checkGeneration(name string, key fslease.Key, gen int64) error {
	c, err := r.config()
	if err == nil && gen > c.Ceiling {
		r.cfg = nil
		c, err = r.config()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return r.l.damaged(configFile, "", errors.New("it is missing"))
	}
	if err == nil && gen > c.Ceiling {
		err = r.l.damaged(name, key, fmt.Errorf("generation %d is above the ceiling %d of this ledger", gen, c.Ceiling))
	}
	return err
}

func (r *reader) lease(key fslease.Key) (*fslease.Record, error) {
	name := leasePath(key)
	var rec fslease.Record
	ok, err := r.load(name, key, &rec)
	if !ok {
		return nil, err
	}
	if rec.Key != key {
		return nil, r.l.damaged(name, key, fmt.Errorf("it is a record of %q", rec.Key))
	}
	return &rec, r.checkGeneration(name, key, rec.Generation)
}

func (r *reader) tombstone(key fslease.Key) (*fslease.Tombstone, error) {
	name := tombstonePath(key)
	var t fslease.Tombstone
	ok, err := r.load(name, key, &t)
	if !ok {
		return nil, err
	}
	if t.Key != key {
		return nil, r.l.damaged(name, key, fmt.Errorf("it is a record of %q", t.Key))
	}
	return &t, r.checkGeneration(name, key, t.Generation)
}

// Load reads the lease before the tombstone: read the other way round, a release in between would look
// like a lease without one. Everybody who waits comes by here, so that a directory which was moved or
// replaced under him is told, and not waited in.
func (r *reader) Load(key fslease.Key) (st fslease.State, err error) {
	if err := r.l.checkRoot(); err != nil {
		return st, err
	}
	if st.Lease, err = r.lease(key); err != nil {
		return fslease.State{}, err
	}
	if st.Tomb, err = r.tombstone(key); err != nil {
		return fslease.State{}, err
	}
	r.remember(key, st)
	return st, nil
}

func (r *reader) Overlapping(key fslease.Key) ([]fslease.State, error) {
	var states []fslease.State
	add := func(lease *fslease.Record, err error) error {
		if err != nil || lease == nil {
			return err
		}
		tomb, err := r.tombstone(lease.Key)
		states = append(states, fslease.State{Lease: lease, Tomb: tomb})
		return err
	}
	for _, a := range key.Ancestors() {
		if err := add(r.lease(a)); err != nil {
			return nil, err
		}
	}
	own, err := r.Load(key)
	if err != nil {
		return nil, err
	}
	states = append(states, own)
	err = r.walkFiles(leasesDir+"/"+encodeKey(key), func(name string) error { return add(r.leaseAt(name)) })
	return states, err
}

// leaseAt returns the lease in a file whose name does not tell the key.
func (r *reader) leaseAt(name string) (*fslease.Record, error) {
	var rec fslease.Record
	ok, err := r.load(name, keyFromPath(name), &rec)
	if !ok {
		return nil, err
	}
	if leasePath(rec.Key) != name {
		return nil, r.l.damaged(name, keyFromPath(name), fmt.Errorf("it is a record of %q", rec.Key))
	}
	return &rec, r.checkGeneration(name, rec.Key, rec.Generation)
}

// keyOf returns the key of a record file, "" if it is gone. A file name does not always tell the key, so
// the record does, and is believed only if its path is that of the file.
func (r *reader) keyOf(name string) (fslease.Key, error) {
	data, err := r.l.fsys.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", r.l.fail(name, err)
	}
	var named struct {
		Schema int    `json:"schema"`
		Key    string `json:"key"`
	}
	_, path, _ := strings.Cut(name, "/")
	err = json.Unmarshal(data, &named)
	key := fslease.Key(named.Key)
	switch {
	case err != nil:
	case named.Schema > fslease.Schema:
		err = fslease.ErrNewerSchema
	default:
		key, err = fslease.ParseKey(named.Key)
	}
	if err == nil && encodeKey(key)+".json" != path {
		err = fmt.Errorf("it is a record of %q", named.Key)
	}
	if err != nil {
		return "", r.l.damaged(name, keyFromPath(name), err)
	}
	return key, nil
}

// keyFromPath guesses the key of a damaged file for the message.
func keyFromPath(name string) fslease.Key {
	_, path, _ := strings.Cut(name, "/")
	return fslease.Key(strings.TrimSuffix(path, ".json"))
}

// walkFiles calls visit with each JSON file below a folder. Temporary files are passed over.
func (r *reader) walkFiles(dir string, visit func(name string) error) error {
	if r.broken != nil {
		return r.broken
	}
	names, err := r.l.fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return r.l.fail(dir, err)
	}
	for _, n := range names {
		switch {
		case strings.HasPrefix(n, "."):
		case strings.HasSuffix(n, "/"):
			err = r.walkFiles(dir+"/"+strings.TrimSuffix(n, "/"), visit)
		default:
			err = visit(dir + "/" + n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) Walk(prefix fslease.Key, tombs bool, visit func(fslease.Key, fslease.State, error) error) error {
	type found struct {
		key fslease.Key
		err error
	}
	all := map[fslease.Key]error{}
	collect := func(name string) error {
		key, err := r.keyOf(name)
		if err != nil {
			key = keyFromPath(name)
		}
		if key != "" && (all[key] == nil) {
			all[key] = err
		}
		return nil
	}
	folders := []string{leasesDir}
	if tombs {
		folders = append(folders, tombstonesDir)
	}
	for _, folder := range folders {
		at := folder
		if prefix != "" {
			at += "/" + encodeKey(prefix)
			if _, err := r.l.fsys.Stat(at + ".json"); err == nil {
				_ = collect(at + ".json")
			}
		}
		if err := r.walkFiles(at, collect); err != nil {
			return err
		}
	}
	list := make([]found, 0, len(all))
	for k, err := range all {
		list = append(list, found{k, err})
	}
	slices.SortFunc(list, func(a, b found) int { return fslease.CompareKeys(a.key, b.key) })
	for _, f := range list {
		var st fslease.State
		err := f.err
		if err == nil {
			st, err = r.Load(f.key)
		}
		if err == nil && st.Lease == nil && (st.Tomb == nil || !tombs) {
			continue // gone meanwhile
		}
		if err := visit(f.key, st, err); err != nil {
			return err
		}
	}
	return nil
}

// Kin looks at the pid in the text of each lease, which takes a tenth of the time that its record would.
func (r *reader) Kin(ctx context.Context, kin func(pid int64) bool, visit func(fslease.Record)) error {
	return r.walkFiles(leasesDir, func(name string) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		data, err := r.l.fsys.ReadFile(name)
		if err != nil || !kin(pidIn(data)) {
			return nil
		}
		var rec fslease.Record
		if rec.UnmarshalJSON(data) != nil || leasePath(rec.Key) != name {
			return nil
		}
		if st, err := r.Load(rec.Key); err == nil && st.Current() != nil {
			visit(*st.Current())
		}
		return nil
	})
}

// pidIn returns the number that stands in a record as a holder's pid, 0 if there is none.
func pidIn(data []byte) int64 {
	_, after, found := bytes.Cut(data, []byte(`"pid":`))
	if !found {
		return 0
	}
	after = bytes.TrimLeft(after, " \t\r\n")
	n := 0
	for n < len(after) && after[n] >= '0' && after[n] <= '9' {
		n++
	}
	pid, _ := strconv.ParseInt(string(after[:n]), 10, 64)
	return pid
}

// Sighting returns the stored sighting. It is a hint: one that cannot be read counts as none.
func (r *reader) Sighting(key fslease.Key) (*fslease.Sighting, error) {
	var s fslease.Sighting
	ok, err := r.load(sightingPath(key), key, &s)
	var re *fslease.RepositoryError
	if errors.As(err, &re) && re.Fault == fslease.FaultDamaged {
		return nil, nil
	}
	if !ok || s.Key != key {
		return nil, err
	}
	return &s, nil
}

// emptyReader reads a ledger that does not exist yet.
type emptyReader struct{}

func (emptyReader) Load(fslease.Key) (fslease.State, error) { return fslease.State{}, nil }
func (emptyReader) Overlapping(fslease.Key) ([]fslease.State, error) {
	return []fslease.State{{}}, nil
}
func (emptyReader) Walk(fslease.Key, bool, func(fslease.Key, fslease.State, error) error) error {
	return nil
}
func (emptyReader) Kin(context.Context, func(int64) bool, func(fslease.Record)) error {
	return nil
}
func (emptyReader) Sighting(fslease.Key) (*fslease.Sighting, error)          { return nil, nil }
func (emptyReader) Places(...fslease.Key) ([]fslease.Place, error)           { return nil, nil }
func (emptyReader) Waiter(fslease.Place) (*fslease.Waiter, error)            { return nil, nil }
func (emptyReader) Keepers(fslease.Key) ([]fslease.Keeper, error)            { return nil, nil }
func (emptyReader) Ticket(string) (*fslease.Ticket, error)                   { return nil, nil }
func (emptyReader) Session(string, int64) (*fslease.Session, error)          { return nil, nil }
func (emptyReader) Tickets(func(string, *fslease.Ticket, error) error) error { return nil }
func (emptyReader) Sessions(string) ([]int64, error)                         { return nil, nil }
func (emptyReader) Active() ([]string, error)                                { return nil, nil }
