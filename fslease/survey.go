package fslease

import (
	"slices"
	"time"
)

// TurnPatience is how long a waiter may leave its turn unused before the next one passes it over.
const TurnPatience = 5 * time.Second

// A finding is what a survey of everything that overlaps a request found.
type finding struct {
	held      *HeldError // nil: nothing is in the way
	refused   bool       // waiting would be for ever
	bury      []burial   // leases that may be taken over
	interest  Interest
	recheck   time.Duration // when silence may allow a takeover, 0: by events only
	sightings []Sighting    // of records whose stamp says nothing here
}

type burial struct {
	rec    Record
	state  State
	reason Reason
}

// survey judges everything that overlaps the keys: leases above, at and below them, reservations of
// tickets, and the queue. It reads only, under the locks or without.
func (a *acquisition) survey(r Reader) (finding, error) {
	f, err := a.surveyLeases(r)
	if err != nil {
		return f, err
	}
	return f, a.surveyQueue(r, &f)
}

func (a *acquisition) surveyLeases(r Reader) (finding, error) {
	var f finding
	a.states = make(map[Key]State, len(a.keys))
	var in inTheWay
	for _, k := range a.keys {
		states, err := r.Overlapping(k)
		if err != nil {
			return f, err
		}
		for _, st := range states {
			if st.Lease == nil || st.Lease.Key == k {
				a.states[k] = st
			}
			if cur := st.Current(); cur != nil {
				if err := a.weigh(r, &f, &in, k, *cur, st); err != nil {
					return f, err
				}
			}
		}
	}
	f.held = in.error()
	if f.held != nil {
		f.refused = f.held.Reason != ""
	}
	return f, nil
}

// inTheWay collects what stands in the way of a request, for the message.
type inTheWay struct {
	first    *HeldError
	reserved map[string][]Key
}

func (in *inTheWay) add(e *HeldError) {
	if in.first == nil || in.first.Reason == "" && e.Reason != "" {
		in.first = e
	}
}

func (in *inTheWay) reserve(ticket string, scope []Key) {
	if in.reserved == nil {
		in.reserved = map[string][]Key{}
	}
	for _, k := range scope {
		if !slices.Contains(in.reserved[ticket], k) {
			in.reserved[ticket] = append(in.reserved[ticket], k)
		}
	}
}

func (in *inTheWay) error() *HeldError {
	if in.first == nil {
		return nil
	}
	for ticket, keys := range in.reserved {
		slices.Sort(keys)
		in.first.Reserved = append(in.first.Reserved, Reserved{ticket, keys})
	}
	slices.SortFunc(in.first.Reserved, func(a, b Reserved) int { return CompareKeys(Key(a.Ticket), Key(b.Ticket)) })
	return in.first
}

// weigh judges one lease that overlaps the key k.
func (a *acquisition) weigh(r Reader, f *finding, in *inTheWay, k Key, rec Record, st State) error {
	if rec.Holder.IsTicket() {
		return a.weighReservation(r, f, in, k, rec, st)
	}
	j, sighting, err := a.judge(r, rec)
	if err != nil {
		return err
	}
	if sighting != nil {
		f.sightings = append(f.sightings, *sighting)
	}
	if j.Takeover {
		f.mayBury(burial{rec, st, j.Reason})
		return nil
	}
	reason := a.forOneself(rec)
	in.add(&HeldError{Key: k, Blocking: &rec, Verdict: j.Verdict, Reason: reason, Own: reason != ""})
	f.interest.Keys = append(f.interest.Keys, rec.Key)
	f.interest.Holders = append(f.interest.Holders, rec.Holder)
	f.soon(j.Wait)
	return nil
}

// mayBury notes a lease that may be taken over, once: it may overlap several keys of a request.
func (f *finding) mayBury(b burial) {
	if !slices.ContainsFunc(f.bury, func(o burial) bool { return o.rec.Key == b.rec.Key }) {
		f.bury = append(f.bury, b)
	}
}

func (f *finding) soon(d time.Duration) {
	if d > 0 && (f.recheck == 0 || d < f.recheck) {
		f.recheck = d
	}
}

// judge is Judge with the probe and the oldest sighting at hand, its own included. It returns the sighting
// to store if the record's stamp says nothing on this clock.
func (a *acquisition) judge(r Reader, rec Record) (Judgement, *Sighting, error) {
	v := a.m.ledger.Probe(rec.Holder)
	now := a.m.now() // after the record was read: a sighting must not be older than what it saw
	if v.Life == Dead || rec.TTL == 0 || !rec.NeedsSighting(now) {
		return Judge(rec, v, now, nil), nil, nil
	}
	stored, err := r.Sighting(rec.Key)
	if err != nil {
		return Judgement{}, nil, err
	}
	own, ok := a.seen[rec.Key]
	if !ok || !own.Of(rec, now) {
		own = Sighting{Key: rec.Key, Generation: rec.Generation, Revision: rec.Revision, BootID: now.BootID, TimeNS: now.TimeNS, Mono: now.Mono}
		a.seen[rec.Key] = own
	}
	if stored.Of(rec, now) && stored.Mono <= own.Mono {
		return Judge(rec, v, now, stored), nil, nil
	}
	return Judge(rec, v, now, &own), &own, nil
}

// weighReservation judges a lease that a ticket holds. It counts only while the ticket is live and lists
// the key; otherwise it is what a crash left behind.
func (a *acquisition) weighReservation(r Reader, f *finding, in *inTheWay, k Key, rec Record, st State) error {
	id := rec.Holder.Ticket
	t, err := r.Ticket(id)
	if err != nil {
		return err
	}
	if !t.Reserves(rec) {
		f.mayBury(burial{rec, st, ReasonReleased})
		return nil
	}
	if id == a.ticket {
		return nil
	}
	reason, err := a.onTicket(r, rec, *t)
	if err != nil {
		return err
	}
	in.add(&HeldError{Key: k, Blocking: &rec, Reason: reason})
	in.reserve(id, t.overlapping(k))
	f.interest.Keys = append(f.interest.Keys, rec.Key)
	return nil
}

// Reserves reports whether rec is a reservation of t that counts.
func (t *Ticket) Reserves(rec Record) bool {
	return t != nil && t.Status.Live() && (rec.Key == TicketKey(t.ID) || slices.Contains(t.Scope, rec.Key))
}

// overlapping returns the keys of t, its own included, that overlap k.
func (t *Ticket) overlapping(k Key) []Key {
	var keys []Key
	for _, s := range t.Keys() {
		if s.Overlaps(k) {
			keys = append(keys, s)
		}
	}
	return keys
}

// onTicket says why waiting for a reservation would never end: the caller works on that ticket.
func (a *acquisition) onTicket(r Reader, rec Record, t Ticket) (string, error) {
	s, err := activeSession(r, t)
	if err != nil || s == nil {
		return "", err
	}
	token, works := a.req.Under[TicketKey(t.ID)]
	if works && token == s.Generation || a.forOneself(rec) != "" || s.Holder != nil && a.m.opt.Kin(*s.Holder) {
		return "this command works on that ticket, so it would wait for itself", nil
	}
	return "", nil
}

// forOneself says why waiting for rec would never end: the caller runs under it.
func (a *acquisition) forOneself(rec Record) string {
	if token, ok := a.req.Under[rec.Key]; ok && token == rec.Generation {
		return "this command runs under that lease, so it would wait for itself"
	}
	if a.m.opt.Kin(rec.Holder) {
		return "the holder is this process or one it was started from, so it would wait for itself"
	}
	return ""
}
