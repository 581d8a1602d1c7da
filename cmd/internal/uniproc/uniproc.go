// Package uniproc makes a short-lived program start faster. It imports nothing but the runtime, so that it is initialised
// before nearly everything else: later, the same would cost more than it saves.
package uniproc

import "runtime"

func init() {
	// What goes on at the same time in lease are waits. Each further processor costs a start some threads, stacks and pages.
	runtime.GOMAXPROCS(1)
	grow(0)
}

// grow makes the main goroutine's stack as large as it will have to be, while there is little on it. In steps of two, and
// from deep inside, the runtime copies it four times.
//
//go:noinline
func grow(i int) byte {
	var frame [25 << 10]byte
	return frame[i]
}
