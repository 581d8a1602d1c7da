package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fslease/fslease"
)

var acquireCases = []testCase{
	{"generations", "a key's generations are 1, 2, 3 over release, re-acquisition and takeover", func(s *suite) {
		m, _ := s.manager()
		first := s.acquire(m, "task:42")
		s.holds(first, 1)
		s.ok(first.Release())
		second, l := s.manager()
		s.holds(s.acquire(second, "task:42"), 2)
		if s.Kill == nil {
			s.Skip("takeover not run: needs a harness with Kill")
		}
		s.Kill(l)
		s.holds(s.acquire(m, "task:42"), 3)
	}},

	{"one winner", "of eight who try a key at once exactly one gets it, and the others are told who; after its death exactly one gets the next generation", func(s *suite) {
		s.need(s.Kill != nil, "Kill")
		for round := range 5 {
			key := fmt.Sprintf("task:%d", round)
			for generation := int64(1); generation <= 3; generation++ {
				var winner atomic.Pointer[fslease.Ledger]
				managers := make([]*fslease.Manager, 8)
				ledgers := make([]fslease.Ledger, 8)
				for i := range managers {
					managers[i], ledgers[i] = s.manager()
				}
				s.race(8, func(i int) {
					lease, err := s.keep(managers[i].Acquire(s.Context(), key))
					var held *fslease.HeldError
					switch {
					case err == nil && lease.Token() != generation:
						s.Errorf("generation %d, want %d", lease.Token(), generation)
					case err == nil && !winner.CompareAndSwap(nil, &ledgers[i]):
						s.Errorf("two have generation %d of %s", generation, key)
					case err != nil && (!errors.As(err, &held) || held.Blocking == nil || held.Blocking.Generation != generation):
						s.Errorf("refused with %v (%T)", err, err)
					}
				})
				if winner.Load() == nil {
					s.Fatalf("nobody got generation %d of %s", generation, key)
				}
				s.Kill(*winner.Load())
			}
		}
	}},

	{"held", "who is refused is told the key, who holds it, since when and why that is not taken over", func(s *suite) {
		a, _ := s.manager()
		b, _ := s.manager()
		lease, err := s.keep(a.AcquireRequest(s.Context(), fslease.Request{Keys: keys("repo"), Note: "nightly deploy", Command: []string{"make", "deploy"}}))
		s.ok(err)
		defer s.released(lease)
		_, err = b.Acquire(s.Context(), "repo/api")
		var held *fslease.HeldError
		if !errors.As(err, &held) || !errors.Is(err, fslease.ErrHeld) {
			s.Fatalf("refused with %v (%T)", err, err)
		}
		rec := held.Blocking
		if held.Key != "repo/api" || rec == nil || rec.Key != "repo" || rec.Generation != 1 || rec.Holder.ID != lease.Holder().ID || rec.AcquiredAt.IsZero() || rec.Note != "nightly deploy" || held.Verdict.Life != fslease.Alive {
			s.Errorf("told %+v", held)
		}
		for _, part := range []string{"repo/api", "held through repo", rec.Holder.User, rec.Holder.Host, fmt.Sprintf("pid %d", rec.Holder.PID), "make deploy", "nightly deploy", rec.AcquiredAt.Format(fslease.TimeFormat)} {
			if !strings.Contains(err.Error(), part) {
				s.Errorf("%q is not in %q", part, err)
			}
		}
	}},

	{"overlap", "a lease keeps out every key that overlaps, above and below, and no other", func(s *suite) {
		m, _ := s.manager()
		other, _ := s.manager()
		lease := s.acquire(m, "repo/api")
		for _, k := range []string{"repo", "repo/api", "repo/api/v2"} {
			s.refused(other, k)
		}
		for _, k := range []string{"repo/web", "repo/api2", "repo-x/api"} {
			s.ok(s.acquire(other, k).Release())
		}
		s.ok(lease.Release())
		s.ok(s.acquire(other, "repo").Release())
	}},

	{"all or nothing", "several keys are had all or none, and a key that another one covers is dropped", func(s *suite) {
		m, l := s.manager()
		other, _ := s.manager()
		lease := s.acquire(m, "b/x", "a", "b/x/y", "a/c")
		if got := lease.Keys(); !slices.Equal(got, keys("b/x", "a")) {
			s.Errorf("holds %v, want b/x and a", got)
		}
		s.refused(other, "c", "b")
		if st := s.load(l, "c"); st.Generation() != 0 {
			s.Errorf("the refused request left %+v", st)
		}
		if st := s.load(l, "a/c"); st.Generation() != 0 {
			s.Errorf("the covered key has %+v", st)
		}
		s.ok(lease.Release())
		for _, k := range keys("b/x", "a") {
			if st := s.load(l, k); st.Current() != nil || st.Tomb == nil || st.Tomb.Reason != fslease.ReasonReleased || st.Tomb.Unclean != 0 {
				s.Errorf("%s after the release: %+v", k, st)
			}
		}
		s.ok(s.acquire(other, "c", "b").Release())
	}},

	{"release", "a lease ends once: by Release, after which it is free at once, or by the end of its context", func(s *suite) {
		m, l := s.manager()
		lease := s.acquire(m, "k")
		s.ok(lease.Release())
		s.ok(lease.Release())
		s.ok(lease.Err())
		ctx, cancel := context.WithCancel(s.Context())
		lease, err := s.keep(m.Acquire(ctx, "k"))
		s.ok(err)
		s.holds(lease, 2)
		cancel()
		next, err := s.keep(m.AcquireWait(s.hang(), "k"))
		s.ok(err)
		s.holds(next, 3)
		s.ok(next.Release())
		if st := s.load(l, "k"); st.Tomb == nil || st.Tomb.Unclean != 0 {
			s.Errorf("on record: %+v", st)
		}
	}},

	{"cannot work", "a request that cannot work is a configuration error with a hint where there is one, and touches nothing", func(s *suite) {
		l := s.Open()
		for _, o := range []fslease.Options{
			{TTL: time.Second, Heartbeat: 600 * time.Millisecond},
			{TTL: time.Second, Heartbeat: -1},
			{TTL: -time.Second},
			{TTL: time.Microsecond},
			{TTL: 1500 * time.Microsecond},
			{Heartbeat: fslease.DefaultTTL/2 + 1},
		} {
			_, err := fslease.NewManager(l, o)
			s.misconfigured(fmt.Sprintf("%+v", o), err)
		}
		if _, err := fslease.NewManager(l, fslease.Options{TTL: time.Second, Heartbeat: 500 * time.Millisecond}); err != nil {
			s.Errorf("a heartbeat of just half the TTL: %v", err)
		}
		m, _ := s.manager()
		for _, r := range []fslease.Request{
			{},
			{Keys: keys("k"), TTL: time.Second, Heartbeat: 501 * time.Millisecond},
			{Keys: keys("k"), TTL: time.Microsecond},
			{Keys: keys("k"), Note: strings.Repeat("n", fslease.MaxNoteBytes+1)},
			{Keys: keys("k"), Note: "\xff"},
		} {
			_, err := m.AcquireRequest(s.Context(), r)
			s.misconfigured(fmt.Sprintf("%.80v", r), err)
		}
		for _, name := range []string{"", "/k", "a//b", "..", "k\n", strings.Repeat("k", fslease.MaxKeyBytes+1)} {
			_, err := m.Acquire(s.Context(), "good", name)
			s.misconfigured(fmt.Sprintf("%.20q", name), err)
		}
		s.ok(l.View(s.Context()).Walk("", true, func(k fslease.Key, _ fslease.State, _ error) error { return errors.New(string(k) + " was touched") }))
	}},

	{"cancelled", "a request under a context that has ended takes nothing and returns its cause", func(s *suite) {
		m, l := s.manager()
		ctx, cancel := context.WithCancelCause(s.Context())
		enough := errors.New("enough")
		cancel(enough)
		_, err := m.Acquire(ctx, "k")
		s.is(err, enough)
		if st := s.load(l, "k"); st.Current() != nil {
			s.Errorf("taken: %+v", st)
		}
	}},

	{"loops", "many who take a key in turns never work on it together, and every grant has a generation of its own", func(s *suite) {
		const loops = 10
		managers := make([]*fslease.Manager, 8)
		for i := range managers {
			managers[i], _ = s.manager()
		}
		ctx := s.hang()
		counter := 0 // read and written under the lease only
		s.race(8, func(i int) {
			for range loops {
				lease, err := s.keep(managers[i].AcquireWait(ctx, "counter"))
				if err != nil {
					s.Errorf("process %d: %v", i, err)
					return
				}
				n := counter
				time.Sleep(100 * time.Microsecond)
				counter = n + 1
				if int64(counter) != lease.Token() {
					s.Errorf("grant %d has generation %d", counter, lease.Token())
				}
				if err := lease.Release(); err != nil {
					s.Errorf("process %d: %v", i, err)
				}
			}
		})
		if counter != 8*loops {
			s.Errorf("counted to %d, want %d", counter, 8*loops)
		}
	}},
}

