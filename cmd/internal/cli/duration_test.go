package cli

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "0s": 0, "1.5s": 1500 * time.Millisecond, "1ms": time.Millisecond,
		"2d": 48 * time.Hour, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour, "106751d": 106751 * 24 * time.Hour, ".5s": 500 * time.Millisecond,
	} {
		if got, err := parseDuration(in); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{
		"", "30", "1.5", "-5s", "+5s", "5 s", "5x", "1e3s", "1e3d", "nan", "d", "1dd", "1d 2h", "12h1d", "-1d", "1d-1h",
		"99999999999999999999s", "106752d", "106751d24h", ".", ".d", "1..5d", "s",
	} {
		if got, err := parseDuration(in); err == nil {
			t.Errorf("%q is %v, want an error", in, got)
		}
	}
	// The largest that fits does.
	if got, err := parseDuration("106751d23h47m16.854775807s"); err != nil || got != math.MaxInt64 {
		t.Errorf("%v, %v", got, err)
	}
}

// Thirty of what? The hint says what to type.
func TestBareNumberIsProposedWithUnit(t *testing.T) {
	_, err := parseDuration("30")
	if err == nil || !strings.Contains(err.hint, "30s") {
		t.Errorf("%+v", err)
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s ago", 119 * time.Second: "119s ago", 2 * time.Minute: "2m ago", 119 * time.Minute: "119m ago",
		2 * time.Hour: "2h ago", 47 * time.Hour: "47h ago", 48 * time.Hour: "2d ago", 400 * 24 * time.Hour: "400d ago", -time.Minute: "just now",
	} {
		if got := ago(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
