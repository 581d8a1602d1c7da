package fslease_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fslease/fslease"
)

func TestGranted(t *testing.T) {
	now := observed(time.Hour)
	prev := fslease.State{Tomb: &fslease.Tombstone{Generation: 4, Revision: 11}}
	h := fslease.Holder{Kind: fslease.KindProcess, ID: "x"}
	rec := fslease.Granted(prev, fslease.Grant{Key: "k", Holder: h, TTL: time.Minute, Note: "why"}, 5, now)
	if rec.Key != "k" || rec.Generation != 5 || rec.Holder.ID != "x" || rec.TTL != time.Minute || rec.Note != "why" {
		t.Errorf("granted %+v", rec)
	}
	if rec.Revision != 12 {
		t.Errorf("revision %d after a tombstone at 11: it grows over release and re-acquisition too", rec.Revision)
	}
	if rec.RenewedMono != now.Mono || !rec.RenewedAt.Equal(now.Wall) || !rec.AcquiredAt.Equal(now.Wall) {
		t.Errorf("stamped %d, %s, %s; now is %+v", rec.RenewedMono, rec.RenewedAt, rec.AcquiredAt, now)
	}
}

func TestCheckToken(t *testing.T) {
	holder := fslease.Holder{Kind: fslease.KindProcess, ID: "me"}
	lease := &fslease.Record{Generation: 3, Holder: holder}
	tomb := func(generation int64, reason fslease.Reason) *fslease.Tombstone {
		return &fslease.Tombstone{Generation: generation, Reason: reason}
	}
	for _, c := range []struct {
		name    string
		state   fslease.State
		token   int64
		id      string
		reason  string // "": current
		current int64
	}{
		{"current", fslease.State{Lease: lease}, 3, "", "", 0},
		{"current, by its holder", fslease.State{Lease: lease}, 3, "me", "", 0},
		{"current after earlier ones", fslease.State{Lease: lease, Tomb: tomb(2, "released")}, 3, "me", "", 0},
		{"of another holder", fslease.State{Lease: lease}, 3, "you", "the record names another holder", 0},
		{"an older one", fslease.State{Lease: lease}, 2, "", "taken over by generation 3", 3},
		{"an older one, the new one is released", fslease.State{Tomb: tomb(3, "released")}, 2, "", "taken over by generation 3", 3},
		{"released", fslease.State{Tomb: tomb(3, "released")}, 3, "", "released", 0},
		{"released, the lease not yet unlinked", fslease.State{Lease: lease, Tomb: tomb(3, "released")}, 3, "me", "released", 0},
		{"broken", fslease.State{Tomb: tomb(3, "broken")}, 3, "", "broken", 0},
		{"dead", fslease.State{Tomb: tomb(3, "dead")}, 3, "", "given up as dead", 0},
		{"expired", fslease.State{Tomb: tomb(3, "expired")}, 3, "", "given up as expired", 0},
		{"nothing on record", fslease.State{}, 3, "", "the record is gone", 0},
		{"from the future", fslease.State{Lease: lease}, 4, "", "it was never given out", 0},
	} {
		rec, err := fslease.CheckToken("k", c.state, c.token, c.id)
		if c.reason == "" {
			if err != nil || rec.Generation != c.token {
				t.Errorf("%s: generation %d, %v", c.name, rec.Generation, err)
			}
			continue
		}
		var lost *fslease.LostError
		if !errors.As(err, &lost) || lost.Reason != c.reason || lost.Current != c.current || lost.Key != "k" || lost.Generation != c.token {
			t.Errorf("%s: %#v, want the reason %q and current generation %d", c.name, err, c.reason, c.current)
		}
	}
}