// acquire takes keys at once.
func (s *suite) acquire(m *fslease.Manager, names ...string) *fslease.Lease {
	s.Helper()
	lease, err := s.keep(m.Acquire(s.Context(), names...))
	s.ok(err)
	return lease
}

func (s *suite) holds(lease *fslease.Lease, generation int64) {
	s.Helper()
	if lease.Token() != generation {
		s.Fatalf("generation %d, want %d", lease.Token(), generation)
	}
}

// refused fails unless keys are held by somebody else.
func (s *suite) refused(m *fslease.Manager, names ...string) *fslease.HeldError {
	s.Helper()
	lease, err := s.keep(m.Acquire(s.Context(), names...))
	var held *fslease.HeldError
	if !errors.As(err, &held) {
		if lease != nil {
			_ = lease.Release()
		}
		s.Fatalf("%v: %v (%T), want to be refused", names, err, err)
	}
	return held
}

func (s *suite) misconfigured(what string, err error) {
	s.Helper()
	var config *fslease.ConfigError
	if !errors.As(err, &config) || !errors.Is(err, fslease.ErrConfig) {
		s.Errorf("%s: %v (%T), want a *ConfigError", what, err, err)
	}
}

// released gives a lease up that must still be held.
func (s *suite) released(lease *fslease.Lease) {
	s.Helper()
	s.ok(lease.Release())
}

// lost fails unless err says that a token is not current.
func (s *suite) lost(what string, err error) *fslease.LostError {
	s.Helper()
	var lost *fslease.LostError
	if !errors.As(err, &lost) || !errors.Is(err, fslease.ErrLost) {
		s.Fatalf("%s: %v (%T), want a *LostError", what, err, err)
	}
	return lost
}
