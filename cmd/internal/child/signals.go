package child

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// endSignals are caught from Watch on. While a command runs, SIGTSTP is too.
var endSignals = []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2}

// ends reports whether sig asks a process to end.
func ends(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGKILL:
		return true
	}
	return false
}

// A SignalError is the cause of the context's end when a signal came before a command was started.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string {
	return fmt.Sprintf("interrupted by signal %d (%s)", int(e.Signal), e.Signal)
}

// ExitCode is 128+n, as a shell has it.
func (e *SignalError) ExitCode() int { return 128 + int(e.Signal) }

// Signals are those that this process receives from Watch on. What arrives before a command was started
// ends the context; what arrives while one runs is passed on to it as Process says; what arrives later is
// too late to change anything.
type Signals struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	pipe   *os.File // where the handler's records are read
	fd     int      // its descriptor

	mu      sync.Mutex
	process *Process // the command that runs
	started bool     // a command was started; it may have ended
	err     error    // the *SignalError, or why signals cannot be caught
}

var watch = sync.OnceValue(func() *Signals {
	s := &Signals{fd: -1}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		s.err = fmt.Errorf("cannot catch signals: %w", os.NewSyscallError("pipe2", err))
		return s
	}
	s.fd, s.pipe = p[0], os.NewFile(uintptr(p[0]), "signals")
	openHandler(p[1])
	catch(endSignals...)
	go s.read()
	return s
})

// Watch catches HUP, INT, QUIT, TERM, USR1 and USR2 from now on, but for those that are ignored. It always
// returns the same value. Package os/signal gets to know nothing of these signals any more.
func Watch() *Signals { return watch() }

// Context ends when a signal arrives before a command was started. The cause is a *SignalError.
func (s *Signals) Context() context.Context { return s.ctx }

// read handles what arrives. It waits in the poller and reads under the lock, so that nothing is read but
// not yet handled while somebody else has the lock.
func (s *Signals) read() {
	conn, err := s.pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Read(func(uintptr) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.drain()
		return false // wait for more
	})
}

// settle handles every signal that was sent to this process until now. The caller has the lock.
func (s *Signals) settle() {
	// A signal waits until the thread that the kernel chose for it wakes up, and the command may have acted
	// on the same signal by then. A thread that unblocks signals takes those that wait itself.
	var set, old unix.Sigset_t
	for _, sig := range append(endSignals, syscall.SIGTSTP) {
		set.Val[0] |= 1 << (sig - 1)
	}
	flipMask(&set, &old)

	// The chosen thread may be between waking up and writing to the pipe. The kernel's first choice is the
	// main thread, whose status is the process's, and a handler runs with every signal blocked.
	for signalSet("self", "SigBlk").has(syscall.SIGTERM) {
		time.Sleep(50 * time.Microsecond)
	}
	s.drain()
}

// drain handles what is in the pipe. The caller has the lock.
func (s *Signals) drain() {
	for {
		var record [recordSize]byte // written at once, so never cut
		n, err := unix.Read(s.fd, record[:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n != recordSize {
			return
		}
		s.received(decode(record))
	}
}

func (s *Signals) received(sig received) {
	switch {
	case s.process != nil:
		s.process.received(sig)
	case s.err == nil && !s.started:
		s.err = &SignalError{sig.signal}
		s.cancel(s.err)
	}
}

// A received signal. That the terminal sent it, by a key or because it hung up, is known by the kernel
// being the sender; a process would be named.
type received struct {
	signal       syscall.Signal
	fromTerminal bool
}

const (
	recordSize = 12 // the head of a siginfo_t: signo, errno and code
	siKernel   = 0x80
)

func decode(record [recordSize]byte) received {
	return received{
		signal:       syscall.Signal(binary.NativeEndian.Uint32(record[0:])),
		fromTerminal: binary.NativeEndian.Uint32(record[8:]) == siKernel,
	}
}
