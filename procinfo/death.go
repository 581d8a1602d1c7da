//go:build linux

package procinfo

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Death is a wait for the end of one process. It sleeps in the kernel until then, and costs a
// descriptor (closed on exec) and a parked goroutine.
type Death struct {
	pidfd *os.File
	done  chan struct{}
}

// OpenDeath begins to wait for the end of exactly the process id, whose death is noticed when it has
// ended, reaped or not. If it is dead already, that is [ErrNoProcess]; if [Judge] could not tell, an error
// that says why. The caller closes the Death.
func OpenDeath(id Identity) (*Death, error) {
	fd, v := probe(id, false)
	switch v.State {
	case Dead:
		return nil, fmt.Errorf("%w: %s", ErrNoProcess, v.Reason)
	case Unknown:
		return nil, fmt.Errorf("cannot watch process %d: %s", id.PID, v.Reason)
	}
	if err := unix.SetNonblock(int(fd), true); err != nil { // what makes os.NewFile use the poller
		fd.close()
		return nil, fmt.Errorf("cannot watch process %d: %w", id.PID, err)
	}
	d := &Death{pidfd: os.NewFile(uintptr(fd), "pidfd"), done: make(chan struct{})}
	conn, err := d.pidfd.SyscallConn()
	if err == nil {
		err = d.pidfd.SetReadDeadline(time.Time{}) // fails where the poller cannot wait for it
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("cannot watch process %d: %w", id.PID, err)
	}
	go d.watch(conn)
	return d, nil
}

func (d *Death) watch(conn syscall.RawConn) {
	ended := false
	_ = conn.Read(func(fd uintptr) bool { // fails only when d is closed
		ended, _ = pidfd(fd).ended()
		return ended
	})
	if ended {
		close(d.done)
	}
}

// Done returns a channel that is closed when the process has ended. It stays open after Close.
func (d *Death) Done() <-chan struct{} { return d.done }

// Wait returns nil when the process has ended, else the error of ctx when that is done.
func (d *Death) Wait(ctx context.Context) error {
	select {
	case <-d.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the wait and frees its descriptor and goroutine.
func (d *Death) Close() { _ = d.pidfd.Close() }
