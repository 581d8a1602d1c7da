package ledgerfs

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"fslease/fslease"
)

// Places lists the names in the queues that overlap keys: those of the ancestors, their own, and all below.
// The numbers are the file names, so no file is read.
func (r *reader) Places(keys ...fslease.Key) ([]fslease.Place, error) {
	var places []fslease.Place
	if len(keys) == 0 {
		err := r.queueBelow("", "", &places)
		sortPlaces(places)
		return places, err
	}
	for _, k := range fslease.FoldKeys(keys) {
		for _, a := range k.Ancestors() {
			if _, err := r.queueOf(a, &places); err != nil {
				return nil, err
			}
		}
		if err := r.queueBelow(k, encodeKey(k), &places); err != nil {
			return nil, err
		}
	}
	sortPlaces(places)
	return slices.Compact(places), nil
}

func sortPlaces(places []fslease.Place) {
	slices.SortFunc(places, func(a, b fslease.Place) int {
		if a.Number != b.Number {
			return int(min(max(a.Number-b.Number, -1), 1))
		}
		return fslease.CompareKeys(a.Key, b.Key)
	})
}

// queueOf adds the places in one key's own queue and returns the folders in it.
func (r *reader) queueOf(key fslease.Key, places *[]fslease.Place) (folders []string, err error) {
	dir := queueDir
	if key != "" {
		dir = queuePath(key)
	}
	names, err := r.l.fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, r.l.fail(dir, err)
	}
	for _, n := range names {
		if folder, ok := strings.CutSuffix(n, "/"); ok {
			folders = append(folders, folder)
		}
		number, ok := strings.CutSuffix(n, ".json")
		if v, err := strconv.ParseInt(number, 10, 64); ok && err == nil && v > 0 {
			*places = append(*places, fslease.Place{Key: key, Number: v})
		}
	}
	return folders, nil
}

// queueBelow adds the places in the queue of key and everything below it. A folder does not always tell
// its key; the entries in it do.
func (r *reader) queueBelow(key fslease.Key, encoded string, places *[]fslease.Place) error {
	folders, err := r.queueOf(key, places)
	if err != nil {
		return err
	}
	for _, f := range folders {
		sub := strings.TrimPrefix(encoded+"/"+f, "/")
		k, err := r.queueKey(sub)
		if err != nil {
			return err
		}
		if k == "" {
			continue // a folder of no key, put there by a hand: nobody waits in it
		}
		if err := r.queueBelow(k, sub, places); err != nil {
			return err
		}
	}
	return nil
}

// queueKey returns the key whose queue is the folder encoded.
func (r *reader) queueKey(encoded string) (fslease.Key, error) {
	if k := decodePath(encoded); encodeKey(k) == encoded {
		return k, nil
	}
	// The hash of an overlong segment cannot be undone: some entry below names the key.
	var key fslease.Key
	err := r.walkFiles(queueDir+"/"+encoded, func(name string) error {
		var w fslease.Waiter
		if ok, err := r.load(name, "", &w); !ok || key != "" {
			return ignoreDamage(err)
		}
		for _, k := range w.Keys {
			for _, a := range append(k.Ancestors(), k) {
				if encodeKey(a) == encoded {
					key = a
				}
			}
		}
		return nil
	})
	return key, err
}

// decodePath undoes encodeKey where that is possible.
func decodePath(encoded string) fslease.Key {
	var b strings.Builder
	for i := 0; i < len(encoded); i++ {
		if encoded[i] == '%' && i+2 < len(encoded) {
			if v, err := strconv.ParseUint(encoded[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(encoded[i])
	}
	return fslease.Key(b.String())
}

func ignoreDamage(err error) error {
	var re *fslease.RepositoryError
	if errors.As(err, &re) && re.Fault == fslease.FaultDamaged {
		return nil
	}
	return err
}

// Waiter reads one entry. The queue is a hint: an entry that cannot be understood keeps nobody waiting.
func (r *reader) Waiter(p fslease.Place) (*fslease.Waiter, error) {
	w := fslease.Waiter{Number: p.Number}
	ok, err := r.load(placePath(p), p.Key, &w)
	if !ok {
		return nil, ignoreDamage(err)
	}
	if data, err := r.l.fsys.ReadFile(turnPath(fslease.Place{Key: w.Keys[0], Number: w.Number})); err == nil {
		var t turnMark
		if json.Unmarshal(data, &t) == nil {
			w.Turn = &fslease.Instant{Mono: t.Mono, BootID: t.BootID, TimeNS: t.TimeNS}
		}
	}
	return &w, nil
}

// turnMark is beside a queue entry while its waiter does not take its turn: since when.
type turnMark struct {
	BootID string `json:"boot_id"`
	TimeNS int64  `json:"time_ns"`
	Mono   int64  `json:"mono_ns"`
}

// Enqueue enters w into the queue of each of its keys, under one number.
func (t *tx) Enqueue(w fslease.Waiter) (fslease.Waiter, error) {
	places, err := t.Places(w.Keys...)
	if err != nil {
		return w, err
	}
	w.Number = 1
	if len(places) > 0 {
		w.Number = places[len(places)-1].Number + 1
	}
	if w.Holder, err = t.recordable(w.Holder); err != nil {
		return w, err
	}
	data, err := w.MarshalJSON()
	if err != nil {
		return w, err
	}
	for i, k := range w.Keys {
		p := fslease.Place{Key: k, Number: w.Number}
		_ = t.l.fsys.Remove(turnPath(p))
		if err := t.l.link(placePath(p), fslease.Indent(data), false, nil); err != nil {
			_ = t.l.Leave(fslease.Waiter{Keys: w.Keys[:i], Number: w.Number}) // and not what stood there
			if errors.Is(err, fs.ErrExist) && t.l.kind(placePath(p)) == "" {
				return w, errLockMoved // who drew the same number had a lock as well: one of the two was removed
			}
			return w, t.l.fail(placePath(p), err)
		}
	}
	return w, nil
}

// Leave takes w out of the queue of each of its keys.
func (l *Ledger) Leave(w fslease.Waiter) error {
	var first error
	for _, k := range w.Keys {
		p := fslease.Place{Key: k, Number: w.Number}
		if now, err := (&reader{l: l}).Waiter(p); err == nil && now != nil && now.Holder.ID != w.Holder.ID {
			continue // the number was drawn again: it belongs to somebody else
		}
		_ = l.fsys.Remove(turnPath(p))
		if err := l.fsys.Remove(placePath(p)); err != nil && !errors.Is(err, fs.ErrNotExist) && first == nil {
			first = l.fail(placePath(p), err)
		}
	}
	return first
}

// MarkTurn notes since when w does not take its turn.
func (l *Ledger) MarkTurn(w fslease.Waiter, now fslease.Instant) error {
	data, err := json.Marshal(turnMark{BootID: now.BootID, TimeNS: now.TimeNS, Mono: now.Mono})
	if err != nil {
		return err
	}
	name := turnPath(fslease.Place{Key: w.Keys[0], Number: w.Number})
	err = l.link(name, append(data, '\n'), false, nil)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if _, gone := l.fsys.Stat(placePath(fslease.Place{Key: w.Keys[0], Number: w.Number})); errors.Is(gone, fs.ErrNotExist) {
		_ = l.fsys.Remove(name) // it left just now, and nobody else would clear the mark
	}
	return l.fail(name, err)
}

// ClearTurn forgets it: w is awake.
func (l *Ledger) ClearTurn(w fslease.Waiter) error {
	name := turnPath(fslease.Place{Key: w.Keys[0], Number: w.Number})
	err := l.fsys.Remove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return l.fail(name, err)
}
