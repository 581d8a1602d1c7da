package main_test

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// QUIT ends a command that runs nothing, and waits for nothing, as it ends any program: without a stack of Go's. Where it
// was ignored it stays so.
func TestSignalQuitEndsLikeAnyProgram(t *testing.T) {
	t.Parallel()
	for script, code := range map[string]string{
		`lease help --man >pipe; echo $? >code`:                   "131",
		`trap "" INT; lease help --man >pipe; echo $? >code`:      "131",
		`trap "" INT QUIT; lease help --man >pipe; echo $? >code`: "0",
		`lease help --man >pipe & wait $!; echo $? >code`:         "0",
	} {
		l := NewLedger(t)
		fifo := filepath.Join(l.Work, "pipe")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		pipe, err := os.OpenFile(fifo, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer pipe.Close()
		// The page is longer than what fits, so that who has begun to write it cannot end.
		if _, err := unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
			t.Fatal(err)
		}
		p := l.StartSh("ulimit -c 0; " + script)
		if _, err := pipe.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		pids := l.Pids(leaseBinary)
		if len(pids) != 1 {
			t.Fatalf("%s: processes %v", script, pids)
		}
		if err := syscall.Kill(pids[0], syscall.SIGQUIT); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, pipe) }()
		r := p.Wait()
		if got := strings.TrimSpace(l.File("code")); got != code || strings.Contains(r.Stderr, "goroutine") || strings.Contains(r.Stderr, "SIGQUIT") {
			t.Errorf("%s: exit %s, want %s\n%v", script, got, code, r)
		}
	}
}

// QUIT gets its action back before nearly anything else of a start has run.
func TestSignalQuitIsSettledEarly(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	r := l.Env("GODEBUG=inittrace=1").Run("--version").Want(t, 0)
	var order []string
	for line := range strings.Lines(r.Stderr) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "init" {
			order = append(order, words[1])
		}
	}
	first := slices.Index(order, "fslease/cmd/internal/child/sigquit")
	for _, later := range []string{"fslease/cmd/internal/uniproc", "syscall", "os"} {
		if first < 0 || first > slices.Index(order, later) {
			t.Errorf("not before %s: %v", later, order)
		}
	}
}
