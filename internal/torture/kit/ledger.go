package kit

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// HangGuard is how long a command may take that has nothing to wait for before it is said to hang.
const HangGuard = 60 * time.Second

// A Ledger is a fresh one, and the way in which commands are run on it. In, Env and Binary return a copy that differs in one thing.
type Ledger struct {
	t      *T
	Dir    string // not made yet
	Work   string // an empty directory, where every command starts
	mark   string
	binary string
	prefix []string
	env    []string
}

var ledgers atomic.Int64

const markVariable = "LEASE_TORTURE_MARK="

// Ledger makes the place for a ledger. Close it.
func (t *T) Ledger() *Ledger { return t.LedgerIn(t.Dir) }

// LedgerIn makes the place for a ledger below a directory, such as a mounted file system.
func (t *T) LedgerIn(dir string) *Ledger {
	root := filepath.Join(dir, fmt.Sprintf("l%d", ledgers.Add(1)))
	l := &Ledger{t: t, Dir: filepath.Join(root, "ledger"), Work: filepath.Join(root, "work"), mark: markVariable + t.Dir + "/" + filepath.Base(root), binary: t.Binary}
	for _, d := range []string{root, l.Work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			panic(err)
		}
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "LEASE_") && !strings.HasPrefix(name, "GIT_") &&
			name != "PATH" && name != "HOME" && name != "XDG_STATE_HOME" && name != "GOMAXPROCS" {
			l.env = append(l.env, v)
		}
	}
	l.env = append(l.env, "PATH="+filepath.Dir(t.Binary)+":"+os.Getenv("PATH"), "HOME="+root, "LC_ALL=C", "LEASE_LEDGER="+l.Dir, l.mark)
	return l
}

// In starts commands through another program, such as strace.
func (l *Ledger) In(prefix ...string) *Ledger {
	c := *l
	c.prefix = append(append([]string{}, l.prefix...), prefix...)
	return &c
}

// Env adds NAME=VALUE variables to the environment of commands.
func (l *Ledger) Env(variables ...string) *Ledger {
	c := *l
	c.env = append(append([]string{}, l.env...), variables...)
	return &c
}

// With takes another build of the command.
func (l *Ledger) With(binary string) *Ledger {
	c := *l
	c.binary = binary
	return &c
}

// Environ is the environment in which commands run, for those who start them by themselves.
func (l *Ledger) Environ() []string { return append([]string{}, l.env...) }

// Close kills what was started on the ledger, and removes the ledger.
func (l *Ledger) Close() {
	l.Kill()
	os.RemoveAll(filepath.Dir(l.Dir))
}

// Kill kills every process that was started on the ledger, with its descendants. All are stopped first: who sees another
// one's death would act on it, and a shell would note that its command was killed.
func (l *Ledger) Kill() {
	how, before := syscall.SIGSTOP, []int(nil)
	for deadline := time.Now().Add(HangGuard); ; time.Sleep(time.Millisecond) {
		pids := l.Pids()
		if slices.Equal(pids, before) {
			how = syscall.SIGKILL // there is no new one: none goes on
		}
		before = pids
		for _, pid := range pids {
			syscall.Kill(pid, how)
		}
		if len(pids) == 0 {
			break
		}
		if time.Now().After(deadline) {
			l.t.Violate("processes %v cannot be killed", pids)
			break
		}
	}
}

// Pids are the processes that were started on the ledger and their descendants, without zombies.
func (l *Ledger) Pids() []int {
	var pids []int
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range all {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err == nil && pid != os.Getpid() && bytes.Contains(Environ(pid), []byte(l.mark+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A Process is a started command.
type Process struct {
	*exec.Cmd
	Args   []string
	Out    Buffer // both may be read while it runs
	Err    Buffer
	ended  chan struct{}
	result Result
}

// Buffer collects what a process writes.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// A Result is how a command ended.
type Result struct {
	Args   []string
	Code   int            // -1 if a signal ended it
	Signal syscall.Signal // that ended it, or 0
	Hung   bool           // it was killed because it took longer than the hang guard
	Stdout string
	Stderr string
}

func (r Result) String() string {
	s := fmt.Sprintf("lease %s: exit %d", strings.Join(r.Args, " "), r.Code)
	if r.Signal != 0 {
		s += ", " + r.Signal.String()
	}
	if r.Hung {
		s += ", hung"
	}
	return s + "\nstdout: " + r.Stdout + "\nstderr: " + r.Stderr
}

// Start starts the command under test.
func (l *Ledger) Start(args ...string) *Process { return l.start(append([]string{l.binary}, args...)) }

// StartSh starts a shell script, in which lease is the command under test. What follows are its arguments.
func (l *Ledger) StartSh(script string, args ...string) *Process {
	return l.start(append([]string{"sh", "-c", script, "sh"}, args...))
}

func (l *Ledger) start(argv []string) *Process {
	argv = append(append([]string{}, l.prefix...), argv...)
	p := &Process{Cmd: exec.Command(argv[0], argv[1:]...), Args: argv[1:], ended: make(chan struct{})}
	p.Dir, p.Env, p.Stdout, p.Stderr = l.Work, l.env, &p.Out, &p.Err
	p.WaitDelay = time.Second
	if err := p.Cmd.Start(); err != nil {
		p.result = Result{Args: p.Args, Code: -1, Stderr: err.Error()}
		close(p.ended)
		return p
	}
	go func() {
		p.Cmd.Wait()
		status := p.ProcessState.Sys().(syscall.WaitStatus)
		p.result = Result{Args: p.Args, Code: status.ExitStatus(), Stdout: p.Out.String(), Stderr: p.Err.String()}
		if status.Signaled() {
			p.result.Signal = status.Signal()
		}
		close(p.ended)
	}()
	return p
}

// Ended is closed when the command has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Wait returns how it ended. After the hang guard it is killed and said to have hung.
func (p *Process) Wait() Result { return p.WaitFor(HangGuard) }

// WaitFor is Wait with a guard of its own.
func (p *Process) WaitFor(guard time.Duration) Result {
	select {
	case <-p.ended:
	case <-time.After(guard):
		p.Process.Kill()
		<-p.ended
		p.result.Hung = true
	}
	return p.result
}

// Run runs the command under test to its end.
func (l *Ledger) Run(args ...string) Result { return l.Start(args...).Wait() }

// Sh runs a shell script to its end.
func (l *Ledger) Sh(script string, args ...string) Result { return l.StartSh(script, args...).Wait() }

// Until polls for what must come true, and reports a violation if it does not within the hang guard.
func (l *Ledger) Until(what string, holds func() bool) bool {
	for deadline := time.Now().Add(HangGuard); !holds(); time.Sleep(time.Millisecond) {
		if l.t.Ended() {
			return false
		}
		if time.Now().After(deadline) {
			l.t.Violate("not within %v: %s", HangGuard, what)
			return false
		}
	}
	return true
}
