package kit

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
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
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))         // of the process that is open
	for tries := 0; err == nil && len(env) == 0 && tries < 100; tries++ { // a zombie, or just being replaced by exec
		time.Sleep(100 * time.Microsecond)
		env, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	}
	if err != nil || !bytes.Contains(env, []byte(l.mark+"\x00")) {
		return false
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0) == nil
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