func TestRenewedStampsOnlyOnTheClockItIsJudgedBy(t *testing.T) {
	now := observed(time.Hour)
	for _, c := range []struct {
		name     string
		bootID   string
		evidence fslease.Evidence
		mono     int64
		wantBoot string
	}{
		{"by somebody on the holder's clock", boot, fslease.EvidenceLock, now.Mono, boot},
		{"by somebody elsewhere: observers count from when they see the revision", other, fslease.EvidenceLock, 0, other},
		{"without a process it moves to the clock of who renews it", other, fslease.EvidenceNone, now.Mono, boot},
	} {
		rec := renewed(c.bootID, time.Second, time.Minute)
		rec.Holder.Evidence = c.evidence
		got := fslease.Renewed(rec, now)
		if got.RenewedMono != c.mono || got.Holder.BootID != c.wantBoot || got.Revision != rec.Revision+1 || got.Generation != rec.Generation || !got.RenewedAt.Equal(now.Wall) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestHandedKeepsTheGeneration(t *testing.T) {
	rec := renewed(boot, time.Second, 0)
	got := fslease.Handed(rec, fslease.Holder{Kind: fslease.KindProcess, ID: "script"}, time.Minute, observed(time.Hour))
	if got.Generation != rec.Generation || got.Revision != rec.Revision+1 || got.Holder.ID != "script" || got.TTL != time.Minute || got.RenewedMono != int64(time.Hour) {
		t.Errorf("handed over as %+v", got)
	}
}

func TestBuried(t *testing.T) {
	rec := renewed(boot, time.Second, time.Minute)
	rec.Holder.Command = []string{"make", "deploy", "TOKEN=secret"}
	execd := rec
	execd.Holder.Exec = true
	prev := &fslease.Tombstone{Generation: 2, Revision: 4, Unclean: 2}
	ahead := &fslease.Tombstone{Generation: 2, Revision: 40}
	for _, c := range []struct {
		name     string
		rec      fslease.Record
		prev     *fslease.Tombstone
		reason   fslease.Reason
		revision int64
		unclean  int64
	}{
		{"released", rec, prev, fslease.ReasonReleased, 8, 0},
		{"transferred", rec, prev, fslease.ReasonTransferred, 8, 0},
		{"dead, the first time", rec, nil, fslease.ReasonDead, 8, 1},
		{"dead again", rec, prev, fslease.ReasonDead, 8, 3},
		{"expired again", rec, prev, fslease.ReasonExpired, 8, 3},
		{"broken again", rec, prev, fslease.ReasonBroken, 8, 3},
		{"the end of a command that took its wrapper's place", execd, prev, fslease.ReasonDead, 8, 0},
		{"such a command broken", execd, prev, fslease.ReasonBroken, 8, 3},
		{"a revision never goes back", rec, ahead, fslease.ReasonReleased, 41, 0},
	} {
		got := fslease.Buried(c.rec, c.prev, c.reason, observed(time.Hour))
		if got.Revision != c.revision || got.Unclean != c.unclean || got.Generation != 3 || got.Key != "k" || got.Reason != c.reason {
			t.Errorf("%s: %+v, want revision %d, unclean %d", c.name, got, c.revision, c.unclean)
		}
		if !slices.Equal(got.LastHolder.Command, []string{"make"}) {
			t.Errorf("%s: the command is kept as %q, want its first word", c.name, got.LastHolder.Command)
		}
	}
	if len(rec.Holder.Command) != 3 {
		t.Error("the lease's own command was cut")
	}
}

// TestPropertyGenerationsAndRevisionsNeverGoBack lets a key be held, renewed, handed over and given up in
// any order.
func TestPropertyGenerationsAndRevisionsNeverGoBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s fslease.State
		var generation, revision int64
		now := observed(time.Second)
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			now.Mono++
			cur := s.Current()
			switch step := rapid.SampledFrom([]string{"grant", "renew", "hand over", "give up"}).Draw(t, "step"); {
			case step == "grant" && cur == nil:
				rec := fslease.Granted(s, fslease.Grant{Key: "k"}, s.Generation()+1, now)
				if rec.Generation <= generation {
					t.Fatalf("generation %d after %d", rec.Generation, generation)
				}
				s.Lease = &rec
			case step == "renew" && cur != nil:
				rec := fslease.Renewed(*cur, now)
				s.Lease = &rec
			case step == "hand over" && cur != nil:
				rec := fslease.Handed(*cur, fslease.Holder{ID: "other"}, 0, now)
				s.Lease = &rec
			case step == "give up" && cur != nil:
				reasons := []fslease.Reason{fslease.ReasonReleased, fslease.ReasonDead, fslease.ReasonExpired, fslease.ReasonBroken}
				tomb := fslease.Buried(*cur, s.Tomb, rapid.SampledFrom(reasons).Draw(t, "reason"), now)
				s.Tomb = &tomb
				if rapid.Bool().Draw(t, "unlinked") {
					s.Lease = nil
				}
				if s.Current() != nil {
					t.Fatalf("%+v is held after it was given up", s)
				}
			default:
				continue
			}
			if s.Revision() != revision+1 || s.Generation() < generation {
				t.Fatalf("revision %d after %d, generation %d after %d", s.Revision(), revision, s.Generation(), generation)
			}
			generation, revision = s.Generation(), s.Revision()
		}
	})
}

func TestCheckNote(t *testing.T) {
	for _, note := range []string{"", "nightly deploy", strings.Repeat("n", fslease.MaxNoteBytes)} {
		if err := fslease.CheckNote(note); err != nil {
			t.Errorf("note %.20q: %v", note, err)
		}
	}
	for _, note := range []string{strings.Repeat("n", fslease.MaxNoteBytes+1), "\xff"} {
		if err := fslease.CheckNote(note); !errors.Is(err, fslease.ErrConfig) {
			t.Errorf("note %.20q: %v, want a *ConfigError", note, err)
		}
	}
}

func TestCommandWords(t *testing.T) {
	long := strings.Repeat("x", fslease.MaxCommandSize)
	for _, c := range []struct {
		name       string
		argv, want []string
	}{
		{"none", nil, nil},
		{"as it is", []string{"make", "", "deploy now", "é"}, []string{"make", "", "deploy now", "é"}},
		{"bytes that are not UTF-8", []string{"a\xffb", "�"}, []string{`a\xffb`, "�"}},
		{"too long an argument is cut", []string{long + "y"}, []string{long}},
		{"what does not fit any more is left out", []string{long, "y"}, []string{long}},
		{"not in the middle of a character", []string{long[1:] + "é"}, []string{long[1:]}},
	} {
		if got := fslease.CommandWords(c.argv); !slices.Equal(got, c.want) {
			t.Errorf("%s: %.60q, want %.60q", c.name, got, c.want)
		}
	}
	if got := fslease.CommandWords(make([]string, 1<<20)); len(got) > fslease.MaxCommandSize {
		t.Errorf("%d empty arguments are kept: the record would be too large to be read", len(got))
	}
}

func TestPropertyCommandWordsFitARecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		argv := rapid.SliceOf(rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "argv")
		size := 0
		for _, word := range fslease.CommandWords(argv) {
			if strings.ToValidUTF8(word, "") != word {
				t.Fatalf("%q is not UTF-8", word)
			}
			size += len(word)
		}
		if size > fslease.MaxCommandSize {
			t.Fatalf("%d bytes, more than %d", size, fslease.MaxCommandSize)
		}
	})
}
