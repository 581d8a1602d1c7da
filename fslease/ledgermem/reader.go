package ledgermem

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"fslease/fslease"
)

// A reader reads the store as it is at each call.
type reader struct{ s *Store }

func (r reader) Load(key fslease.Key) (fslease.State, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.s.state(key)
}

func (r reader) Overlapping(key fslease.Key) ([]fslease.State, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	var states []fslease.State
	for _, k := range sortedKeys(r.s.leases, func(k fslease.Key) bool { return k != key && k.Overlaps(key) }, key) {
		st, err := r.s.state(k)
		if err != nil {
			return nil, err
		}
		states = append(states, st)
	}
	return states, nil
}

// sortedKeys returns the keys of m that want admits, and more, in the order of keys.
func sortedKeys[V any](m map[fslease.Key]V, want func(fslease.Key) bool, more ...fslease.Key) []fslease.Key {
	for k := range m {
		if want(k) {
			more = append(more, k)
		}
	}
	slices.SortFunc(more, fslease.CompareKeys)
	return more
}

func (r reader) Walk(prefix fslease.Key, tombs bool, visit func(fslease.Key, fslease.State, error) error) error {
	within := func(k fslease.Key) bool { return k.Within(prefix) }
	r.s.mu.Lock()
	keys := sortedKeys(r.s.leases, within)
	if tombs {
		keys = slices.Compact(sortedKeys(r.s.tombs, within, keys...))
	}
	r.s.mu.Unlock()
	for _, k := range keys {
		st, err := r.Load(k)
		if err := visit(k, st, err); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) Kin(ctx context.Context, kin func(pid int64) bool, visit func(fslease.Record)) error {
	return r.Walk("", false, func(_ fslease.Key, st fslease.State, err error) error {
		if cur := st.Current(); err == nil && cur != nil && kin(cur.Holder.PID) {
			visit(*cur)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	})
}

func (r reader) Sighting(key fslease.Key) (*fslease.Sighting, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if s, ok := r.s.sightings[key]; ok {
		return &s, nil
	}
	return nil, nil
}

func (r reader) Places(keys ...fslease.Key) ([]fslease.Place, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	var places []fslease.Place
	for p := range r.s.queue {
		if len(keys) == 0 || p.Key.OverlapsAny(keys) {
			places = append(places, p)
		}
	}
	slices.SortFunc(places, func(a, b fslease.Place) int {
		return cmp.Or(cmp.Compare(a.Number, b.Number), fslease.CompareKeys(a.Key, b.Key))
	})
	return places, nil
}

func (r reader) Waiter(p fslease.Place) (*fslease.Waiter, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if w, ok := r.s.queue[p]; ok {
		return &w, nil
	}
	return nil, nil
}

func (r reader) Keepers(key fslease.Key) ([]fslease.Keeper, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.s.keepers(fslease.LockPlan([]fslease.Key{key})), nil
}

func (r reader) Ticket(id string) (*fslease.Ticket, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	data, ok := r.s.tickets[id]
	if !ok {
		return nil, nil
	}
	var t fslease.Ticket
	if err := r.s.decode("ticket", fslease.TicketKey(id), &t, data); err != nil {
		return nil, err
	}
	return &t, nil
}

func (r reader) Session(id string, generation int64) (*fslease.Session, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	data, ok := r.s.sessions[id][generation]
	if !ok {
		return nil, nil
	}
	var s fslease.Session
	if err := r.s.decode("session", fslease.TicketKey(id), &s, data); err != nil {
		return nil, err
	}
	return &s, nil
}

func (r reader) Sessions(id string) ([]int64, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return slices.Sorted(maps.Keys(r.s.sessions[id])), nil
}

func (r reader) Tickets(visit func(string, *fslease.Ticket, error) error) error {
	r.s.mu.Lock()
	ids := slices.Sorted(maps.Keys(r.s.tickets))
	r.s.mu.Unlock()
	for _, id := range ids {
		t, err := r.Ticket(id)
		if err := visit(id, t, err); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) Active() ([]string, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return slices.Sorted(maps.Keys(r.s.active)), nil
}
