package ledgertest

import (
	"sync"
	"time"

	"fslease/fslease"
)

var queueCases = []testCase{
	{"numbers", "a waiter has one number for all its keys: one more than the highest of every entry that overlaps any of them", func(s *suite) {
		for _, c := range []struct {
			keys []fslease.Key
			want int64
		}{
			{keys("repo/api"), 1},
			{keys("repo/web"), 1},
			{keys("repo/api"), 2},
			{keys("repo"), 3},
			{keys("repo/api/v2"), 4},
			{keys("repo/web", "z"), 4},
			{keys("z"), 5},
			{keys("a"), 1},
			{keys("a", "repo/api2"), 4},
			{keys("repo-x"), 1},
		} {
			if w := s.enqueue(c.keys...); w.Number != c.want {
				s.Errorf("%v: number %d, want %d", c.keys, w.Number, c.want)
			}
		}
	}},

	{"places", "a waiter has a place in each of its keys' queues; the places of all that overlaps are listed by number", func(s *suite) {
		api := s.enqueue("repo/api")
		both := s.enqueue("z", "repo")
		v := s.Open().View(s.Context())
		for _, c := range []struct {
			keys []fslease.Key
			want []fslease.Place
		}{
			{nil, []fslease.Place{{Key: "repo/api", Number: 1}, {Key: "repo", Number: 2}, {Key: "z", Number: 2}}},
			{keys("repo/api/v2"), []fslease.Place{{Key: "repo/api", Number: 1}, {Key: "repo", Number: 2}}},
			{keys("repo/web"), []fslease.Place{{Key: "repo", Number: 2}}},
			{keys("z/below"), []fslease.Place{{Key: "z", Number: 2}}},
			{keys("repository"), nil},
		} {
			got, err := v.Places(c.keys...)
			s.ok(err)
			if !samePlaces(got, c.want) {
				s.Errorf("places that overlap %v: %v, want %v", c.keys, got, c.want)
			}
		}
		w, err := v.Waiter(fslease.Place{Key: "repo", Number: 2})
		s.ok(err)
		if w == nil || w.Number != 2 || w.Holder.ID != both.Holder.ID || len(w.Keys) != 2 || w.Note != "soon" || w.Since.IsZero() || w.Turn != nil {
			s.Errorf("at place 2 of repo: %+v", w)
		}
		if w, err := v.Waiter(fslease.Place{Key: "repo/api", Number: 2}); err != nil || w != nil {
			s.Errorf("at place 2 of repo/api: %+v, %v; want nobody", w, err)
		}
		all, err := fslease.Waiters(v)
		s.ok(err)
		if len(all) != 2 || all[0].Holder.ID != api.Holder.ID {
			s.Errorf("waiters: %+v", all)
		}
	}},

	{"leave", "who leaves has no place any more, whoever takes him out; leaving again is no error and takes nobody else out", func(s *suite) {
		first, second := s.enqueue("a", "b"), s.enqueue("a")
		l := s.Open()
		for range 2 {
			s.ok(l.Leave(first))
		}
		places, err := l.View(s.Context()).Places()
		s.ok(err)
		if !samePlaces(places, []fslease.Place{{Key: "a", Number: second.Number}}) {
			s.Errorf("left: %v", places)
		}
		third := s.enqueue("a")
		if third.Number <= second.Number {
			s.Errorf("number %d is drawn again while %d waits", third.Number, second.Number)
		}
		s.ok(l.Leave(third))
		fourth := s.enqueue("a")
		s.ok(l.Leave(third)) // somebody who took it for dead comes late
		if w, err := l.View(s.Context()).Waiter(fslease.Place{Key: "a", Number: fourth.Number}); err != nil || w == nil {
			s.Errorf("number %d belongs to somebody else by now, and has lost its place: %v", fourth.Number, err)
		}
	}},

	{"no lock", "leaving and marking wait for no lock: a waiter can go while somebody works on its key", func(s *suite) {
		w := s.enqueue("k")
		other := s.Open()
		s.update(s.Open(), func(fslease.Tx) error {
			done := async(func() error {
				if err := other.MarkTurn(w, other.Clock().Now()); err != nil {
					return err
				}
				return other.Leave(w)
			})
			s.ok(wait(s, done, "a waiter to leave"))
			return nil
		}, "k")
	}},

	{"turn", "since when a waiter leaves its turn is noted once, until it clears that itself; one that has left does not come back by it", func(s *suite) {
		w := s.enqueue("a", "b")
		a, b := s.Open(), s.Open()
		now := a.Clock().Now()
		later := now
		later.Mono += int64(time.Second)
		s.ok(a.MarkTurn(w, now))
		s.ok(b.MarkTurn(w, later))
		turn := func() *fslease.Instant {
			s.Helper()
			got, err := a.View(s.Context()).Waiter(fslease.Place{Key: "a", Number: w.Number})
			s.ok(err)
			if got == nil {
				s.Fatal("the waiter is gone")
			}
			return got.Turn
		}
		if got := turn(); got == nil || got.Mono != now.Mono || got.BootID != now.BootID || got.TimeNS != now.TimeNS {
			s.Errorf("marked at %+v, then at %+v: %+v", now, later, got)
		}
		s.ok(b.ClearTurn(w))
		if got := turn(); got != nil {
			s.Errorf("cleared: %+v", got)
		}
		s.ok(a.MarkTurn(w, later))
		if got := turn(); got == nil || got.Mono != later.Mono {
			s.Errorf("marked again at %+v: %+v", later, got)
		}
		s.ok(a.Leave(w))
		_ = a.MarkTurn(w, later)
		_ = b.ClearTurn(w)
		if places, err := a.View(s.Context()).Places(); err != nil || len(places) != 0 {
			s.Errorf("after it left: %v, %v", places, err)
		}
	}},

	{"race", "of eight who enter the queue of one key at once no two have the same number", func(s *suite) {
		handles := s.handles(8)
		h := s.announce(handles[0])
		var mu sync.Mutex
		seen := map[int64]bool{}
		s.race(8, func(i int) {
			set := [][]fslease.Key{keys("a/b"), keys("a"), keys("c", "a/d", "a/b")}[i%3]
			err := handles[i].Update(s.Context(), set, func(tx fslease.Tx) error {
				w, err := tx.Enqueue(fslease.Waiter{Keys: set, Holder: h})
				if i%3 != 2 { // a and a/b overlap all the others
					mu.Lock()
					defer mu.Unlock()
					if seen[w.Number] {
						s.Errorf("number %d twice", w.Number)
					}
					seen[w.Number] = true
				}
				return err
			})
			if err != nil {
				s.Errorf("process %d: %v", i, err)
			}
		})
	}},
}

// enqueue enters the queue as a process of its own.
func (s *suite) enqueue(ks ...fslease.Key) fslease.Waiter {
	s.Helper()
	l := s.Open()
	h := s.announce(l)
	var w fslease.Waiter
	s.update(l, func(tx fslease.Tx) (err error) {
		w, err = tx.Enqueue(fslease.Waiter{Keys: ks, Holder: h, Since: tx.Now().Wall, Note: "soon"})
		return err
	}, ks...)
	return w
}

// samePlaces compares the order of numbers; places of the same number may come in any order.
func samePlaces(got, want []fslease.Place) bool {
	if len(got) != len(want) {
		return false
	}
	left := map[fslease.Place]bool{}
	for i := range want {
		if got[i].Number != want[i].Number {
			return false
		}
		left[want[i]] = true
	}
	for _, p := range got {
		delete(left, p)
	}
	return len(left) == 0
}
