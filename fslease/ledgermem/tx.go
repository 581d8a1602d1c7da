package ledgermem

import (
	"cmp"
	"fmt"

	"fslease/fslease"
)

// A tx writes records of locked keys. It refuses every other key: on a ledger of several processes such a
// write would be a race.
type tx struct {
	reader
	h    *Handle
	keys []fslease.Key
}

func (t *tx) Now() fslease.Instant { return t.s.clock.Now() }

// owns refuses a key that is not under the exclusive locks.
func (t *tx) owns(key fslease.Key) error {
	for _, k := range t.keys {
		if k.Covers(key) {
			return nil
		}
	}
	return t.unlocked(key)
}

// touches refuses a key that is neither under the exclusive locks nor under the shared ones.
func (t *tx) touches(key fslease.Key) error {
	if key.OverlapsAny(t.keys) {
		return nil
	}
	return t.unlocked(key)
}

func (t *tx) unlocked(key fslease.Key) error {
	return &fslease.RepositoryError{Fault: fslease.FaultLedger, Key: key, What: fmt.Sprintf("%s is to be written under the locks of %v only", key, t.keys)}
}

// write does one write if allowed is nil.
func (t *tx) write(allowed error, do func()) error {
	if allowed != nil {
		return allowed
	}
	return t.h.write(do)
}

func (t *tx) NextGeneration(key fslease.Key, st fslease.State) (int64, error) {
	next := st.Generation() + 1
	if next > fslease.MaxNumber {
		return 0, &fslease.RepositoryError{Fault: fslease.FaultLedger, Key: key, What: "there is no generation left"}
	}
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if next > t.s.ceiling {
		t.s.ceiling = next + ceilingStep
	}
	return next, nil
}

func (t *tx) Put(rec fslease.Record, _ bool) error {
	data, err := encode("lease", rec.Key, rec)
	if err != nil {
		return err
	}
	return t.write(t.owns(rec.Key), func() {
		t.s.leases[rec.Key] = data
		t.s.leaseChanged(rec.Key)
	})
}

func (t *tx) Bury(rec fslease.Record, tomb fslease.Tombstone) error {
	data, err := encode("tombstone", rec.Key, tomb)
	if err != nil {
		return err
	}
	// Under a shared lock another one may bury the same lease meanwhile.
	var st fslease.State
	var damage error
	err = t.write(t.touches(rec.Key), func() {
		if st, damage = t.s.state(rec.Key); damage == nil && (st.Tomb == nil || st.Tomb.Generation < tomb.Generation) {
			t.s.tombs[rec.Key] = data
		}
	})
	if err = cmp.Or(err, damage); err != nil || st.Lease == nil || st.Lease.Generation != rec.Generation {
		return err
	}
	removed := false
	err = t.h.write(func() {
		if now, err := t.s.state(rec.Key); err == nil && now.Lease != nil && now.Lease.Generation == rec.Generation {
			delete(t.s.leases, rec.Key)
			t.s.leaseChanged(rec.Key)
			removed = true
		}
	})
	if removed && tomb.Reason.Takeover() {
		t.Log(fslease.Event{Event: fslease.EventTakenOver, Key: rec.Key, Generation: rec.Generation, Revision: tomb.Revision, Reason: string(tomb.Reason)})
	}
	return err
}

func (t *tx) See(s fslease.Sighting) error {
	return t.write(t.touches(s.Key), func() {
		was, ok := t.s.sightings[s.Key]
		same := was
		same.Mono = s.Mono
		if ok && same == s && was.Mono <= s.Mono {
			return
		}
		t.s.sightings[s.Key] = s
	})
}

func (t *tx) PutTicket(ticket fslease.Ticket) error {
	key := fslease.TicketKey(ticket.ID)
	data, err := encode("ticket", key, ticket)
	if err != nil {
		return err
	}
	return t.write(t.owns(key), func() { t.s.tickets[ticket.ID] = data })
}

func (t *tx) PutSession(s fslease.Session) error {
	key := fslease.TicketKey(s.Ticket)
	data, err := encode("session", key, s)
	if err != nil {
		return err
	}
	return t.write(t.owns(key), func() {
		if t.s.sessions[s.Ticket] == nil {
			t.s.sessions[s.Ticket] = map[int64][]byte{}
		}
		t.s.sessions[s.Ticket][s.Generation] = data
	})
}

func (t *tx) SetActive(id string, active bool) error {
	return t.write(t.owns(fslease.TicketKey(id)), func() {
		if active {
			t.s.active[id] = true
		} else {
			delete(t.s.active, id)
		}
	})
}

func (t *tx) Log(e fslease.Event) {
	e.At = t.Now().Wall
	e.By = fslease.Actor{User: t.h.self.User, PID: t.h.self.PID, Host: t.h.self.Host}
	t.s.log(e)
}

// encode gives what a file would hold, and refuses what could not be read back.
func encode[T interface{ MarshalJSON() ([]byte, error) }](what string, key fslease.Key, v T) ([]byte, error) {
	data, err := v.MarshalJSON()
	if err == nil && len(data) > fslease.MaxRecordBytes {
		err = &fslease.RepositoryError{Fault: fslease.FaultLedger, Path: path(what, key), Key: key, What: "the " + what + " is too large"}
	}
	return data, err
}
