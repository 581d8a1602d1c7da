package ledgertest

import (
	"slices"
	"sync/atomic"

	"fslease/fslease"
)

var fenceCases = []testCase{
	{"exclude", "the fence of a key keeps out the fences of all that overlaps it, and of nothing else", func(s *suite) {
		for _, c := range []struct {
			held, asked []fslease.Key
			free        bool
		}{
			{keys("k"), keys("k"), false},
			{keys("repo"), keys("repo/api"), false},
			{keys("repo/api"), keys("repo"), false},
			{keys("repo/api"), keys("repo/api/v2"), false},
			{keys("repo/api"), keys("repo/web"), true},
			{keys("repo/api"), keys("repo/api2"), true},
			{keys("a-b"), keys("a/b"), true},
			{keys("a", "b"), keys("c", "b/x"), false},
			{keys("a", "a/x"), keys("a/y"), false},
		} {
			held := s.fence(s.Open(), c.held...)
			l := s.Open()
			f, keepers, err := l.TryFence(s.Context(), c.asked)
			s.ok(err)
			if (f != nil) != c.free {
				s.Errorf("fence of %v while %v is held: had %v, kept by %v", c.asked, c.held, f != nil, keepers)
			}
			if f != nil {
				s.ok(f.Unlock())
			}
			s.ok(held.Unlock())
			s.ok(s.fence(l, c.asked...).Unlock())
		}
	}},

	{"all or none", "a fence of several keys is had for all of them or for none", func(s *suite) {
		a, b := s.Open(), s.Open()
		held := s.fence(a, "b")
		if f, _, err := b.TryFence(s.Context(), keys("a", "b", "c/d")); err != nil || f != nil {
			s.Errorf("had %v, %v", f, err)
		}
		s.ok(s.fence(a, "a", "c").Unlock())
		s.ok(held.Unlock())
		s.ok(s.fence(b, "a", "b", "c/d").Unlock())
	}},

	{"keepers", "the processes that keep a fence are named, as long as they do", func(s *suite) {
		s.need(s.Fork != nil, "Fork")
		a, b := s.Open(), s.Open()
		f := s.fence(a, "repo/api")
		kill := s.Fork(a)
		for _, k := range keys("repo", "repo/api", "repo/api/v2") {
			kept, err := b.View(s.Context()).Keepers(k)
			s.ok(err)
			if _, keepers, err := b.TryFence(s.Context(), []fslease.Key{k}); err != nil || len(keepers) == 0 || keepers[0].PID == 0 {
				s.Errorf("TryFence of %s names %+v, %v", k, keepers, err)
			}
			if k == "repo/api" && (len(kept) == 0 || kept[0].PID == 0) {
				s.Errorf("the fence of %s is kept by %+v", k, kept)
			}
		}
		kill()
		s.ok(f.Unlock())
		if kept, err := b.View(s.Context()).Keepers("repo/api"); err != nil || len(kept) != 0 {
			s.Errorf("a free fence is kept by %+v, %v", kept, err)
		}
	}},

	{"close", "a fence that nobody inherited is free once it is closed", func(s *suite) {
		a, b := s.Open(), s.Open()
		s.ok(s.fence(a, "k/x").Close())
		s.ok(s.fence(b, "k").Unlock())
	}},

	{"inherit", "a fence that was only closed is kept until the last who inherited it is gone, and keeps its ancestors shared", func(s *suite) {
		s.need(s.Fork != nil, "Fork")
		a, b := s.Open(), s.Open()
		f := s.fence(a, "repo/api")
		kill := s.Fork(a)
		s.ok(f.Close())
		for _, k := range keys("repo/api", "repo", "repo/api/v2") {
			if f, keepers, err := b.TryFence(s.Context(), []fslease.Key{k}); err != nil || f != nil || len(keepers) == 0 {
				s.Errorf("fence of %s while a child has that of repo/api: had %v, kept by %+v, %v", k, f != nil, keepers, err)
			}
		}
		s.ok(s.fence(b, "repo/web").Unlock())
		kill()
		s.ok(s.fence(b, "repo").Unlock())
	}},

	{"unlock", "unlocking frees the fence for everybody who inherited it", func(s *suite) {
		s.need(s.Fork != nil, "Fork")
		a, b := s.Open(), s.Open()
		f := s.fence(a, "k")
		defer s.Fork(a)()
		s.ok(f.Unlock())
		s.ok(s.fence(b, "k").Unlock())
	}},

	{"kill", "a killed process keeps no fence, but what it started does", func(s *suite) {
		s.need(s.Kill != nil && s.Fork != nil, "Kill and Fork")
		a, b := s.Open(), s.Open()
		s.fence(a, "alone")
		s.Kill(a)
		s.ok(s.fence(b, "alone").Unlock())
		c := s.Open()
		s.fence(c, "k")
		kill := s.Fork(c)
		s.Kill(c)
		if f, _, err := b.TryFence(s.Context(), keys("k")); err != nil || f != nil {
			s.Errorf("the child does not keep it: %v, %v", f, err)
		}
		kill()
		s.ok(s.fence(b, "k").Unlock())
	}},

	{"race", "of eight who try one fence at once, one has it at a time", func(s *suite) {
		handles := s.handles(8)
		var in, had atomic.Int64
		s.race(8, func(i int) {
			set := [][]fslease.Key{keys("repo"), keys("repo/api", "x")}[i%2]
			for range 25 {
				f, _, err := handles[i].TryFence(s.Context(), set)
				if err != nil {
					s.Error(err)
				}
				if f == nil {
					continue
				}
				had.Add(1)
				if n := in.Add(1); n > 1 {
					s.Errorf("%d have overlapping fences", n)
				}
				in.Add(-1)
				if err := f.Unlock(); err != nil {
					s.Error(err)
				}
			}
		})
		if had.Load() == 0 {
			s.Error("nobody ever had it")
		}
	}},
}

// fence takes a fence that must be free.
func (s *suite) fence(l fslease.Ledger, ks ...fslease.Key) fslease.Fence {
	s.Helper()
	f, keepers, err := l.TryFence(s.Context(), slices.Clone(ks))
	s.ok(err)
	if f == nil {
		s.Fatalf("the fence of %v is kept by %s", ks, fslease.DescribeKeepers(keepers))
	}
	return f
}
