//go:build linux

package procinfo

import "golang.org/x/sys/unix"

// MonotonicNow reads CLOCK_MONOTONIC in nanoseconds. The clock does not count while the machine is
// suspended, and is the same for all processes of one boot and time namespace.
func MonotonicNow() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // the clock always exists
	return now.Nano()
}
