package kit

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Signal sends a signal to one of the ledger's processes, and reports whether it still ran. A process that was given the same
// pid later is never hit.
func (l *Ledger) Signal(pid int, sig syscall.Signal) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return bytes.Contains(Environ(pid), []byte(l.mark+"\x00")) && // of the process that is open
		unix.PidfdSendSignal(fd, sig, nil, 0) == nil
}

// Environ returns the environment of a process, nothing if there is none. While a process is replaced by exec it seems to
// have none.
func Environ(pid int) []byte {
	for tries := 0; ; tries++ {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || len(env) > 0 || tries == 100 || !runs(pid) {
			return env
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// runs reports whether a process is one of a program, and no zombie.
func runs(pid int) bool {
	const kernelThread = 0x00200000 // PF_KTHREAD
	fields := Stat(pid)
	if len(fields) < 7 || fields[0] == "Z" || fields[0] == "X" {
		return false
	}
	flags, err := strconv.ParseUint(fields[6], 10, 64)
	return err == nil && flags&kernelThread == 0
}

// Stat returns the fields of /proc/PID/stat from the state on, none if the process is gone.
func Stat(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

// Unignore lets whatever is started from now on have the default action of the signals that end a process, also where this
// process was started with some of them ignored, by nohup or by a shell's &. This process goes on ignoring them.
func Unignore() {
	for _, sig := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}
