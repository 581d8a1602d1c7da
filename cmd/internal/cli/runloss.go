package cli

import (
	"errors"
	"syscall"
	"time"

	"fslease/cmd/internal/child"
	"fslease/fslease"
)

// attend waits for the end of the command. If the lease is lost before, the command is told by TERM, and
// killed if that does not help in time.
func (c *call) attend(l *opened, r runOptions, lease *fslease.Lease, process *child.Process) child.Status {
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-ended:
		case <-lease.Lost():
			c.endLost(l, r, lease, process, ended)
		}
	}()
	status := process.Wait()
	close(ended)
	if lease.Err() != nil {
		<-over // what it says comes before anything else is said
	}
	return status
}

// endLost tells of the loss of the lease, and ends the command unless that is to go on.
func (c *call) endLost(l *opened, r runOptions, lease *fslease.Lease, process *child.Process, ended <-chan struct{}) {
	lost := lease.Err()
	c.fail(lost)
	if r.ignore {
		return
	}
	_ = process.Signal(syscall.SIGTERM) // it may have ended meanwhile
	kill := time.NewTimer(killIn(lost, r.killAfter, lease.Expires()-time.Duration(l.Clock().Now().Mono), lease.TTL()))
	defer kill.Stop()
	select {
	case <-ended:
	case <-kill.C:
		_ = process.Signal(syscall.SIGKILL)
	}
}

// killIn returns how long a command that was told of the loss has left. Where the lease could not be
// renewed, nobody else may enter before the TTL has run out, left from now; so the command is gone shortly
// before. Where it was taken over, the fence keeps the successor out for as long as it takes.
func killIn(lost error, killAfter, left, ttl time.Duration) time.Duration {
	var e *fslease.LostError
	if errors.As(lost, &e) && e.Reason == fslease.ReasonCannotRenew {
		return max(0, min(killAfter, left-min(ttl/16, time.Second)))
	}
	return killAfter
}

// briefly lets end give back what may be left of a lost lease. The ledger may hang, which may be why the
// lease was lost, and nobody is kept waiting for that: what is not given back is dead with this process.
func briefly(end func() error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = end() // the loss was told
	}()
	select {
	case <-ended:
	case <-time.After(3 * time.Second):
	}
}
