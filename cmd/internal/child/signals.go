package child

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Caught from Watch on, and while a command runs.
var (
	endSignals = []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2}
	jobSignals = []syscall.Signal{syscall.SIGTSTP, syscall.SIGCONT}
)

// ends reports whether sig asks a process to end.
func ends(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGKILL:
		return true
	}
	return false
}

// A Signal is one that this process received.
type Signal struct {
	Signal       syscall.Signal
	FromTerminal bool // by a key, or its hangup: the kernel sent it, to a whole group
	FromPID      int  // 0 if the kernel sent it
}

// A SignalError is the cause of the context's end when a signal came before a command was started.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string {
	return fmt.Sprintf("interrupted by signal %d (%s)", int(e.Signal), e.Signal)
}

// ExitCode is 128+n, as a shell has it.
func (e *SignalError) ExitCode() int { return 128 + int(e.Signal) }

// Signals are those that this process receives from Watch on. What arrives before a command runs ends the
// context; what arrives while one runs is passed on to it as Process says.
type Signals struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	pipe   *os.File // read end of where the handler writes

	mu      sync.Mutex
	process *Process
	err     error
}

var watch = sync.OnceValue(func() *Signals {
	s := &Signals{}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		// Without it signals have their default action: this process ends, its lease with it, and the
		// fence keeps successors from a command that goes on.
		return s
	}
	s.pipe = os.NewFile(uintptr(p[0]), "signals")
	openHandler(p[1])
	s.catch(endSignals...)
	go s.read()
	return s
})

// Watch catches HUP, INT, QUIT, TERM, USR1 and USR2 from now on, but for those that are ignored. It always
// returns the same value.
func Watch() *Signals { return watch() }

// Context ends when a signal arrives before a command was started. The cause is a *SignalError.
func (s *Signals) Context() context.Context { return s.ctx }

func (s *Signals) interrupted() error { return s.err }

// read passes on what arrives. It waits in the poller, and reads under the lock, so that whoever has the
// lock can look for himself by drain.
func (s *Signals) read() {
	conn, err := s.pipe.SyscallConn()
	if err != nil {
		return
	}
	for {
		err := conn.Read(func(fd uintptr) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.drainFrom(int(fd))
		})
		if err != nil {
			return
		}
	}
}

// drain handles what has arrived. The caller has the lock.
func (s *Signals) drain() {
	if s.pipe == nil {
		return
	}
	conn, err := s.pipe.SyscallConn()
	if err == nil {
		_ = conn.Control(func(fd uintptr) { s.drainFrom(int(fd)) })
	}
}

// drainFrom reads until the pipe is empty and reports whether there was anything. The handler writes a
// siginfo at once, so none is ever cut.
func (s *Signals) drainFrom(fd int) (any bool) {
	var info [infoSize]byte
	for {
		n, err := unix.Read(fd, info[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n != infoSize {
			return any
		}
		any = true
		s.received(decode(info))
	}
}

// decode reads what matters of a siginfo_t: signo, errno, code, and on 64-bit systems after a gap the pid.
func decode(info [infoSize]byte) Signal {
	const fromKernel = 0x80
	sig := Signal{Signal: syscall.Signal(binary.NativeEndian.Uint32(info[0:]))}
	if binary.NativeEndian.Uint32(info[8:]) == fromKernel {
		sig.FromTerminal = true
	} else {
		sig.FromPID = int(binary.NativeEndian.Uint32(info[16:]))
	}
	return sig
}

func (s *Signals) received(sig Signal) {
	switch {
	case s.process != nil:
		s.process.received(sig)
	case s.err == nil && sig.Signal != syscall.SIGCONT && sig.Signal != syscall.SIGTSTP:
		s.err = &SignalError{sig.Signal}
		s.cancel(s.err)
	}
}
