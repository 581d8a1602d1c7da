//go:build amd64 || arm64

package child

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Package os/signal does not tell who sent a signal, and that decides here: ^C reaches the command by
// itself, kill -INT does not. So these signals get a handler of ours, which writes the head
// of the kernel's siginfo into a pipe and does nothing else: no Go code runs in it, so it may interrupt the
// runtime anywhere, on any thread. Between fork and exec the runtime gives the end signals their default
// action in the child, as it does with its own handlers.

// handlerPipe is the descriptor that the handler writes to.
//
//lint:ignore U1000 it is read in assembly
var handlerPipe uintptr

// In handler_*.s: the addresses of the handler and of the code that it returns to.
func handlerAddresses() (handler, restorer uintptr)

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

// flipMask blocks the signals of set on this thread and unblocks them again; old is for its own use. In
// handler_*.s, because no Go code may run in between, which the runtime might move to another thread.
//
//go:noescape
func flipMask(set, old *unix.Sigset_t)

func openHandler(fd int) { handlerPipe = uintptr(fd) }

// catch gives signals our handler.
func catch(signals ...syscall.Signal) {
	handler, restorer := handlerAddresses()
	setAction(sigaction{handler: handler, flags: saSigInfo | saRestorer | saOnStack | saRestart, restorer: restorer, mask: ^uint64(0)}, signals)
}

// uncatch gives signals their default action.
func uncatch(signals ...syscall.Signal) { setAction(sigaction{handler: sigDefault}, signals) }

// endByQuit gives QUIT its default action, also if package sigquit took it for ignored.
func endByQuit() { rtSigaction(syscall.SIGQUIT, &sigaction{handler: sigDefault}, nil) }

// setAction leaves ignored signals ignored, for this process and the command: that is how nohup works.
func setAction(act sigaction, signals []syscall.Signal) {
	for _, sig := range signals {
		var old sigaction
		rtSigaction(sig, nil, &old)
		if old.handler != sigIgnore {
			rtSigaction(sig, &act, nil)
		}
	}
}

// rtSigaction cannot fail with the signals of this package.
func rtSigaction(sig syscall.Signal, act, old *sigaction) {
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(act)), uintptr(unsafe.Pointer(old)), unsafe.Sizeof(act.mask), 0, 0)
}
