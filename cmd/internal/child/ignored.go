package child

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// quitIgnored reports whether QUIT was ignored when this process began, so that it stays so for the
// command. Go's runtime respects that for HUP and INT only and has taken QUIT over before any of our code
// ran, so it is inferred: a shell without job control has its background commands ignore INT and QUIT. If
// it is the parent that ignores INT, by a trap, then what it does with QUIT holds.
func quitIgnored() bool {
	if !signal.Ignored(syscall.SIGINT) {
		return false
	}
	parent := signalSet(strconv.Itoa(os.Getppid()), "SigIgn")
	return !parent.has(syscall.SIGINT) || parent.has(syscall.SIGQUIT)
}

// A sigset is a set of signals, signal 1 in the lowest bit.
type sigset uint64

func (s sigset) has(sig syscall.Signal) bool { return s&(1<<(sig-1)) != 0 }

// signalSet returns a set of signals from the status of a process in /proc, empty if that is hidden.
func signalSet(pid, name string) sigset {
	_, after, _ := strings.Cut(string(readProc(pid, "status")), "\n"+name+":\t")
	hex, _, _ := strings.Cut(after, "\n")
	set, _ := strconv.ParseUint(hex, 16, 64)
	return sigset(set)
}

// readProc returns a file about a process in /proc, empty if that is hidden. It is read at every end of a command;
// package os would make a file of the poller's of it.
func readProc(pid, name string) []byte {
	fd, err := unix.Open("/proc/"+pid+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var all []byte
	buf := make([]byte, 4<<10)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR:
		case err != nil || n == 0:
			return all
		default:
			all = append(all, buf[:n]...)
		}
	}
}
