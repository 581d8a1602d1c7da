package ledgerfs

import (
	"fmt"
	"time"

	"fslease/fslease"
	"fslease/internal/crashstate"
)

// A story is what the programs of a boot did to keys and tickets, and which generations they were told.
type story struct {
	*machine
	spoiled bool   // a record was damaged before or by hand
	first   string // the state of keys before
	keys    crashstate.Story
	tickets crashstate.Story
}

// States of a key.
const (
	isFree    = "free"
	byProcess = "held by a process" // which ends with the boot
	byToken   = "held by a token"   // whoever has it
	byTicket  = "held by a ticket"  // as the ticket says
	asItWas   = "as it was left"    // by the boot before
)

func (m *machine) story() *story {
	return &story{machine: m, first: isFree}
}

// key records an act on a key, which leaves it in a state. do returns the generation that it handed out, 0 if none.
func (s *story) key(key fslease.Key, state string, do func() (int64, error)) int64 {
	s.t.Helper()
	from := s.disk.Len()
	gen, err := do()
	if err != nil {
		s.t.Fatalf("%s: %v", key, err)
	}
	s.keys.Did(string(key), from, s.disk.Len(), state)
	s.keys.Told(string(key), s.disk.Len(), gen)
	return gen
}

// ticket records an act on a ticket and its scope.
func (s *story) ticket(p *program, id string, do func() error) {
	s.t.Helper()
	from := s.disk.Len()
	if err := do(); err != nil {
		s.t.Fatalf("ticket %s: %v", id, err)
	}
	view := p.View(ctx)
	t, err := view.Ticket(id)
	if err != nil || t == nil {
		s.t.Fatalf("ticket %s: %v", id, err)
	}
	s.tickets.Did(id, from, s.disk.Len(), ticketState(t))
	for _, k := range t.Keys() {
		st, err := view.Load(k)
		if err != nil {
			s.t.Fatal(err)
		}
		state := isFree
		if cur := st.Current(); cur != nil {
			state = byTicket
			s.keys.Told(string(k), s.disk.Len(), cur.Generation)
		}
		s.keys.Did(string(k), from, s.disk.Len(), state)
	}
}

func ticketState(t *fslease.Ticket) string {
	if t == nil {
		return "none"
	}
	return fmt.Sprintf("%s by session %d", t.Status, t.Session)
}

// The acts.

// runs is what lease run does at its beginning: the lease is the program's own.
func (s *story) runs(p *program, key fslease.Key) (l *fslease.Lease) {
	s.t.Helper()
	s.key(key, byProcess, func() (gen int64, err error) {
		if l, err = p.AcquireRequest(ctx, fslease.Request{Keys: []fslease.Key{key}, Fence: true}); err != nil {
			return 0, err
		}
		return l.Token(), nil
	})
	return l
}

func (s *story) released(l *fslease.Lease) {
	s.t.Helper()
	s.key(l.Keys()[0], isFree, func() (int64, error) { return 0, l.Release() })
}

// acquires is lease acquire --ttl, or with evidence pid lease acquire --pid.
func (s *story) acquires(p *program, key fslease.Key, evidence fslease.Evidence) int64 {
	s.t.Helper()
	state, to := byProcess, fslease.Handover{Holder: s.heir(evidence)}
	if evidence == fslease.EvidenceNone {
		state, to.TTL = byToken, time.Hour
	}
	return s.key(key, state, func() (int64, error) {
		records, err := p.AcquireFor(ctx, fslease.Request{Keys: []fslease.Key{key}}, to)
		if err != nil {
			return 0, err
		}
		return records[0].Generation, nil
	})
}

func (s *story) renews(p *program, key fslease.Key, token int64) {
	s.t.Helper()
	s.key(key, s.keys.Last(string(key), isFree), func() (int64, error) { _, err := p.RenewToken(ctx, key, token); return 0, err })
}

func (s *story) releases(p *program, key fslease.Key, token int64) {
	s.t.Helper()
	s.key(key, isFree, func() (int64, error) { return 0, p.ReleaseToken(ctx, key, token) })
}

func (s *story) breaks(p *program, key fslease.Key) {
	s.t.Helper()
	s.key(key, isFree, func() (int64, error) { _, err := p.Break(ctx, key, "why not", nil); return 0, err })
}

func (s *story) transfers(p *program, key fslease.Key, token int64) int64 {
	s.t.Helper()
	return s.key(key, byProcess, func() (int64, error) {
		rec, err := p.Transfer(ctx, key, token, fslease.Handover{Holder: s.heir(fslease.EvidencePid)}, 0, nil)
		return rec.Generation, err
	})
}

// ready adds and approves a ticket.
func (s *story) ready(p *program, id string, scope ...fslease.Key) {
	s.t.Helper()
	s.ticket(p, id, func() error { _, err := p.AddTicket(ctx, id, "a title", scope, "me"); return err })
	s.ticket(p, id, func() error {
		_, err := p.TicketAct(ctx, id, fslease.Act{Verb: fslease.VerbApprove, By: "me"})
		return err
	})
}

func (s *story) starts(p *program, id string, bound *fslease.Holder) int64 {
	s.t.Helper()
	var session fslease.Session
	s.ticket(p, id, func() (err error) {
		session, err = p.StartTicket(ctx, fslease.Start{Ticket: id, Bound: bound, By: "me"})
		return err
	})
	return session.Generation
}

func (s *story) act(p *program, id string, verb fslease.Verb, token int64) {
	s.t.Helper()
	s.ticket(p, id, func() error {
		_, err := p.TicketAct(ctx, id, fslease.Act{Verb: verb, Token: token, By: "me"})
		return err
	})
}
