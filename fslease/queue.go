package fslease

import (
	"iter"
	"slices"
	"time"
)

// surveyQueue looks for living waiters that go first. They are the entries of overlapping keys with a
// lower number than the caller's, or all of them if it is not queued. The dead are skipped, and so are
// those who left their turn unused for TurnPatience (stopped ones) until they wake. A caller that runs
// under a lease passes the queue, never a lease: those ahead may wait for that very lease.
func (a *acquisition) surveyQueue(r Reader, f *finding) error {
	if len(a.under) > 0 {
		if f.held != nil && !f.refused {
			return a.refuseCircle(r, f)
		}
		return nil
	}
	places, err := a.placesAhead(r)
	if err != nil {
		return err
	}
	if f.held != nil && a.queued != nil {
		f.held.Place = len(places) + 1
	}
	last, err := a.firstLiving(r, slices.Backward(places))
	if err != nil || last == nil {
		return err
	}
	f.interest = Interest{Ahead: last}
	f.recheck = 0
	if f.held != nil {
		return nil
	}
	f.held = &HeldError{Key: a.firstOf(*last), Waiter: last}
	if a.queued != nil {
		f.held.Place = len(places) + 1
	}
	first, err := a.firstLiving(r, slices.All(places))
	if err != nil || first == nil {
		return err
	}
	return a.watchTurn(r, f, *first)
}

// firstOf returns the first key that w waits for too.
func (a *acquisition) firstOf(w Waiter) Key {
	i := slices.IndexFunc(a.keys, func(k Key) bool { return w.Overlaps([]Key{k}) })
	return a.keys[max(i, 0)]
}

// placesAhead returns the places of overlapping keys with a lower number than the caller's; if it is not
// queued, all of them. Nobody is ahead for a key that is the caller's already, being reserved for the
// ticket that it starts again: who waits for that waits for the ticket to end.
func (a *acquisition) placesAhead(r Reader) ([]Place, error) {
	wanted := slices.DeleteFunc(slices.Clone(a.keys), func(k Key) bool { return a.reservedAlready(a.states[k]) })
	if len(wanted) == 0 {
		return nil, nil
	}
	places, err := r.Places(wanted...)
	if err != nil || a.queued == nil {
		return places, err
	}
	own := slices.IndexFunc(places, func(p Place) bool { return p.Number >= a.queued.Number })
	if own < 0 {
		return places, nil
	}
	if w, err := r.Waiter(Place{Key: a.queued.Keys[0], Number: a.queued.Number}); err != nil {
		return nil, err
	} else if w != nil && w.Turn != nil {
		_ = a.m.ledger.ClearTurn(*w) // awake again
	}
	return places[:own], nil
}

// firstLiving returns the first of places whose waiter lives and was not passed over. The dead it meets
// are taken out of the queue.
func (a *acquisition) firstLiving(r Reader, places iter.Seq2[int, Place]) (*Waiter, error) {
	for _, p := range places {
		w, err := r.Waiter(p)
		switch {
		case err != nil:
			return nil, err
		case w == nil:
		case a.m.ledger.Probe(w.Holder).Life == Dead:
			_ = a.m.ledger.Leave(*w)
		case w.PassedOver(a.m.now()):
		default:
			return w, nil
		}
	}
	return nil, nil
}

// PassedOver reports whether w has left its turn unused for so long that nobody waits for it until it wakes.
func (w Waiter) PassedOver(now Instant) bool {
	t := w.Turn
	return t != nil && t.BootID == now.BootID && t.TimeNS == now.TimeNS && now.Mono-t.Mono >= int64(TurnPatience)
}

// watchTurn notes since when a waiter could go but does not, so that anybody can pass it over once it has slept for long
// enough. Mostly that is first. But first may be behind somebody for a key that is not the caller's, who may sleep as well,
// and then it is that one.
func (a *acquisition) watchTurn(r Reader, f *finding, first Waiter) error {
	for {
		its := &acquisition{m: a.m, keys: first.Keys, seen: a.seen}
		leases, err := its.surveyLeases(r)
		if err != nil || leases.held != nil {
			return err
		}
		ahead, err := a.aheadOf(r, first)
		if err != nil {
			return err
		}
		if ahead == nil {
			break
		}
		first = *ahead // of a lower number, so this ends
	}
	now := a.m.now()
	since := now
	if first.Turn != nil {
		since = *first.Turn
	} else if err := a.m.ledger.MarkTurn(first, now); err != nil {
		return err
	}
	f.soon(max(TurnPatience-time.Duration(now.Mono-since.Mono), time.Millisecond))
	return nil
}

// aheadOf returns the first waiter that goes before w, nil if there is none. One that runs under a lease passes the queue.
func (a *acquisition) aheadOf(r Reader, w Waiter) (*Waiter, error) {
	if len(w.Holds) > 0 {
		return nil, nil
	}
	places, err := r.Places(w.Keys...)
	if err != nil {
		return nil, err
	}
	return a.firstLiving(r, slices.All(slices.DeleteFunc(places, func(p Place) bool { return p.Number >= w.Number })))
}

// refuseCircle refuses to wait for somebody who waits, in the end, for a lease that the caller runs under.
// Of those in the circle the latest is refused: the one that closed it.
func (a *acquisition) refuseCircle(r Reader, f *finding) error {
	waiters, err := Waiters(r)
	if err != nil {
		return err
	}
	type step struct {
		holder string  // somebody that the caller waits for in the end
		latest *Waiter // of the waiters on the way there
	}
	var todo []step
	for _, id := range identities(f.interest.Holders) {
		todo = append(todo, step{id, nil})
	}
	seen := map[string]bool{}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		for _, w := range waiters {
			if seen[w.Holder.ID] || !slices.Contains(w.Holds, at.holder) || a.m.ledger.Probe(w.Holder).Life == Dead {
				continue
			}
			seen[w.Holder.ID] = true
			its := &acquisition{m: a.m, keys: w.Keys, seen: a.seen}
			leases, err := its.surveyLeases(r)
			if err != nil {
				return err
			}
			latest := at.latest
			if latest == nil || w.cameAfter(*latest) {
				latest = &w
			}
			for _, id := range identities(leases.interest.Holders) {
				if slices.Contains(a.under, id) && (a.queued == nil || a.queued.cameAfter(*latest)) {
					f.held.Reason = w.Holder.DescribeIdle() + " waits for a lease that this command runs under, so they would wait for each other for ever"
					f.held.Circle = true
					f.refused = true
					return nil
				}
				todo = append(todo, step{id, latest})
			}
		}
	}
	return nil
}

// cameAfter reports whether w entered the queue after o.
func (w Waiter) cameAfter(o Waiter) bool {
	if !w.Since.Equal(o.Since) {
		return w.Since.After(o.Since)
	}
	return w.Holder.ID > o.Holder.ID
}

func identities(holders []Holder) []string {
	ids := make([]string, len(holders))
	for i, h := range holders {
		ids[i] = h.identity()
	}
	return ids
}

// Waiters returns who waits for something that overlaps one of keys (no keys: for anything), the lowest
// number first, each once. A dead one may be among them.
func Waiters(r Reader, keys ...Key) ([]Waiter, error) {
	places, err := r.Places(keys...)
	if err != nil {
		return nil, err
	}
	var waiters []Waiter
	for _, p := range places {
		w, err := r.Waiter(p)
		if err != nil {
			return nil, err
		}
		if w != nil && !slices.ContainsFunc(waiters, func(o Waiter) bool { return o.Holder.ID == w.Holder.ID }) {
			waiters = append(waiters, *w)
		}
	}
	return waiters, nil
}
