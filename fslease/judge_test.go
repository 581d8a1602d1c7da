package fslease_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fslease/fslease"
)

const (
	boot  = "7a1d9a43-2c1f-4f0e-9d0b-5b6c7d8e9f00"
	other = "00000000-2c1f-4f0e-9d0b-5b6c7d8e9f00"
)

// observed is an observer's reading on boot, at the monotonic time mono.
func observed(mono time.Duration) fslease.Instant {
	return fslease.Instant{Wall: time.Unix(1e9, 0), Mono: int64(mono), BootID: boot, TimeNS: 1}
}

// renewed is a lease that was renewed at mono on the clock of bootID.
func renewed(bootID string, mono, ttl time.Duration) fslease.Record {
	return fslease.Record{
		Key: "k", Generation: 3, Revision: 7, TTL: ttl, RenewedMono: int64(mono),
		Holder: fslease.Holder{Kind: fslease.KindProcess, BootID: bootID, TimeNS: 1},
	}
}

func saw(revision int64, bootID string, mono time.Duration) *fslease.Sighting {
	return &fslease.Sighting{Key: "k", Generation: 3, Revision: revision, BootID: bootID, TimeNS: 1, Mono: int64(mono)}
}

func TestJudge(t *testing.T) {
	const ttl = time.Minute
	here := renewed(boot, 100*time.Second, ttl)
	elsewhere := renewed(other, 900*time.Second, ttl)
	ticket := renewed(boot, 100*time.Second, ttl)
	ticket.Holder = fslease.Holder{Kind: fslease.KindTicket, Ticket: "42"}
	otherNS := here
	otherNS.Holder.TimeNS = 2
	unstamped := here
	unstamped.RenewedMono = 0
	noBoot := here
	noBoot.Holder.BootID = ""

	for _, c := range []struct {
		name   string
		rec    fslease.Record
		life   fslease.Life
		now    fslease.Instant
		seen   *fslease.Sighting
		reason fslease.Reason // "": not taken over
		wait   time.Duration
	}{
		{"dead: at once", here, fslease.Dead, observed(100 * time.Second), nil, fslease.ReasonDead, 0},
		{"dead without TTL: at once", renewed(boot, 1, 0), fslease.Dead, observed(2), nil, fslease.ReasonDead, 0},
		{"alive without TTL: never", renewed(boot, 1, 0), fslease.Alive, observed(1 << 60), nil, "", 0},
		{"unknown without TTL: never", renewed(other, 1, 0), fslease.Unknown, observed(1 << 60), saw(7, boot, 1), "", 0},
		{"alive and renewing: not", here, fslease.Alive, observed(101 * time.Second), nil, "", 59 * time.Second},
		{"alive, a moment before the TTL: not", here, fslease.Alive, observed(160*time.Second - 1), nil, "", 1},
		{"alive, silent for the TTL: after it", here, fslease.Alive, observed(160 * time.Second), nil, fslease.ReasonExpired, 0},
		{"unknown, silent for the TTL: after it", here, fslease.Unknown, observed(160 * time.Second), nil, fslease.ReasonExpired, 0},
		{"a sighting says nothing where the stamp does", here, fslease.Alive, observed(101 * time.Second), saw(7, boot, 1), "", 59 * time.Second},
		{"another boot, never seen: its stamp says nothing", elsewhere, fslease.Unknown, observed(5000 * time.Second), nil, "", ttl},
		{"another boot, seen for the TTL", elsewhere, fslease.Unknown, observed(70 * time.Second), saw(7, boot, 10*time.Second), fslease.ReasonExpired, 0},
		{"another boot, seen for less", elsewhere, fslease.Unknown, observed(69 * time.Second), saw(7, boot, 10*time.Second), "", time.Second},
		{"another boot, an earlier revision was seen", elsewhere, fslease.Unknown, observed(500 * time.Second), saw(6, boot, 10*time.Second), "", ttl},
		{"another boot, the sighting is of another boot too", elsewhere, fslease.Unknown, observed(500 * time.Second), saw(7, other, 10*time.Second), "", ttl},
		{"another boot, the sighting lies in the future", elsewhere, fslease.Unknown, observed(5 * time.Second), saw(7, boot, 10*time.Second), "", ttl},
		{"another time namespace is another clock", otherNS, fslease.Alive, observed(5000 * time.Second), nil, "", ttl},
		{"a stamp in the future is no stamp", here, fslease.Alive, observed(99 * time.Second), nil, "", ttl},
		{"a stamp in the future, seen for the TTL", here, fslease.Alive, observed(99 * time.Second), saw(7, boot, 39*time.Second), fslease.ReasonExpired, 0},
		{"no stamp", unstamped, fslease.Alive, observed(5000 * time.Second), nil, "", ttl},
		{"no boot id is no boot in common", noBoot, fslease.Alive, observed(5000 * time.Second), nil, "", ttl},
		{"a ticket's reservation: never, dead or not", ticket, fslease.Dead, observed(1 << 60), nil, "", 0},
	} {
		j := fslease.Judge(c.rec, fslease.Verdict{Life: c.life, Reason: "because"}, c.now, c.seen)
		if j.Takeover != (c.reason != "") || j.Reason != c.reason || j.Wait != c.wait {
			t.Errorf("%s: takeover %v for %q, wait %s; want %q, %s", c.name, j.Takeover, j.Reason, j.Wait, c.reason, c.wait)
		}
	}
}

