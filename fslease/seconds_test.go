package fslease_test

import (
	"testing"
	"time"

	"fslease/fslease"
)

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 40 * time.Millisecond: "0s", 340 * time.Millisecond: "0.3s", 12300 * time.Millisecond: "12s", time.Minute: "60s",
		90 * time.Second: "90s", 15 * time.Minute: "15m", 2 * time.Hour: "2h", 150 * time.Minute: "2h30m", 7*time.Minute + 5*time.Second: "7m5s",
	} {
		if got := fslease.Seconds(d); got != want {
			t.Errorf("Seconds(%d ns) = %s, want %s", d, got, want)
		}
	}
}
