package child

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	_ "fslease/cmd/internal/child/sigquit"
	"fslease/procinfo"
)

// QUIT does to this process what it does to any, also before Watch and where that is never called. Package os/signal is
// told of an ignored one, or the command would get it back.
func init() {
	if quitIgnored() {
		signal.Ignore(syscall.SIGQUIT)
	} else {
		endByQuit()
	}
}

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

// readProc returns a file about a process in /proc, empty if that is hidden.
func readProc(pid, name string) []byte {
	text, _ := procinfo.About(pid, name)
	return text
}
