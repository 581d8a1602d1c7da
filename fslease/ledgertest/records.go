package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fslease/fslease"
)

var recordCases = []testCase{
	{"empty", "on a new ledger nothing is on record, and reading it is no error", func(s *suite) {
		v := s.Open().View(s.Context())
		if st, err := v.Load("repo/api"); err != nil || st.Lease != nil || st.Tomb != nil {
			s.Errorf("Load: %+v, %v", st, err)
		}
		if states, err := v.Overlapping("repo/api"); err != nil || len(states) != 1 || states[0].Lease != nil {
			s.Errorf("Overlapping: %+v, %v; want the state of the key itself in any case", states, err)
		}
		if err := v.Walk("", true, func(k fslease.Key, _ fslease.State, _ error) error { return errors.New(string(k)) }); err != nil {
			s.Errorf("Walk visits %v", err)
		}
		if got, err := v.Sighting("repo/api"); err != nil || got != nil {
			s.Errorf("Sighting: %v, %v", got, err)
		}
		if got, err := v.Places(); err != nil || len(got) != 0 {
			s.Errorf("Places: %v, %v", got, err)
		}
		if got, err := v.Ticket("42"); err != nil || got != nil {
			s.Errorf("Ticket: %v, %v", got, err)
		}
		if got, err := v.Session("42", 1); err != nil || got != nil {
			s.Errorf("Session: %v, %v", got, err)
		}
		if got, err := v.Active(); err != nil || len(got) != 0 {
			s.Errorf("Active: %v, %v", got, err)
		}
	}},

	{"kin", "the leases that a process may hold are found by its number, what was given up is not among them, and the end of the context ends the search", func(s *suite) {
		l := s.Open()
		h := s.announce(l)
		s.grant(l, "a", h, time.Minute)
		s.grant(l, "b/c", h, time.Minute)
		s.grant(l, "d", h, time.Minute)
		s.bury(l, "d", fslease.ReasonReleased)
		pid := s.load(l, "a").Current().Holder.PID
		find := func(ctx context.Context, pid int64) (found []string, err error) {
			err = l.View(s.Context()).Kin(ctx, func(n int64) bool { return n == pid }, func(rec fslease.Record) {
				if rec.Holder.PID == pid {
					found = append(found, string(rec.Key))
				}
			})
			slices.Sort(found)
			return found, err
		}
		if found, err := find(s.Context(), pid); err != nil || !slices.Equal(found, []string{"a", "b/c"}) {
			s.Errorf("%d holds %v, %v", pid, found, err)
		}
		if found, err := find(s.Context(), pid+1); err != nil || len(found) > 0 {
			s.Errorf("%d holds %v, %v", pid+1, found, err)
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(s.Context())
		cancel(enough)
		if found, err := find(ctx, pid); err != enough || len(found) > 1 {
			s.Errorf("after the end of the context: %v, %v", found, err)
		}
	}},

	{"read back", "every handle reads a record as it was written, times to the millisecond", func(s *suite) {
		a, b := s.Open(), s.Open()
		h := s.announce(a)
		want := s.grant(a, "repo/api", h, time.Minute)
		got := s.load(b, "repo/api").Current()
		if got == nil {
			s.Fatal("nothing is held")
		}
		if x, y := text(s, want), text(s, *got); x != y {
			s.Errorf("written %s\nread    %s", x, y)
		}
		tomb := s.bury(b, "repo/api", fslease.ReasonReleased)
		st := s.load(a, "repo/api")
		if st.Lease != nil || st.Tomb == nil || text(s, *st.Tomb) != text(s, tomb) {
			s.Errorf("buried as %s, read %+v", text(s, tomb), st)
		}
		if len(st.Tomb.LastHolder.Command) > 1 {
			s.Errorf("a tombstone keeps the command %q, want its first word", st.Tomb.LastHolder.Command)
		}
	}},

	{"unknown fields", "fields that a newer version wrote survive a rewrite", func(s *suite) {
		l := s.Open()
		extra := map[string]json.RawMessage{"zone": json.RawMessage(`"b"`), "labels": json.RawMessage(`{"n":[9007199254740993,2.50]}`)}
		h := s.announce(l)
		h.Extra = map[string]json.RawMessage{"container": json.RawMessage(`"c0ffee"`)}
		s.update(l, func(tx fslease.Tx) error {
			g, err := tx.NextGeneration("k", fslease.State{})
			rec := fslease.Granted(fslease.State{}, fslease.Grant{Key: "k", Holder: h}, g, tx.Now())
			rec.Extra = extra
			return errors.Join(err, tx.Put(rec, true))
		}, "k")
		for range 2 {
			s.update(l, func(tx fslease.Tx) error {
				st, err := tx.Load("k")
				return errors.Join(err, tx.Put(fslease.Renewed(*st.Lease, tx.Now()), false))
			}, "k")
		}
		rec := s.load(s.Open(), "k").Lease
		if rec == nil || rec.Revision != 3 || !sameJSON(rec.Extra, extra) || !sameJSON(rec.Holder.Extra, h.Extra) {
			s.Errorf("after two renewals: %+v", rec)
		}
	}},

	{"save", "Save writes only over the revision that is expected, 0 meaning that nothing is held, and says which one it found", func(s *suite) {
		a, b := s.Open(), s.Open()
		rec := s.grant(a, "k", s.announce(a), time.Minute)
		next := rec
		next.Revision++
		s.ok(b.Save(s.Context(), next, rec.Revision))
		for _, expected := range []int64{0, rec.Revision, next.Revision + 1} {
			again := next
			again.Revision, again.Note = next.Revision+5, "must not be written"
			err := a.Save(s.Context(), again, expected)
			var conflict *fslease.RevisionConflictError
			if !errors.As(err, &conflict) || !errors.Is(err, fslease.ErrRevisionConflict) || conflict.Key != "k" || conflict.Expected != expected || conflict.Revision != next.Revision {
				s.Errorf("saved at revision %d over %d: %#v", expected, next.Revision, err)
			}
		}
		if err := a.Save(s.Context(), next, next.Revision); err == nil {
			s.Error("a revision that is not above the one expected is written")
		}
		if got := s.load(a, "k").Lease; got.Revision != next.Revision || got.Note != rec.Note {
			s.Errorf("on record: %+v", got)
		}
		s.bury(a, "k", fslease.ReasonReleased)
		next.Revision += 2
		if err := a.Save(s.Context(), next, next.Revision-2); !errors.Is(err, fslease.ErrRevisionConflict) {
			s.Errorf("saved over a revision that was given up: %v", err)
		}
	}},

	{"save new", "a Save that expects nothing makes the record, once", func(s *suite) {
		l := s.Open()
		var rec fslease.Record
		h := s.announce(l)
		s.update(l, func(tx fslease.Tx) error {
			g, err := tx.NextGeneration("k", fslease.State{})
			rec = fslease.Granted(fslease.State{}, fslease.Grant{Key: "k", Holder: h}, g, tx.Now())
			return err
		}, "k")
		s.ok(l.Save(s.Context(), rec, 0))
		s.is(l.Save(s.Context(), rec, 0), fslease.ErrRevisionConflict)
	}},

	{"save race", "of eight who save over one revision at once, one succeeds and the others are told of a conflict", func(s *suite) {
		l := s.Open()
		h := s.announce(l)
		for round := range 5 {
			key := fslease.Key(fmt.Sprintf("k%d", round))
			rec := s.grant(l, key, h, 0)
			handles := s.handles(8)
			var won atomic.Int64
			s.race(8, func(i int) {
				mine := rec
				mine.Revision, mine.Note = rec.Revision+1, fmt.Sprint(i)
				switch err := handles[i].Save(s.Context(), mine, rec.Revision); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, fslease.ErrRevisionConflict):
					s.Errorf("process %d: %v", i, err)
				}
			})
			if won.Load() != 1 {
				s.Errorf("%d of 8 saved", won.Load())
			}
		}
	}},

	{"damaged", "a record that is not what it should be is an error that says where, never free and never absent; the others can be read, and it stays as it is", func(s *suite) {
		s.need(s.Plant != nil, "Plant")
		l := s.Open()
		whole := text(s, s.grant(l, "repo/api", s.announce(l), time.Minute))
		s.grant(l, "repo/web", s.announce(l), 0)
		for _, c := range []struct {
			what  string
			data  string
			fault fslease.Fault
		}{
			{"empty", "", fslease.FaultDamaged},
			{"cut", whole[:len(whole)/2], fslease.FaultDamaged},
			{"garbage", "\x00\x01\x02", fslease.FaultDamaged},
			{"null", "null", fslease.FaultDamaged},
			{"of another key", strings.Replace(whole, "repo/api", "repo/apj", 1), fslease.FaultDamaged},
			{"of a generation above the ceiling", strings.Replace(whole, `"generation":1,`, `"generation":9007199254740991,`, 1), fslease.FaultDamaged},
			{"too large", whole[:len(whole)-1] + `,"x":"` + strings.Repeat("x", fslease.MaxRecordBytes) + `"}`, fslease.FaultDamaged},
			{"newer", strings.Replace(whole, `"schema":1`, `"schema":2`, 1), fslease.FaultNewer},
		} {
			s.Plant("repo/api", []byte(c.data))
			check := func(how string, err error) {
				s.Helper()
				var r *fslease.RepositoryError
				if !errors.As(err, &r) || r.Fault != c.fault || r.Path == "" || !strings.Contains(r.Error(), r.Path) {
					s.Errorf("%s: %s: %v (%T), want fault %q with its place", c.what, how, err, err, c.fault)
				}
			}
			v := l.View(s.Context())
			_, err := v.Load("repo/api")
			check("Load", err)
			for _, k := range keys("repo", "repo/api", "repo/api/v2") {
				_, err := v.Overlapping(k)
				check("Overlapping "+string(k), err)
			}
			seen := map[fslease.Key]error{}
			s.ok(v.Walk("", true, func(k fslease.Key, _ fslease.State, err error) error {
				seen[k] = err
				return nil
			}))
			check("Walk", seen["repo/api"])
			if err, ok := seen["repo/web"]; err != nil || !ok {
				s.Errorf("%s: the walk does not come to repo/web: %v", c.what, seen)
			}
			check("Save", l.Save(s.Context(), fslease.Record{Key: "repo/api", Generation: 2, Revision: 9, Holder: stranger()}, 0))
			_, err = v.Load("repo/api")
			check("Load afterwards", err)
			if _, err := v.Load("repo/web"); err != nil {
				s.Errorf("%s: Load repo/web: %v", c.what, err)
			}
		}
	}},
}

// handles opens n handles.
func (s *suite) handles(n int) []fslease.Ledger {
	out := make([]fslease.Ledger, n)
	for i := range out {
		out[i] = s.Open()
	}
	return out
}

// text is v as a file has it, for comparison.
func text(s *suite, v json.Marshaler) string {
	s.Helper()
	data, err := v.MarshalJSON()
	s.ok(err)
	return string(data)
}

func sameJSON(a, b map[string]json.RawMessage) bool {
	return reflect.DeepEqual(compact(a), compact(b))
}

func compact(m map[string]json.RawMessage) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		data, err := json.Marshal(v)
		out[k] = string(data) + fmt.Sprint(err)
	}
	return out
}
