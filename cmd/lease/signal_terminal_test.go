package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// A Terminal is a terminal with a program that leads its session, and all that was shown on it.
type Terminal struct {
	l    *Ledger
	Pid  int
	tty  *os.File
	done chan struct{}
	code int // once done is closed: as Result.Code

	mu    sync.Mutex
	shown []byte
	read  int // how much of it Until has passed
}

// Terminal starts a program in a terminal of so many columns (0: it does not say).
func (l *Ledger) Terminal(columns uint16, argv ...string) *Terminal {
	l.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = l.Work, slices.Concat(l.env, []string{"TERM=xterm"})
	blocking, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: columns})
	if err != nil {
		l.t.Fatal(err)
	}
	fd, err := syscall.Dup(int(blocking.Fd()))
	if err == nil {
		err = syscall.SetNonblock(fd, true) // so that Close ends a Read, and hangs up
	}
	if err != nil {
		l.t.Fatal(err)
	}
	blocking.Close()
	tty := os.NewFile(uintptr(fd), "terminal")
	t := &Terminal{l: l, Pid: cmd.Process.Pid, tty: tty, done: make(chan struct{})}
	l.t.Cleanup(func() { tty.Close() })
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			t.mu.Lock()
			t.shown = append(t.shown, buf[:n]...)
			t.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	go func() {
		cmd.Wait()
		select {
		case <-closed: // all that it wrote is read
		case <-time.After(time.Second): // somebody still has the terminal
		}
		ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if t.code = ws.ExitStatus(); ws.Signaled() {
			t.code = -int(ws.Signal())
		}
		close(t.done)
	}()
	return t
}

// Shown is all that was shown so far.
func (t *Terminal) Shown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.shown)
}

// Type presses keys.
func (t *Terminal) Type(keys string) {
	t.l.t.Helper()
	if _, err := t.tty.WriteString(keys); err != nil {
		t.l.t.Fatal(err)
	}
}

// Until waits until text is shown after what the last Until waited for.
func (t *Terminal) Until(text string) {
	t.l.t.Helper()
	for start := time.Now(); !t.passed(text); time.Sleep(5 * time.Millisecond) {
		if ended := !t.running(); ended && !t.passed(text) || time.Since(start) > hangGuard {
			t.l.t.Fatalf("%q is not shown, the program has ended: %v. All that is shown:\n%s", text, ended, t.Shown())
		}
	}
}

func (t *Terminal) passed(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := strings.Index(string(t.shown[t.read:]), text)
	if i >= 0 {
		t.read += i + len(text)
	}
	return i >= 0
}

func (t *Terminal) running() bool {
	select {
	case <-t.done:
		return false
	default:
		return true
	}
}

// Wait waits for the end of the program and wants it to end with code.
func (t *Terminal) Want(code int) {
	t.l.t.Helper()
	select {
	case <-t.done:
	case <-time.After(hangGuard):
		t.l.t.Fatalf("still running after %v:\n%s", hangGuard, t.Shown())
	}
	if t.code != code {
		t.l.t.Fatalf("want exit %d, not %d:\n%s", code, t.code, t.Shown())
	}
}

// UntilJob waits until a job of the shell that leads the terminal is in the foreground and runs. What is typed before may
// reach neither the shell nor the job.
func (t *Terminal) UntilJob() {
	t.l.t.Helper()
	t.l.until("a job is in the foreground", func() bool {
		group, err := unix.IoctlGetInt(int(t.tty.Fd()), unix.TIOCGPGRP)
		return err == nil && group != t.Pid && !slices.ContainsFunc(t.l.Pids(""), func(pid int) bool { return processState(pid) == "T" })
	})
}

// shell starts an interactive bash with job control.
func (l *Ledger) shell() *Terminal {
	l.t.Helper()
	t := l.interactive().Terminal(0, "bash", "--norc", "--noprofile", "-i")
	t.Until("> ")
	return t
}

// interactive makes the prompt of every bash "> ", with nothing invisible around what is typed.
func (l *Ledger) interactive() *Ledger {
	l.t.Helper()
	needs(l.t, "bash")
	inputrc := filepath.Join(filepath.Dir(l.Dir), "inputrc")
	if err := os.WriteFile(inputrc, []byte("set enable-bracketed-paste off\n"), 0o600); err != nil {
		l.t.Fatal(err)
	}
	return l.Env("PS1=> ", "HISTFILE=", "INPUTRC="+inputrc)
}
