package ledgerfs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fslease/fslease"
)

// mendRecord sets a damaged lease or tombstone aside, under the lock of its key. What is told here holds
// whatever the record was: the floor is above every generation of the key before the file goes; a command
// of its holder that may still run is noted, so that a successor waits for it; and if a live ticket had
// the key reserved, it is reserved again.
func (l *Ledger) mendRecord(ctx context.Context, name string) (string, error) {
	top, at, _ := strings.Cut(strings.TrimSuffix(name, ".json"), "/")
	key, ticket, err := l.keyAt(at)
	if err != nil {
		return "", err
	}
	keys := []fslease.Key{key}
	if ticket != nil {
		keys = ticket.Keys()
	}
	var done string
	err = l.Update(ctx, keys, func(ftx fslease.Tx) error {
		t := ftx.(*tx)
		done = ""
		gen, err := t.stillDamaged(name)
		if err != nil || gen < 0 {
			return err
		}
		if gen > 0 && t.livesOn(name) {
			done = fmt.Sprintf("left it as it is, and raised the ceiling above its generation %d: its holder is alive", gen)
			_, err = l.raiseFloor(gen)
			return err
		}
		c, err := l.raiseFloor(gen)
		if err != nil {
			return err
		}
		t.cfg = &c
		if err := l.noteOrphansOf(key); err != nil {
			return err
		}
		aside, err := l.setAside(name)
		if err != nil {
			return err
		}
		done = "kept it as " + aside
		if top != leasesDir {
			return nil
		}
		done += fmt.Sprintf("; the next generation of %s is above %d", key, c.Floor)
		again, err := t.reserveAgain(key, ticket)
		if again != "" {
			done += ", and " + again
		}
		return err
	})
	return done, err
}

// keyAt returns the key whose path is at, and the live ticket that reserves it, if there is one. A path
// does not always tell its key; a ticket may.
func (l *Ledger) keyAt(at string) (fslease.Key, *fslease.Ticket, error) {
	key := decodePath(at)
	var found *fslease.Ticket
	err := (&reader{l: l}).Tickets(func(_ string, t *fslease.Ticket, err error) error {
		if t == nil || !t.Status.Live() {
			return nil
		}
		for _, k := range t.Keys() {
			if encodeKey(k) == at {
				key, found = k, t
			}
		}
		return nil
	})
	if err == nil && found == nil && encodeKey(key) != at {
		err = &fslease.RepositoryError{Fault: fslease.FaultDamaged, Path: l.file(leasesDir + "/" + at + ".json"),
			What: "the key of a damaged record cannot be told from its path", Hint: "ask for the key once with lease show: then its own name is known, and remove the file by hand if nobody needs it"}
	}
	return key, found, err
}

// stillDamaged looks again, under the lock: -1 says that the record is good or gone by now. Otherwise it
// returns its generation if that alone is wrong with it: it is above the ceiling, but not by more than a
// ledger that lost its newest ceiling can explain.
func (t *tx) stillDamaged(name string) (int64, error) {
	if !t.l.has(name) {
		return -1, nil
	}
	top, at, _ := strings.Cut(strings.TrimSuffix(name, ".json"), "/")
	var key fslease.Key
	var gen int64
	var err error
	if top == leasesDir {
		var rec fslease.Record
		_, err = t.load(name, "", &rec)
		key, gen = rec.Key, rec.Generation
	} else {
		var tomb fslease.Tombstone
		_, err = t.load(name, "", &tomb)
		key, gen = tomb.Key, tomb.Generation
	}
	c, cerr := t.l.readConfig()
	switch {
	case cerr != nil:
		return -1, cerr
	case isDamaged(err), err == nil && encodeKey(key) != at:
		return 0, nil
	case err != nil:
		return -1, err
	case gen <= c.Ceiling:
		return -1, nil
	case gen > c.Ceiling+believable:
		return 0, nil
	}
	return gen, nil
}

// believable is how far above the ceiling a generation may be to be taken for one that was handed out
// before ledger.json was set back. No ledger hands out more in its life.
const believable = 1 << 32

// livesOn reports whether the holder of a lease is proven alive, or is a ticket that reserves the key.
func (t *tx) livesOn(name string) bool {
	var rec fslease.Record
	ok, err := t.load(name, "", &rec)
	if err != nil || !ok || leasePath(rec.Key) != name {
		return false
	}
	if rec.Holder.IsTicket() {
		ticket, err := t.Ticket(rec.Holder.Ticket)
		return err == nil && ticket.Reserves(rec)
	}
	return t.l.Probe(rec.Holder).Life == fslease.Alive
}

