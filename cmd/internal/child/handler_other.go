//go:build !amd64 && !arm64

package child

import (
	"encoding/binary"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// On other architectures package os/signal catches the signals, and who sent one is guessed: INT and QUIT
// come from the terminal while this process is in its foreground group. A kill -INT of the wrapper alone
// is then not passed on. TSTP is not caught, for os/signal could not give it its default action back: ^Z
// stops this process at once.

var caught = make(chan os.Signal, 16)

func openHandler(fd int) {
	go func() {
		for sig := range caught {
			var record [recordSize]byte
			binary.NativeEndian.PutUint32(record[0:], uint32(sig.(syscall.Signal)))
			if fromKeyboard(sig) {
				binary.NativeEndian.PutUint32(record[8:], siKernel)
			}
			_, _ = unix.Write(fd, record[:])
		}
	}()
}

func fromKeyboard(sig os.Signal) bool {
	if sig != syscall.SIGINT && sig != syscall.SIGQUIT {
		return false
	}
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(tty)
	return foreground(tty) == syscall.Getpgrp()
}

// flipMask blocks the signals of set on this thread and unblocks them again.
func flipMask(set, old *unix.Sigset_t) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = unix.PthreadSigmask(unix.SIG_BLOCK, set, old)
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, old, nil)
}

// endByQuit leaves QUIT to Go's runtime, which prints a stack: package os/signal can catch only what has not been taken
// from the runtime.
func endByQuit() {}

func catch(signals ...syscall.Signal) {
	for _, sig := range signals {
		if sig != syscall.SIGTSTP && !signal.Ignored(sig) {
			signal.Notify(caught, sig)
		}
	}
}

func uncatch(signals ...syscall.Signal) {
	for _, sig := range signals {
		if sig != syscall.SIGTSTP {
			signal.Reset(sig)
		}
	}
}
