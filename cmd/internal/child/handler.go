//go:build amd64 || arm64

package child

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Package os/signal does not tell who sent a signal, and that decides here: ^C reaches the command by
// itself, kill -INT does not. So these signals get a handler of ours, which writes the head of the
// kernel's siginfo into a pipe and does nothing else: no Go code runs in it, so it may interrupt the
// runtime anywhere, on any thread.

// infoSize is how much of a siginfo the handler writes.
const infoSize = 32

// handlerPipe is the descriptor that the handler writes to.
var handlerPipe uintptr

// In handler_*.s.
func handlerAddress() uintptr
func restorerAddress() uintptr

// sigaction is the kernel's struct for rt_sigaction, the same on both architectures.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	sigDefault = 0
	sigIgnore  = 1

	saSigInfo  = 0x4
	saRestorer = 0x04000000
	saOnStack  = 0x08000000
	saRestart  = 0x10000000
)

func openHandler(fd int) { handlerPipe = uintptr(fd) }

func rtSigaction(sig syscall.Signal, act, old *sigaction) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(act)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
}

// catch puts our handler in the place of the runtime's. A signal that is ignored stays so, for this
// process and the command: that is how nohup works. (Of those that were ignored when this process began
// the runtime respects HUP and INT only; the others it has taken over before any of our code ran.)
func (s *Signals) catch(signals ...syscall.Signal) {
	act := sigaction{handler: handlerAddress(), flags: saSigInfo | saRestorer | saOnStack | saRestart, restorer: restorerAddress(), mask: ^uint64(0)}
	for _, sig := range signals {
		var old sigaction
		rtSigaction(sig, nil, &old)
		if old.handler != sigIgnore {
			rtSigaction(sig, &act, nil)
		}
	}
}

// uncatch gives signals their default action, unless they are ignored.
func uncatch(signals ...syscall.Signal) {
	for _, sig := range signals {
		var old sigaction
		rtSigaction(sig, nil, &old)
		if old.handler != sigIgnore {
			rtSigaction(sig, &sigaction{handler: sigDefault}, nil)
		}
	}
}