// noteOrphansOf notes the commands that run under a key whose lease cannot be read. A note of one whose
// holder still lives does no harm: it counts until that command has ended.
func (l *Ledger) noteOrphansOf(key fslease.Key) error {
	names, err := l.list(holdersDir)
	if err != nil {
		return err
	}
	for _, n := range names {
		id, ok := strings.CutSuffix(n, commandSuffix)
		if !ok || !fslease.ValidHolderID(id) {
			continue
		}
		note, err := l.readNote(holdersDir + "/" + n)
		if err != nil || note == nil || !note.Overlaps([]fslease.Key{key}) {
			continue // one that cannot be read is a finding of its own
		}
		if err := l.noteOrphan(fslease.Holder{ID: id, Evidence: fslease.EvidenceLock}); err != nil {
			return err
		}
	}
	return nil
}

// reserveAgain reserves a key whose lease was lost for the ticket that had it. The ticket's own key gets the
// generation of the session, which is the token that its worker has.
func (t *tx) reserveAgain(key fslease.Key, before *fslease.Ticket) (string, error) {
	if before == nil {
		return "", nil
	}
	now, err := t.Ticket(before.ID)
	if err != nil || now == nil || !now.Status.Live() || !slices.Contains(now.Keys(), key) {
		return "", err
	}
	st, err := t.Load(key)
	if err != nil {
		return "", err
	}
	gen, err := t.NextGeneration(key, st)
	if err != nil {
		return "", err
	}
	if key == fslease.TicketKey(now.ID) && now.Status == fslease.InProgress && now.Session > st.Generation() {
		gen = now.Session
	}
	h := fslease.Holder{Kind: fslease.KindTicket, Ticket: now.ID, Session: now.Session}
	rec := fslease.Granted(st, fslease.Grant{Key: key, Holder: h}, gen, t.Now())
	if err := t.Put(rec, true); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is reserved for ticket %s again", key, now.ID), nil
}

// mendReservation reserves a key that a live ticket lacks, unless somebody has it by now.
func (l *Ledger) mendReservation(ctx context.Context, key fslease.Key, id string) (string, error) {
	ticket, err := (&reader{l: l}).Ticket(id)
	if err != nil || ticket == nil {
		return "", err
	}
	done := ""
	err = l.Update(ctx, ticket.Keys(), func(ftx fslease.Tx) error {
		done = ""
		states, err := ftx.Overlapping(key)
		if err != nil {
			return err
		}
		for _, st := range states {
			cur := st.Current()
			switch {
			case cur == nil:
			case cur.Holder.IsTicket() && cur.Holder.Ticket == id:
				return nil
			default:
				return fmt.Errorf("%s is held by %s: wait until it is given up, then repair again", cur.Key, cur.Holder.Describe())
			}
		}
		done, err = ftx.(*tx).reserveAgain(key, ticket)
		return err
	})
	return done, err
}

// mendReleased removes a lease that was given up.
func (l *Ledger) mendReleased(ctx context.Context, key fslease.Key) (string, error) {
	done := ""
	err := l.Update(ctx, []fslease.Key{key}, func(tx fslease.Tx) error {
		st, err := tx.Load(key)
		if err != nil || st.Lease == nil || st.Current() != nil {
			return err
		}
		done = "removed it"
		return tx.Bury(*st.Lease, *st.Tomb)
	})
	return done, err
}

// mendVoid removes a reservation that does not count, as whoever wants the key would.
func (l *Ledger) mendVoid(ctx context.Context, rec fslease.Record) (string, error) {
	done := ""
	err := l.Update(ctx, []fslease.Key{rec.Key}, func(tx fslease.Tx) error {
		st, err := tx.Load(rec.Key)
		cur := st.Current()
		if err != nil || cur == nil || cur.Generation != rec.Generation {
			return err
		}
		t, err := tx.Ticket(rec.Holder.Ticket)
		if err != nil || t.Reserves(*cur) {
			return err
		}
		done = "removed it"
		return tx.Bury(*cur, fslease.Buried(*cur, st.Tomb, fslease.ReasonReleased, tx.Now()))
	})
	return done, err
}
