package ledgertest

import (
	"errors"
	"slices"
	"strings"

	"fslease/fslease"
)

var overlapCases = []testCase{
	{"by segments", "what overlaps a key are the leases above it from the root on, its own state in any case, and the leases below it, by segments", func(s *suite) {
		l := s.Open()
		h := s.announce(l)
		for _, k := range keys("repo", "repo/api", "repo/api/v2", "repo/api2", "repo/web", "repository", "repo-x/api", "a-b", "a/b", "z") {
			s.grant(l, k, h, 0)
		}
		s.bury(l, "repo/web", fslease.ReasonReleased)
		for _, c := range []struct {
			key  fslease.Key
			want string
		}{
			{"repo", "repo repo/api repo/api/v2 repo/api2"},
			{"repo/api", "repo repo/api repo/api/v2"},
			{"repo/api/v2/x", "repo repo/api repo/api/v2 -"},
			{"repo/web", "repo †repo/web"},
			{"repo/ap", "repo -"},
			{"a", "- a/b"},
			{"a/b", "a/b"},
			{"a-b", "a-b"},
			{"new", "-"},
		} {
			states, err := s.Open().View(s.Context()).Overlapping(c.key)
			s.ok(err)
			var got []string
			for _, st := range states {
				switch {
				case st.Lease != nil:
					got = append(got, string(st.Lease.Key))
				case st.Tomb != nil:
					got = append(got, "†"+string(st.Tomb.Key))
				default:
					got = append(got, "-")
				}
			}
			if strings.Join(got, " ") != c.want {
				s.Errorf("what overlaps %s: %s, want %s", c.key, strings.Join(got, " "), c.want)
			}
		}
	}},

	{"odd names", "keys that look alike, or like files of a ledger, are kept apart and read back as they are", func(s *suite) {
		names := []string{
			"a/b", "a_b", "a%2Fb", "A", "a b", "\u00e9", "e\u0301", "🔑", "x.json", "x.lock", "x.fence", "x", ".x", "..x", "-v", "~", "100%", "a:b", "a\\b",
			strings.Repeat("n", 119), strings.Repeat("n", 120), strings.Repeat("n", 121), strings.Repeat("n", 300),
			strings.Repeat("n", 299) + "m", strings.Repeat("é", 100), strings.Repeat(strings.Repeat("d", 127)+"/", 8)[:1023], strings.Repeat("d/", 20) + "e",
		}
		l := s.Open()
		h := s.announce(l)
		for _, name := range names {
			key, err := fslease.ParseKey(name)
			s.ok(err)
			if rec := s.grant(l, key, h, 0); rec.Generation != 1 {
				s.Errorf("%.40q is another key's: generation %d", name, rec.Generation)
			}
		}
		var walked []fslease.Key
		s.ok(l.View(s.Context()).Walk("", false, func(k fslease.Key, st fslease.State, err error) error {
			s.ok(err)
			if st.Lease == nil || st.Lease.Key != k {
				s.Errorf("walked to %.40q with %+v", k, st)
			}
			walked = append(walked, k)
			return nil
		}))
		want := keys(names...)
		slices.SortFunc(want, fslease.CompareKeys)
		if !slices.Equal(walked, want) {
			s.Errorf("walked %.2000q\nwant   %.2000q", walked, want)
		}
	}},

	{"walk", "Walk visits the leases at and below a prefix, with tombs those with only a tombstone too, in the order of the keys, and ends at an error of visit", func(s *suite) {
		l := s.Open()
		h := s.announce(l)
		for _, k := range keys("b", "a/b", "a-b", "a", "a/b/c", "ab", "a/a", "a0") {
			s.grant(l, k, h, 0)
		}
		s.bury(l, "a/a", fslease.ReasonReleased)
		s.bury(l, "b", fslease.ReasonReleased)
		for _, c := range []struct {
			prefix fslease.Key
			tombs  bool
			want   string
		}{
			{"", false, "a a/b a/b/c a-b a0 ab"},
			{"", true, "a a/a a/b a/b/c a-b a0 ab b"},
			{"a", false, "a a/b a/b/c"},
			{"a", true, "a a/a a/b a/b/c"},
			{"a/b", true, "a/b a/b/c"},
			{"a/b/c", true, "a/b/c"},
			{"a/a", false, ""},
			{"none", true, ""},
		} {
			var got []string
			s.ok(l.View(s.Context()).Walk(c.prefix, c.tombs, func(k fslease.Key, st fslease.State, err error) error {
				if err != nil || st.Lease == nil && st.Tomb == nil {
					s.Errorf("visited %s with %+v, %v", k, st, err)
				}
				got = append(got, string(k))
				return nil
			}))
			if strings.Join(got, " ") != c.want {
				s.Errorf("walk of %q, tombs %v: %s, want %s", c.prefix, c.tombs, strings.Join(got, " "), c.want)
			}
		}
		enough := errors.New("enough")
		visits := 0
		s.is(l.View(s.Context()).Walk("", true, func(fslease.Key, fslease.State, error) error { visits++; return enough }), enough)
		if visits != 1 {
			s.Errorf("%d visits after an error", visits)
		}
	}},
}
