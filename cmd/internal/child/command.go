package child

import (
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

// Start starts c in this process's group and session, with descriptors 0, 1, 2, those this process was
// given, and c.Inherit. From then on signals are passed on to it. An error is a *StartError, or a
// *SignalError when a signal came before: then nothing was started. Nothing else may be started
// meanwhile, or it would inherit c.Inherit too.
func Start(c Command) (*Process, error) {
	var p *Process
	err := c.launch(func(path string, s *Signals) error {
		catch(syscall.SIGTSTP)
		pid, err := syscall.ForkExec(path, c.Argv, &syscall.ProcAttr{Env: c.Env, Files: []uintptr{0, 1, 2}})
		if err != nil {
			uncatch(syscall.SIGTSTP)
			return err
		}

		// A ^C from here on has reached the command too. One that came after the last look at the signals but
		// before the fork has not, and cannot be told apart: it has to be pressed again.
		p = &Process{pid: pid, signals: s}
		s.process, s.started = p, true
		return nil
	})
	return p, err
}

// Exec replaces this process by c, with the same descriptors as Start. It returns only an error, of the
// same kinds. Caught signals get their default action back, ignored ones stay ignored, and the limit on
// open files is as it was before Go's runtime raised it.
func Exec(c Command) error {
	return c.launch(func(path string, _ *Signals) error {
		return syscall.Exec(path, c.Argv, c.Env)
	})
}

// launch calls start with the file of the command, unless a signal has come. No signal is handled
// meanwhile, and the descriptors are inherited by what is started meanwhile only.
func (c Command) launch(start func(path string, s *Signals) error) error {
	path, err := lookPath(c.Argv[0])
	if err != nil {
		return err
	}
	s := Watch()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	if s.err != nil {
		return s.err
	}
	setCloseOnExec(c.Inherit, 0)
	defer setCloseOnExec(c.Inherit, unix.FD_CLOEXEC)
	if err := start(path, s); err != nil {
		return startError(c.Argv[0], path, err)
	}
	return nil
}

func setCloseOnExec(fds []int, flag int) {
	for _, fd := range fds {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, flag)
	}
}
