package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Result is how a process ended.
type Result struct {
	Argv           []string
	Stdout, Stderr string
	Code           int // exit status; -n if signal n killed the process itself
}

func (r Result) String() string {
	return fmt.Sprintf("%q: exit %d\nstdout: %s\nstderr: %s", r.Argv, r.Code, r.Stdout, r.Stderr)
}

// Want fails the test unless the process ended with code.
func (r Result) Want(t testing.TB, code int) Result {
	t.Helper()
	if r.Code != code {
		t.Fatalf("want exit %d\n%v", code, r)
	}
	return r
}

// Says fails the test unless stderr contains text.
func (r Result) Says(t testing.TB, text string) Result {
	t.Helper()
	if !strings.Contains(r.Stderr, text) {
		t.Fatalf("stderr does not say %q\n%v", text, r)
	}
	return r
}

// Error is the error that lease reports on stderr under --json.
func (r Result) Error(t testing.TB) Record {
	t.Helper()
	line := strings.TrimSpace(r.Stderr)
	if line == "" || strings.Contains(line, "\n") {
		t.Fatalf("stderr is not one line\n%v", r)
	}
	e, _ := parseRecord(t, "stderr", []byte(line))["error"].(map[string]any)
	if e == nil {
		t.Fatalf("stderr has no error object\n%v", r)
	}
	return e
}

// A Process is a command that was started.
type Process struct {
	l              *Ledger
	Argv           []string
	Pid            int
	stdout, stderr *os.File
	done           chan struct{}
	status         syscall.WaitStatus // once done is closed
	cpu            time.Duration      // once done is closed: of the process and all that it waited for
}

// Wait waits for the process itself to end, whatever its descendants do.
func (p *Process) Wait() Result {
	p.l.t.Helper()
	select {
	case <-p.done:
	case <-time.After(hangGuard):
		p.l.t.Fatalf("still running after %v\n%v", hangGuard, p.result())
	}
	return p.result()
}

// result is what is known so far; Code is 0 while the process runs.
func (p *Process) result() Result {
	r := Result{Argv: p.Argv, Stdout: p.Stdout(), Stderr: p.Stderr()}
	if !p.Running() {
		r.Code = p.status.ExitStatus()
		if p.status.Signaled() {
			r.Code = -int(p.status.Signal())
		}
	}
	return r
}

func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Signal signals the process alone, not its command.
func (p *Process) Signal(sig syscall.Signal) {
	p.l.t.Helper()
	if err := syscall.Kill(p.Pid, sig); err != nil {
		p.l.t.Fatalf("signal %v: %v\n%v", sig, err, p.result())
	}
}

// Kill kills the process alone with SIGKILL, not its command, and returns when it is gone.
func (p *Process) Kill() {
	p.l.t.Helper()
	p.Signal(syscall.SIGKILL)
	p.Wait().Want(p.l.t, -int(syscall.SIGKILL))
}

// Stop stops the process alone, but not in the middle of a change, and returns when it stands still.
func (p *Process) Stop() {
	p.l.t.Helper()
	for {
		p.Signal(syscall.SIGSTOP)
		p.l.until("the process is stopped", func() bool { return processState(p.Pid) == "T" })
		if !p.changes() {
			return
		}
		p.Signal(syscall.SIGCONT)
		time.Sleep(5 * time.Millisecond)
	}
}

// changes reports whether the process has the lock file of some key open: stopped like that it keeps everybody busy.
func (p *Process) changes() bool {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.Pid))
	return slices.ContainsFunc(fds, func(fd string) bool {
		file, _ := os.Readlink(fd)
		return strings.HasPrefix(file, p.l.Dir+"/locks/") && strings.HasSuffix(file, ".lock")
	})
}

func (p *Process) Stdout() string { return p.read(p.stdout) }
func (p *Process) Stderr() string { return p.read(p.stderr) }

func (p *Process) read(f *os.File) string {
	b, err := os.ReadFile(f.Name())
	if err != nil {
		p.l.t.Error(err)
	}
	return string(b)
}

// UntilStderr waits until stderr contains text.
func (p *Process) UntilStderr(text string) {
	p.l.t.Helper()
	for start := time.Now(); !strings.Contains(p.Stderr(), text); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > hangGuard || !p.Running() {
			p.l.t.Fatalf("stderr never said %q\n%v", text, p.result())
		}
	}
}

// processState is the state letter of a process, "" if there is none.
func processState(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(b[bytes.LastIndexByte(b, ')'):]), " ")
	return after[:1]
}

// alive reports whether a process exists and is not a zombie.
func alive(pid int) bool {
	s := processState(pid)
	return s != "" && s != "Z" && s != "X"
}

// needs skips the test, in words that can be counted, where a program or root is missing.
func needs(t testing.TB, things ...string) {
	t.Helper()
	for _, thing := range things {
		if thing == "root" {
			if os.Geteuid() != 0 {
				t.Skip("not run: needs root")
			}
			continue
		}
		if _, err := exec.LookPath(thing); err != nil {
			t.Skipf("not run: needs %s: %v", thing, err)
		}
	}
}
