package child

import (
	"bytes"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// follow stops this process after its command was stopped by the terminal (^Z, or reading it from the
// background), so that the shell sees the job stopped and fg continues both. A command that somebody
// stopped by kill -STOP is left alone: this process goes on holding the lease for it.
func (p *Process) follow(sig syscall.Signal) {
	switch sig {
	case syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
	default:
		return
	}
	// The kernel does not stop a group that no shell is there to continue; neither does the default
	// action that is used here. The signal goes to this very thread, so that it has been acted on when
	// the call returns.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	uncatch(sig)
	_ = unix.Tgkill(os.Getpid(), unix.Gettid(), sig)
	p.signals.catch(jobSignals...)
	if stopped(p.pid) {
		_ = p.send(syscall.SIGCONT) // only this process was continued
	}
}

// stopped reports whether a process is stopped by a signal.
func stopped(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	i := bytes.LastIndexByte(data, ')')
	return err == nil && i >= 0 && len(data) > i+2 && data[i+2] == 'T'
}