func TestSightingsMustBeOfTheSameGenerationToo(t *testing.T) {
	s := saw(7, boot, time.Second)
	s.Generation = 2
	if s.Of(renewed(other, 1, time.Minute), observed(time.Hour)) {
		t.Error("a sighting of generation 2 counts for generation 3")
	}
	s = saw(7, boot, time.Second)
	s.TimeNS = 2
	if s.Of(renewed(other, 1, time.Minute), observed(time.Hour)) {
		t.Error("a sighting on the clock of another time namespace counts")
	}
}

func TestPropertyNoWallClockDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := anyRecord().Draw(t, "lease")
		now := observed(time.Duration(inode().Draw(t, "mono")))
		if rapid.Bool().Draw(t, "same clock") {
			rec.Holder.BootID, rec.Holder.TimeNS = now.BootID, now.TimeNS
		}
		seen := rapid.SampledFrom([]*fslease.Sighting{nil, {Generation: rec.Generation, Revision: rec.Revision, BootID: boot, TimeNS: 1, Mono: 1}}).Draw(t, "seen")
		v := fslease.Verdict{Life: rapid.SampledFrom([]fslease.Life{fslease.Unknown, fslease.Alive, fslease.Dead}).Draw(t, "life")}
		j := fslease.Judge(rec, v, now, seen)
		now.Wall = anyTime().Draw(t, "wall")
		rec.AcquiredAt, rec.RenewedAt = anyTime().Draw(t, "acquired"), anyTime().Draw(t, "renewed")
		if again := fslease.Judge(rec, v, now, seen); again != j {
			t.Fatalf("with another wall clock %+v became %+v", j, again)
		}
		if j.Takeover && (v.Life != fslease.Dead && rec.TTL == 0 || rec.Holder.IsTicket()) {
			t.Fatalf("%+v is taken over", rec)
		}
		if !j.Takeover && rec.TTL > 0 && !rec.Holder.IsTicket() && j.Wait != rec.TTL-j.Silent {
			t.Fatalf("silent for %s of %s, but to wait %s", j.Silent, rec.TTL, j.Wait)
		}
	})
}

func TestPropertyTakeoverComesAfterTheWaitAndNotBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rec := renewed(rapid.SampledFrom([]string{boot, other}).Draw(t, "boot"), time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "stamp")), milliseconds().Draw(t, "ttl"))
		now := observed(time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "now")))
		seen := saw(rec.Revision, boot, time.Duration(now.Mono))
		alive := fslease.Verdict{Life: fslease.Alive}
		j := fslease.Judge(rec, alive, now, seen)
		if j.Takeover || j.Wait == 0 {
			return
		}
		stamp := !rec.NeedsSighting(now)
		now.Mono += int64(j.Wait) - 1
		if !stamp && !rec.NeedsSighting(now) {
			return // the clock reached a stamp that lay in its future
		}
		if before := fslease.Judge(rec, alive, now, seen); before.Takeover {
			t.Fatalf("taken over before the %s have passed", j.Wait)
		}
		now.Mono++
		if !stamp && !rec.NeedsSighting(now) {
			return
		}
		if after := fslease.Judge(rec, alive, now, seen); !after.Takeover {
			t.Fatalf("not taken over after %s", j.Wait)
		}
	})
}

func TestJudgementInWords(t *testing.T) {
	for _, c := range []struct {
		j    fslease.Judgement
		want string
	}{
		{fslease.Judgement{Verdict: fslease.Verdict{Life: fslease.Dead, Reason: "no such process"}, Takeover: true}, "dead: no such process"},
		{fslease.Judgement{Verdict: fslease.Verdict{Reason: "other pid namespace"}, Silent: 12 * time.Second}, "unknown: other pid namespace, silent for 12s of 60s"},
		{fslease.Judgement{Verdict: fslease.Verdict{Life: fslease.Alive}}, "alive, silent for 0s of 60s"},
	} {
		if got := c.j.Words(time.Minute); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	held := fslease.Judgement{Verdict: fslease.Verdict{Life: fslease.Alive}}
	if got := held.Words(0); strings.Contains(got, "silent") {
		t.Errorf("%q of a lease without TTL", got)
	}
}
