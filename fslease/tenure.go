package fslease

import "errors"

// processTenure is that of a process: records that name its holder id.
type processTenure struct {
	held []Key
	id   string
	gone map[Key]bool // what end has given up
}

func (p processTenure) keys() []Key { return p.held }

// renew writes every record anew. Only when all were written do their stamps count.
func (p processTenure) renew(tx Tx, records []Record) ([]Record, error) {
	fresh := make([]Record, 0, len(records))
	for _, old := range records {
		st, err := tx.Load(old.Key)
		if err != nil {
			return nil, err
		}
		cur, err := CheckToken(old.Key, st, old.Generation, p.id)
		if err != nil {
			bequeath(tx, old, st)
			return nil, err
		}
		rec := Renewed(cur, tx.Now())
		if err := tx.Put(rec, false); err != nil {
			return nil, err
		}
		fresh = append(fresh, rec)
	}
	return fresh, nil
}

// bequeath leaves a tombstone of a lease whose files are gone, so that its generation is not given out again.
func bequeath(tx Tx, old Record, st State) {
	if st.Generation() < old.Generation {
		_ = tx.Bury(old, Buried(old, st.Tomb, ReasonBroken, tx.Now())) // the loss is reported anyway
		tx.Log(Event{Event: EventLost, Key: old.Key, Generation: old.Generation, Reason: "the record was gone"})
	}
}

func (p processTenure) check(tx Tx, records []Record) error {
	for _, rec := range records {
		st, err := tx.Load(rec.Key)
		if err != nil {
			return err
		}
		if _, err := CheckToken(rec.Key, st, rec.Generation, p.id); err != nil {
			return err
		}
	}
	return nil
}

// end gives up every key that is still held, whatever became of the others.
func (p processTenure) end(tx Tx, records []Record) error {
	var first error
	for _, rec := range records {
		if p.gone[rec.Key] {
			continue // by a run that a removed lock file cut short
		}
		err := releaseIn(tx, rec.Key, rec.Generation, p.id)
		if err == nil {
			p.gone[rec.Key] = true
		}
		first = graver(first, err)
	}
	return first
}

// graver returns the error to be reported of two, the first unless that is only a loss: for the other one the ledger may run the
// update again.
func graver(first, second error) error {
	if first == nil || second != nil && errors.Is(first, ErrLost) && !errors.Is(second, ErrLost) {
		return second
	}
	return first
}

// releaseIn gives up one key whose token must be current.
func releaseIn(tx Tx, key Key, token int64, holderID string) error {
	st, err := tx.Load(key)
	if err != nil {
		return err
	}
	rec, err := CheckToken(key, st, token, holderID)
	if err != nil {
		return err
	}
	return giveUp(tx, st, rec)
}

// giveUp releases rec, the current lease of st.
func giveUp(tx Tx, st State, rec Record) error {
	t := Buried(rec, st.Tomb, ReasonReleased, tx.Now())
	if err := tx.Bury(rec, t); err != nil {
		return err
	}
	tx.Log(Event{Event: EventReleased, Key: rec.Key, Generation: rec.Generation, Revision: t.Revision})
	return nil
}
