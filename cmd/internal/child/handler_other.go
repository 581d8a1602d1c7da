//go:build !amd64 && !arm64

package child

import (
	"encoding/binary"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// On other architectures package os/signal catches the signals, and who sent one is guessed: INT, QUIT and
// TSTP come from the terminal while this process is in its foreground group. A kill -INT of the wrapper
// alone is then not passed on.

const infoSize = 32

var (
	handlerPipe int
	caught      = make(chan os.Signal, 16)
)

func openHandler(fd int) {
	handlerPipe = fd
	go func() {
		for sig := range caught {
			var info [infoSize]byte
			binary.NativeEndian.PutUint32(info[0:], uint32(sig.(syscall.Signal)))
			if fromKeyboard(sig.(syscall.Signal)) {
				binary.NativeEndian.PutUint32(info[8:], 0x80)
			}
			_, _ = unix.Write(handlerPipe, info[:])
		}
	}()
}

func fromKeyboard(sig syscall.Signal) bool {
	if sig != syscall.SIGINT && sig != syscall.SIGQUIT && sig != syscall.SIGTSTP {
		return false
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

func (s *Signals) catch(signals ...syscall.Signal) {
	for _, sig := range signals {
		if !signal.Ignored(sig) {
			signal.Notify(caught, sig)
		}
	}
}

func uncatch(signals ...syscall.Signal) {
	for _, sig := range signals {
		if !signal.Ignored(sig) {
			signal.Reset(sig)
		}
	}
}
