package ledgertest

import (
	"fslease/fslease"
)

var presenceCases = []testCase{
	{"alive", "an announced process is alive to everybody, itself included", func(s *suite) {
		a, b := s.Open(), s.Open()
		h := s.announce(a)
		now := a.Clock().Now()
		if h.Kind != fslease.KindProcess || h.Evidence != fslease.EvidenceLock || !fslease.ValidHolderID(h.ID) || h.PID == 0 || !h.SameClock(now) {
			s.Errorf("announced as %+v; the clock shows %+v", h, now)
		}
		for _, l := range []fslease.Ledger{a, b} {
			if v := l.Probe(h); v.Life != fslease.Alive || v.Reason == "" {
				s.Errorf("probed: %s (%s)", v.Life, v.Reason)
			}
		}
	}},

	{"each its own", "every presence is a holder of its own, and they end one by one", func(s *suite) {
		l := s.Open()
		p, err := l.Announce(s.Context(), nil)
		s.ok(err)
		other := s.announce(l)
		if p.Holder().ID == other.ID {
			s.Errorf("two presences with the id %s", other.ID)
		}
		s.ok(p.Close())
		if v := l.Probe(other); v.Life != fslease.Alive {
			s.Errorf("another presence of the process ended, and this one is %s (%s)", v.Life, v.Reason)
		}
	}},

	{"dead", "a killed process is dead to everybody, and what it wrote stays", func(s *suite) {
		s.need(s.Kill != nil, "Kill")
		a, b := s.Open(), s.Open()
		h := s.announce(a)
		other := s.announce(b)
		s.grant(a, "k", h, 0)
		s.Kill(a)
		for _, l := range []fslease.Ledger{b, s.Open()} {
			if v := l.Probe(h); v.Life != fslease.Dead || v.Reason == "" {
				s.Errorf("probed: %s (%s)", v.Life, v.Reason)
			}
			if v := l.Probe(other); v.Life != fslease.Alive {
				s.Errorf("another process is %s (%s)", v.Life, v.Reason)
			}
		}
		if cur := s.load(b, "k").Current(); cur == nil || cur.Holder.ID != h.ID {
			s.Errorf("on record: %+v", cur)
		}
	}},

	{"unknown", "of a holder without evidence, of another machine, or of a ticket nothing is told", func(s *suite) {
		l := s.Open()
		lock, pid := stranger(), stranger()
		lock.Evidence, lock.HolderInode = fslease.EvidenceLock, 1
		pid.Evidence = fslease.EvidencePid
		for _, h := range []fslease.Holder{stranger(), lock, pid, {Kind: fslease.KindTicket, Ticket: "42", Session: 1}} {
			if v := l.Probe(h); v.Life != fslease.Unknown {
				s.Errorf("%s with evidence %s is %s (%s)", h.Describe(), h.Evidence, v.Life, v.Reason)
			}
		}
	}},
}
