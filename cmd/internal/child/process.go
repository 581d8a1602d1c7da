package child

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Process is a started command. Wait must be called, once.
type Process struct {
	pid     int
	signals *Signals

	// Under signals.mu.
	done      bool // reaped: the pid may be somebody else's
	disturbed bool
}

// PID returns the process id. It stays the command's until Wait returns.
func (p *Process) PID() int { return p.pid }

// Signal sends sig to the command. After the command was reaped it returns os.ErrProcessDone: no process
// that was given the same pid later is ever hit.
func (p *Process) Signal(sig syscall.Signal) error {
	p.signals.mu.Lock()
	defer p.signals.mu.Unlock()
	if p.done {
		return os.ErrProcessDone
	}
	return p.send(sig)
}

// send signals the command, which is not reaped while the lock is held.
func (p *Process) send(sig syscall.Signal) error {
	p.disturbed = p.disturbed || ends(sig)
	return syscall.Kill(p.pid, sig)
}

// Disturbed reports whether a signal that asks to end (HUP, INT, QUIT, TERM, KILL) was received by this
// process since the start, passed on or not, or sent with Signal. Once Wait has returned, false and an
// exit without signal mean that the command ended by itself.
func (p *Process) Disturbed() bool {
	p.signals.mu.Lock()
	defer p.signals.mu.Unlock()
	return p.disturbed
}

// received handles a signal that this process got while the command runs.
func (p *Process) received(sig received) {
	p.disturbed = p.disturbed || ends(sig.signal)
	if !sig.fromTerminal || !p.reachedByTerminal(sig.signal) {
		_ = p.send(sig.signal) // fails only where the sender could not have signalled the command either
	}
}

// reachedByTerminal reports whether a signal that the terminal sent to this process reached the command
// as well. ^C, ^\ and ^Z go to the whole foreground group. A hangup goes to the session leader alone.
func (p *Process) reachedByTerminal(sig syscall.Signal) bool {
	if sid, err := unix.Getsid(0); sig == syscall.SIGHUP && err == nil && sid == os.Getpid() {
		return false
	}
	return p.group() == syscall.Getpgrp()
}

// group returns the process group that the command is in now.
func (p *Process) group() int {
	group, err := syscall.Getpgid(p.pid)
	if err != nil {
		return 0
	}
	return group
}

// A Status says how a command ended.
type Status struct {
	Code   int            // the exit code; 128+n when signal n ended it
	Signal syscall.Signal // 0 when it exited
}

// Wait waits for the end of the command and nothing else: a descendant may live on and keep stdout open.
// While the command is stopped by the terminal, so is this process.
func (p *Process) Wait() Status {
	for {
		// WNOWAIT: what is seen here is collected under the lock, so that no signal can hit a pid that
		// was given to another process. It fails with EINTR only: the command is our unreaped child.
		_ = unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
		if status, ended := p.collect(); ended {
			return status
		}
	}
}

// collect takes the news of a stop or of the end, if there is any.
func (p *Process) collect() (status Status, ended bool) {
	s := p.signals
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	var news syscall.WaitStatus
	pid, err := syscall.Wait4(p.pid, &news, syscall.WNOHANG|syscall.WUNTRACED, nil)
	switch {
	case err != nil || pid != p.pid: // it was stopped, and is continued
		return Status{}, false
	case news.Stopped():
		p.follow(news.StopSignal())
		return Status{}, false
	}
	p.done = true
	s.process = nil
	uncatch(syscall.SIGTSTP)
	if news.Signaled() {
		return Status{Code: 128 + int(news.Signal()), Signal: news.Signal()}, true
	}
	return Status{Code: news.ExitStatus()}, true
}
