package cli

import (
	"testing"
	"time"

	"fslease/fslease"
)

// A command whose lease could not be renewed is gone before anybody else may enter; one whose lease was
// taken over has all its time, since the fence keeps the successor out.
func TestKillIn(t *testing.T) {
	cannot := &fslease.LostError{Reason: fslease.ReasonCannotRenew}
	taken := &fslease.LostError{Reason: "taken over by generation 2"}
	for _, c := range []struct {
		lost                 error
		killAfter, left, ttl time.Duration
		want                 time.Duration
	}{
		{cannot, 10 * time.Second, 15 * time.Second, time.Minute, 10 * time.Second},
		{cannot, time.Hour, 15 * time.Second, time.Minute, 14 * time.Second},
		{cannot, 10 * time.Second, 500 * time.Millisecond, 2 * time.Second, 375 * time.Millisecond},
		{cannot, 10 * time.Second, -time.Second, time.Minute, 0},
		{cannot, 0, 15 * time.Second, time.Minute, 0},
		{taken, time.Hour, 15 * time.Second, time.Minute, time.Hour},
		{taken, 0, -time.Second, time.Minute, 0},
	} {
		if got := killIn(c.lost, c.killAfter, c.left, c.ttl); got != c.want {
			t.Errorf("%v, kill after %v, %v of %v left: killed in %v, want %v", c.lost, c.killAfter, c.left, c.ttl, got, c.want)
		}
	}
}
