package child

import (
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Command says what to start.
type Command struct {
	Argv []string // the command and its arguments, at least one; passed byte for byte
	Env  []string // the whole environment

	// Inherit lists close-on-exec descriptors of this process that the command gets under the same
	// numbers, besides 0, 1, 2 and whatever this process was itself given by its caller.
	Inherit []int
}

// A Process is a started command. Wait must be called, once.
type Process struct {
	pid     int
	pidfd   int
	signals *Signals

	// Under signals.mu.
	young     bool // was started between two looks at the pipe: see Start
	done      bool // reaped: the pid may be somebody else's
	disturbed bool
}

// Start starts c in this process's group and session, with descriptors 0, 1, 2, those this process was
// given, and c.Inherit. From then on signals are passed on to it. An error is a *StartError, or a
// *SignalError when a signal came before: then nothing was started. Nothing else may be started
// meanwhile, or it would inherit c.Inherit too.
func Start(c Command) (*Process, error) {
	path, err := LookPath(c.Argv[0])
	if err != nil {
		return nil, err
	}
	s := Watch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.interrupted(); err != nil {
		return nil, err
	}
	p := &Process{pidfd: -1, signals: s}
	setCloseOnExec(c.Inherit, false)
	p.pid, err = syscall.ForkExec(path, c.Argv, &syscall.ProcAttr{
		Env:   c.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{PidFD: &p.pidfd},
	})
	setCloseOnExec(c.Inherit, true)
	if err != nil {
		return nil, startError(c.Argv[0], err)
	}

	// Whether a ^C between the last look and now reached the command too cannot be known. It is passed
	// on: a program that has hardly begun ends at the first one anyway, and a lost ^C is worse.
	s.process = p
	p.young = true
	s.drain()
	p.young = false

	// A write to a closed stderr would end the wrapper before the command. Notify, not Ignore, since the
	// next command would inherit the latter.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	s.catch(jobSignals...)
	return p, nil
}

// Exec replaces this process by c, with the same descriptors as Start. It returns only an error, of the
// same kinds. Caught signals get their default action back, ignored ones stay ignored, and the limit on
// open files is as it was before Go's runtime raised it.
func Exec(c Command) error {
	path, err := LookPath(c.Argv[0])
	if err != nil {
		return err
	}
	s := Watch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.interrupted(); err != nil {
		return err
	}
	setCloseOnExec(c.Inherit, false)
	err = syscall.Exec(path, c.Argv, c.Env)
	setCloseOnExec(c.Inherit, true)
	return startError(c.Argv[0], err)
}

func setCloseOnExec(fds []int, on bool) {
	flag := 0
	if on {
		flag = unix.FD_CLOEXEC
	}
	for _, fd := range fds {
		unix.FcntlInt(uintptr(fd), unix.F_SETFD, flag)
	}
}

// PID returns the process id. It stays the command's until Wait returns.
func (p *Process) PID() int { return p.pid }

// Pidfd returns a pidfd of the command, close-on-exec and valid until Wait returns; -1 where the kernel
// has none.
func (p *Process) Pidfd() int { return p.pidfd }

// Signal sends sig to the command. After the command was reaped it returns os.ErrProcessDone: no process
// that was given the same pid later is ever hit.
func (p *Process) Signal(sig syscall.Signal) error {
	p.signals.mu.Lock()
	defer p.signals.mu.Unlock()
	return p.send(sig)
}

func (p *Process) send(sig syscall.Signal) error {
	if p.done {
		return os.ErrProcessDone
	}
	p.disturbed = p.disturbed || ends(sig)
	err := syscall.Kill(p.pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
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
func (p *Process) received(sig Signal) {
	p.disturbed = p.disturbed || ends(sig.Signal)
	switch {
	case sig.Signal == syscall.SIGCONT:
		if stopped(p.pid) {
			p.send(sig.Signal)
		}
	case sig.FromTerminal && !p.young && p.reachedByTerminal(sig.Signal):
		// It has its own.
	default:
		p.send(sig.Signal)
	}
}

// reachedByTerminal reports whether a signal that the terminal sent to this process reached the command
// as well. ^C, ^\ and ^Z go to the whole foreground group. A hangup goes to the session leader alone.
func (p *Process) reachedByTerminal(sig syscall.Signal) bool {
	if sid, err := unix.Getsid(0); sig == syscall.SIGHUP && err == nil && sid == os.Getpid() {
		return false
	}
	group, err := syscall.Getpgid(p.pid)
	return err == nil && group == syscall.Getpgrp()
}

// A Status says how a command ended.
type Status struct {
	Code   int            // the exit code; 128+n when signal n ended it
	Signal syscall.Signal // 0 when it exited
}

// Wait waits for the end of the command and nothing else: a descendant may live on and keep stdout open.
// While the command is stopped, see follow.
func (p *Process) Wait() Status {
	for {
		// WNOWAIT: what is seen here is collected under the lock, so that no signal can hit a pid that
		// was given to another process.
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT, nil)
		if err != nil {
			continue // EINTR: the command is our unreaped child
		}
		if status, ended := p.collect(); ended {
			return status
		}
	}
}

// collect takes the news of a stop or the end.
func (p *Process) collect() (status Status, ended bool) {
	s := p.signals
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drain()
	var news syscall.WaitStatus
	pid, _ := syscall.Wait4(p.pid, &news, syscall.WNOHANG|syscall.WUNTRACED, nil)
	switch {
	case pid != p.pid: // stopped, and continued meanwhile
		return Status{}, false
	case news.Stopped():
		p.follow(news.StopSignal())
		return Status{}, false
	}
	p.done = true
	s.process = nil
	uncatch(jobSignals...)
	if p.pidfd >= 0 {
		syscall.Close(p.pidfd)
	}
	if news.Signaled() {
		return Status{Code: 128 + int(news.Signal()), Signal: news.Signal()}, true
	}
	return Status{Code: news.ExitStatus()}, true
}
