package child

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// follow stops this process after its command was stopped, so that a shell sees the job stopped and takes
// the terminal back. This process does not stop before its command: that may ignore ^Z, or have the
// terminal to tidy up first. fg continues this process, and follow then sees to it that the command has
// the terminal and goes on too.
//
// A command that somebody stops by kill -STOP is left alone, and this process goes on beside it, unless the
// job has the terminal: nobody could get that back.
func (p *Process) follow(sig syscall.Signal) {
	tty, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err == nil {
		defer unix.Close(tty)
	}
	mine, its, front := syscall.Getpgrp(), p.group(), foreground(tty)
	if sig == syscall.SIGSTOP {
		if front != mine && front != its {
			return
		}
		sig = syscall.SIGTSTP
	}
	if orphaned() || !stopped(p.pid) {
		return
	}

	// The signal goes to this very thread, so that it has been acted on when the call returns.
	uncatch(syscall.SIGTSTP)
	runtime.LockOSThread()
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
	runtime.UnlockOSThread()

	// A ^Z that comes before catch stops this process again, and one that comes later is passed on.
	p.signals.settle()
	still := stopped(p.pid)
	if front == its && foreground(tty) == mine {
		// The shell knows nothing of a group that the command made for itself.
		_ = unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, its)
	}
	catch(syscall.SIGTSTP)
	if still {
		_ = p.send(syscall.SIGCONT)
	}
}

// foreground returns the foreground process group of a terminal, 0 if it cannot be had.
func foreground(tty int) int {
	group, err := unix.IoctlGetUint32(tty, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return int(group)
}

// orphaned reports whether this process's group has no shell that could continue it: a parent in another
// group of the session. The terminal does not stop such a group.
func orphaned() bool {
	parent := os.Getppid()
	for {
		group, err := syscall.Getpgid(parent)
		if err != nil {
			return true // of another pid namespace
		}
		if group != syscall.Getpgrp() {
			break
		}
		if parent, err = strconv.Atoi(stat(parent)[1]); err != nil {
			return true
		}
	}
	mine, _ := unix.Getsid(0)
	its, err := unix.Getsid(parent)
	return err != nil || its != mine
}

// stopped reports whether a process is stopped by a signal, or hidden, as a command of another user may be.
func stopped(pid int) bool {
	state := stat(pid)[0]
	return state == "T" || state == ""
}

// stat returns the fields of a process in /proc from the state on: state, parent, group, ... They are empty
// if the process is hidden.
func stat(pid int) []string {
	data := readProc(strconv.Itoa(pid), "stat")
	return append(strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:])), "", "")
}
