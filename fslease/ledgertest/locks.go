package ledgertest

import (
	"errors"
	"sync"
	"time"

	"fslease/fslease"
)

var lockCases = []testCase{
	{"exclude", "nobody is inside Update for keys that overlap somebody else's", func(s *suite) {
		sets := [][]fslease.Key{
			keys("repo"), keys("repo/api"), keys("repo/api/v2"), keys("repo/api2", "other"), keys("other/x", "repo/web"),
			keys("repo/api", "repo/web"), keys("other"), keys("repo/api2/x"),
		}
		in := newInside(s)
		handles := s.handles(len(sets))
		s.race(len(sets), func(i int) {
			for range 25 {
				err := handles[i].Update(s.Context(), sets[i], func(fslease.Tx) error {
					defer in.enter(sets[i])()
					time.Sleep(100 * time.Microsecond)
					return nil
				})
				if err != nil {
					s.Errorf("%v: %v", sets[i], err)
				}
			}
		})
	}},

	{"let pass", "those whose keys do not overlap are inside Update at the same time", func(s *suite) {
		for _, pair := range [][2][]fslease.Key{
			{keys("repo/api"), keys("repo/web")},
			{keys("repo/api"), keys("repo/api2")},
			{keys("a/b"), keys("a-b")},
			{keys("a/b", "c"), keys("a/c", "c2")},
		} {
			var meet sync.WaitGroup
			meet.Add(2)
			handles := s.handles(2)
			s.race(2, func(i int) {
				if err := handles[i].Update(s.Context(), pair[i], func(fslease.Tx) error {
					meet.Done()
					meet.Wait()
					return nil
				}); err != nil {
					s.Errorf("%v: %v", pair[i], err)
				}
			})
		}
	}},

	{"no deadlock", "requests for several keys in any order come through", func(s *suite) {
		sets := [][]fslease.Key{keys("a-b", "a/b"), keys("a", "a-b"), keys("a/b", "a"), keys("a-b/x", "a/b/c")}
		in := newInside(s)
		handles := s.handles(8)
		s.race(8, func(i int) {
			for range 25 {
				set := sets[i%len(sets)]
				if err := handles[i].Update(s.Context(), set, func(fslease.Tx) error {
					defer in.enter(set)()
					return nil
				}); err != nil {
					s.Errorf("%v: %v", set, err)
				}
			}
		})
	}},

	{"several keys", "what is written for several keys in one Update is seen together by every other", func(s *suite) {
		both := keys("a/x", "b")
		handles := s.handles(8)
		h := s.announce(handles[0])
		s.update(handles[0], func(tx fslease.Tx) error {
			_, err := put(tx, "a/x", h, 0)
			_, err2 := put(tx, "b", h, 0)
			return errors.Join(err, err2)
		}, both...)
		s.race(8, func(i int) {
			for range 10 {
				err := handles[i].Update(s.Context(), both, func(tx fslease.Tx) error {
					x, err := tx.Load("a/x")
					y, err2 := tx.Load("b")
					if err := errors.Join(err, err2); err != nil {
						return err
					}
					if x.Revision() != y.Revision() {
						s.Errorf("revisions %d and %d", x.Revision(), y.Revision())
					}
					return errors.Join(tx.Put(fslease.Renewed(*x.Lease, tx.Now()), false), tx.Put(fslease.Renewed(*y.Lease, tx.Now()), false))
				})
				if err != nil {
					s.Error(err)
				}
			}
		})
		if got := s.load(handles[1], "b").Revision(); got != 81 {
			s.Errorf("revision %d after 80 renewals of 1: some were lost", got)
		}
	}},

	{"try", "TryUpdate does not wait: it fails with busy while somebody is inside with a key that overlaps, and works otherwise", func(s *suite) {
		a, b := s.Open(), s.Open()
		nothing := func(fslease.Tx) error { return nil }
		s.update(a, func(fslease.Tx) error {
			for _, k := range keys("repo/api", "repo", "repo/api/v2") {
				err := b.TryUpdate(s.Context(), []fslease.Key{k}, nothing)
				var r *fslease.RepositoryError
				if !errors.As(err, &r) || r.Fault != fslease.FaultBusy {
					s.Errorf("%s while somebody works on repo/api: %v, want busy", k, err)
				}
			}
			s.ok(b.TryUpdate(s.Context(), keys("repo/web"), nothing))
			return nil
		}, "repo/api")
		s.ok(b.TryUpdate(s.Context(), keys("repo"), nothing))
	}},

	{"error", "Update returns the error of fn, and what fn wrote before stays written", func(s *suite) {
		l := s.Open()
		h := s.announce(l)
		enough := errors.New("enough")
		s.is(l.Update(s.Context(), keys("k"), func(tx fslease.Tx) error {
			_, err := put(tx, "k", h, 0)
			return errors.Join(err, enough)
		}), enough)
		if s.load(l, "k").Current() == nil {
			s.Error("what was written is gone")
		}
		s.update(l, func(fslease.Tx) error { return nil }, "k") // the lock was given back
	}},

	{"own writes", "inside Update one reads what one wrote", func(s *suite) {
		l := s.Open()
		h := s.announce(l)
		s.update(l, func(tx fslease.Tx) error {
			rec, err := put(tx, "k", h, 0)
			st, err2 := tx.Load("k")
			if st.Current() == nil || st.Current().Generation != rec.Generation {
				s.Errorf("wrote %+v, read %+v", rec, st)
			}
			return errors.Join(err, err2)
		}, "k")
	}},
}

// inside watches who is inside Update.
type inside struct {
	s   *suite
	mu  sync.Mutex
	all map[int][]fslease.Key
	n   int
}

func newInside(s *suite) *inside { return &inside{s: s, all: map[int][]fslease.Key{}} }

// enter notes that somebody is inside with mine, and returns how to leave.
func (in *inside) enter(mine []fslease.Key) (leave func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, theirs := range in.all {
		for _, k := range mine {
			if k.OverlapsAny(theirs) {
				in.s.Errorf("%v and %v are inside together", mine, theirs)
			}
		}
	}
	in.n++
	n := in.n
	in.all[n] = mine
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		delete(in.all, n)
	}
}
