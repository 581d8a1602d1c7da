package ledgerfs

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"fslease/fslease"
	"fslease/internal/crashstate"
)

// after checks what a power cut after cut steps left: everything that the story promises holds when the machine is
// started again and people go on.
func (s *story) after(tree crashstate.Tree, cut, boot int, genuine bool) error {
	m := start(s.t, s.dir, tree, boot, genuine)
	defer m.off()
	p := m.program()
	if !s.lax() && !s.spoiled {
		if err := p.wholeRecords(); err != nil {
			return fmt.Errorf("before anything was changed: %w", err)
		}
	}
	me, err := p.Announce(ctx, nil)
	if err != nil {
		return err
	}
	a := &aftermath{story: s, m: m, p: p, cut: cut, me: me, live: map[fslease.Key]bool{}}
	for _, step := range []func() error{a.ticketsAreOldOrNew, a.firstChange, a.pass, a.leases, a.endSessions, a.everythingIsFree, p.wholeRecords} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// lax reports whether what a process holds until it ends need not survive.
func (s *story) lax() bool { return s.genuine && !s.sync }

// An aftermath is the boot after a power cut.
type aftermath struct {
	*story
	m    *machine
	p    *program
	cut  int
	me   fslease.Presence
	live map[fslease.Key]bool // reserved by tickets
}

func (a *aftermath) ticketsAreOldOrNew() error {
	for _, id := range a.tickets.Things() {
		t, err := a.p.View(ctx).Ticket(id)
		if err != nil {
			return fmt.Errorf("ticket %s: %w", id, err)
		}
		if want := a.tickets.May(id, a.cut, "none"); !slices.Contains(want, ticketState(t)) {
			return fmt.Errorf("ticket %s is %s, not one of %q", id, ticketState(t), want)
		}
	}
	return nil
}

// firstChange is the first change of the boot. Where the boot id is not the kernel's own nobody mends what the power
// cut tore: a person has to.
func (a *aftermath) firstChange() error {
	err := a.p.Update(ctx, []fslease.Key{"first"}, func(fslease.Tx) error { return nil })
	if err != nil {
		return err
	}
	err = a.p.wholeRecords()
	if err != nil && !a.m.genuine {
		err = a.repaired()
	}
	return err
}

func (a *aftermath) repaired() error {
	for _, m := range a.p.Repair(ctx) {
		if m.Err != nil {
			return fmt.Errorf("repair: %s: %w", m.Finding.What, m.Err)
		}
	}
	return nil
}

// pass is what every command does first.
func (a *aftermath) pass() error {
	if err := reconciled(a.p); err != nil {
		return fmt.Errorf("reconcile: %w", err)
	}
	// What a live ticket has reserved is never lost.
	for _, id := range a.tickets.Things() {
		t, err := a.p.View(ctx).Ticket(id)
		if err != nil || t == nil || !t.Status.Live() {
			continue
		}
		for _, k := range t.Keys() {
			a.live[k] = true
			st, err := a.p.View(ctx).Load(k)
			if cur := st.Current(); err != nil || cur == nil || cur.Holder.Ticket != id {
				return fmt.Errorf("ticket %s is %s, but %s is not reserved: %v", id, t.Status, k, err)
			}
		}
	}
	return nil
}

// acquire takes a key as lease run does, gives it back, and returns its generation.
func (a *aftermath) acquire(key fslease.Key) (int64, error) {
	l, err := a.p.AcquireRequest(ctx, fslease.Request{Keys: []fslease.Key{key}, Presence: a.me})
	if err != nil {
		return 0, err
	}
	return l.Token(), l.Release()
}

// leases looks at every key that somebody had.
func (a *aftermath) leases() error {
	for _, name := range a.keys.Things() {
		key := fslease.Key(name)
		gen, err := a.acquire(key)
		var held *fslease.HeldError
		states := a.keys.May(name, a.cut, a.first)
		mayHold := a.live[key] || slices.Contains(states, byToken) || slices.Contains(states, asItWas) || !a.m.genuine && (a.lax() || slices.ContainsFunc(states, func(s string) bool { return s != isFree }))
		mustHold := a.live[key] || len(states) == 1 && states[0] == byToken
		switch {
		case errors.As(err, &held) && mayHold:
			continue
		case err != nil:
			return fmt.Errorf("%s, which was %q, cannot be had: %w", key, states, err)
		case mustHold:
			return fmt.Errorf("%s, which was %q, was given to somebody else at generation %d", key, states, gen)
		}
		if err := a.newGeneration(key, gen); err != nil {
			return err
		}
	}
	return nil
}

func (a *aftermath) newGeneration(key fslease.Key, gen int64) error {
	if told := a.keys.Highest(string(key), a.cut); gen <= told {
		return fmt.Errorf("generation %d of %s was handed out, although %d had been before the power cut", gen, key, told)
	}
	return nil
}

// endSessions lets every session run out, and decides about the tickets.
func (a *aftermath) endSessions() error {
	a.m.clock.Advance(2 * time.Hour)
	if err := a.pass(); err != nil {
		return err
	}
	view := a.p.View(ctx)
	if ids, err := view.Active(); err != nil || len(ids) > 0 {
		return fmt.Errorf("active after every session ran out: %v, %v", ids, err)
	}
	for _, id := range a.tickets.Things() {
		t, err := view.Ticket(id)
		if err != nil || t == nil {
			continue
		}
		if t.Status == fslease.InProgress {
			return fmt.Errorf("ticket %s is IN_PROGRESS for ever", id)
		}
		generations, err := view.Sessions(id)
		if err != nil {
			return err
		}
		for _, g := range generations {
			if s, err := view.Session(id, g); err != nil || s != nil && s.Status == fslease.SessionActive {
				return fmt.Errorf("session %d of ticket %s is active for ever: %v", g, id, err)
			}
		}
		if t.Status == fslease.Done || t.Status == fslease.Cancelled {
			continue
		}
		if _, err := a.p.TicketAct(ctx, id, fslease.Act{Verb: fslease.VerbCancel, By: "me"}); err != nil {
			return fmt.Errorf("ticket %s, which is %s, cannot be cancelled: %w", id, t.Status, err)
		}
	}
	return nil
}

// everythingIsFree takes every key once more. What somebody whom nobody can judge holds is broken before.
func (a *aftermath) everythingIsFree() error {
	for _, name := range a.keys.Things() {
		key := fslease.Key(name)
		if !a.m.genuine || a.first == asItWas || a.keys.Ever(name, byToken) {
			if _, err := a.p.Break(ctx, key, "nobody knows", nil); err != nil {
				return fmt.Errorf("%s cannot be broken: %w", key, err)
			}
		}
		gen, err := a.acquire(key)
		if err != nil {
			return fmt.Errorf("%s cannot be had when nobody needs it any more: %w", key, err)
		}
		if err := a.newGeneration(key, gen); err != nil {
			return err
		}
	}
	return nil
}

// wholeRecords reads every record.
func (p *program) wholeRecords() error {
	r := &reader{l: p.Ledger}
	err := r.Walk("", true, func(_ fslease.Key, _ fslease.State, err error) error { return err })
	if err != nil {
		return err
	}
	return r.Tickets(func(id string, _ *fslease.Ticket, err error) error {
		if err != nil {
			return err
		}
		generations, err := r.Sessions(id)
		for _, g := range generations {
			if err == nil {
				_, err = r.Session(id, g)
			}
		}
		return err
	})
}
