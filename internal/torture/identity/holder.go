package identity

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fslease/internal/torture/kit"
)

// A holder is the process by which a lease is judged: a lease run, or the one that an acquire named.
type holder struct {
	cmd   *exec.Cmd
	in    io.Closer
	out   io.Reader
	sleep func() error // ends the first thread of the process
	after *exec.Cmd    // who has its number now
}

// A HoldOrder says who is to hold which keys.
type HoldOrder struct {
	Binary   string
	Evidence string
	Keys     []string
	UID      int
}

const (
	liveVariable  = "LEASE_TORTURE_LIVE"
	firstVariable = "LEASE_TORTURE_FIRST_THREAD"
)

// liveIfAsked makes this process one that lives until its input ends. The first byte of input ends its first thread.
func liveIfAsked() {
	if os.Getenv(liveVariable) == "" {
		return
	}
	os.Stdout.Write([]byte{'.'})
	if n, _ := os.Stdin.Read(make([]byte, 1)); n == 0 {
		os.Exit(0)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	_, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0) // this is the first thread: packages are initialized on it
}

// firstThread lets a lease run end its first thread as soon as a file exists; all else goes on in another one.
var firstThread = kit.Edit{File: "cmd/lease/firstthread.go", New: `package main

import (
	"os"
	"syscall"
	"time"

	"fslease/cmd/internal/cli"
)

func init() {
	file := os.Getenv("` + firstVariable + `")
	if file == "" {
		return
	}
	os.Unsetenv("` + firstVariable + `")
	go func() { os.Exit(cli.Run(os.Args[1:])) }()
	for {
		if _, err := os.Stat(file); err == nil {
			syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
		}
		time.Sleep(time.Millisecond)
	}
}
`}

// Hold starts a holder and lets it take the keys. The answer is its pid here.
func (a *Agent) Hold(o HoldOrder, pid *int) error {
	h := &holder{}
	if o.Evidence == "lock" {
		first := filepath.Join(a.dir, "first-"+o.Keys[0])
		h.cmd = a.command(Order{append(append([]string{o.Binary, "run", "--ttl", "1h"}, o.Keys...), "--", "cat"), o.UID})
		h.cmd.Env = append(h.cmd.Env[:len(h.cmd.Env):len(h.cmd.Env)], firstVariable+"="+first)
		h.sleep = func() error { return os.WriteFile(first, nil, 0o644) }
	} else {
		h.cmd = a.command(Order{[]string{"/proc/self/exe"}, o.UID})
		h.cmd.Env = append(h.cmd.Env[:len(h.cmd.Env):len(h.cmd.Env)], liveVariable+"=1")
	}
	in, err := h.cmd.StdinPipe()
	if err != nil {
		return err
	}
	if h.out, err = h.cmd.StdoutPipe(); err != nil {
		return err
	}
	var said strings.Builder
	h.in, h.cmd.Stderr = in, &said
	if err := h.cmd.Start(); err != nil {
		return err
	}
	*pid = h.cmd.Process.Pid
	a.mu.Lock()
	a.holders[*pid] = h
	a.mu.Unlock()
	if o.Evidence == "lock" { // the command says what it is told once it runs
		_, err = in.Write([]byte{'.'})
	} else {
		h.sleep = func() error { _, err := in.Write([]byte{'x'}); return err }
	}
	if err == nil {
		_, err = h.out.Read(make([]byte, 1))
	}
	if err != nil {
		return fmt.Errorf("the holder of %v did not start: %v: %s", o.Keys, err, said.String())
	}
	if o.Evidence == "lock" {
		return nil
	}
	var ans Answer
	err = a.Run(Order{append([]string{o.Binary, "acquire", "-n", "--pid", strconv.Itoa(*pid)}, o.Keys...), o.UID}, &ans)
	if err == nil && ans.Code != 0 {
		err = fmt.Errorf("acquire --pid %d for %v: %v", *pid, o.Keys, ans)
	}
	return err
}

// A PutOrder says what is to become of a holder.
type PutOrder struct {
	PID   int
	State state
	Pause time.Duration // between its end and the next process with its number
	UID   int           // of that one
}

// Put brings the holder into a state, and answers with what there is now at its number.
func (a *Agent) Put(o PutOrder, made *string) error {
	a.mu.Lock()
	h := a.holders[o.PID]
	a.mu.Unlock()
	var err error
	switch o.State {
	case stopped:
		err = errors.Join(syscall.Kill(o.PID, syscall.SIGSTOP), await(o.PID, "T", func(p proc) bool { return p.state == 'T' }))
	case leader:
		err = errors.Join(h.sleep(), await(o.PID, "Z with threads", func(p proc) bool { return p.state == 'Z' && p.threads > 1 }))
	case zombie:
		err = errors.Join(h.kill(), await(o.PID, "Z alone", func(p proc) bool { return p.state == 'Z' && p.threads <= 1 }))
	case gone, reused:
		err = errors.Join(h.kill(), h.reap())
	}
	if err == nil && o.State == reused {
		time.Sleep(o.Pause)
		err = a.startAt(h, o)
	}
	if err == nil {
		*made = fmt.Sprintf("pid %d is %s", o.PID, look(o.PID))
	}
	return err
}

// kill ends the process, and the command if it is a wrapper.
func (h *holder) kill() error {
	err := syscall.Kill(h.cmd.Process.Pid, syscall.SIGKILL)
	h.in.Close()
	_, _ = io.Copy(io.Discard, h.out) // ends with the last one that has it
	return err
}

func (h *holder) reap() error {
	_, err := syscall.Wait4(h.cmd.Process.Pid, nil, 0, nil)
	return err
}

// startAt starts a process with the number that was the holder's.
func (a *Agent) startAt(h *holder, o PutOrder) error {
	for range 1000 {
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(o.PID-1)), 0); err != nil {
			return err
		}
		cmd := a.command(Order{[]string{"sleep", "600"}, o.UID})
		if err := cmd.Start(); err != nil {
			return err
		}
		if cmd.Process.Pid == o.PID {
			h.after = cmd
			return nil
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return fmt.Errorf("no process got pid %d", o.PID)
}

// Drop ends a holder and whoever came after it.
func (a *Agent) Drop(pid int, _ *struct{}) error {
	a.mu.Lock()
	h := a.holders[pid]
	delete(a.holders, pid)
	a.mu.Unlock()
	if h.after != nil {
		_ = h.after.Process.Kill()
		return ignoreKilled(h.after.Wait())
	}
	_ = h.kill()
	_ = h.reap() // gone already, perhaps
	return nil
}

func ignoreKilled(err error) error {
	if errors.As(err, new(*exec.ExitError)) {
		return nil
	}
	return err
}

// A proc is what /proc says of a number.
type proc struct {
	state   byte // 0: nobody has it
	threads int
	start   string
}

func procOf(pid int) (p proc) {
	fields := kit.Stat(pid)
	if len(fields) == 0 {
		return p
	}
	p.state, p.start = fields[0][0], fields[19]
	p.threads, _ = strconv.Atoi(fields[17])
	return p
}

func await(pid int, what string, holds func(proc) bool) error {
	for deadline := time.Now().Add(kit.HangGuard); !holds(procOf(pid)); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("pid %d is not %s but %s", pid, what, look(pid))
		}
	}
	return nil
}

// look says what has the number, in words.
func look(pid int) string {
	p := procOf(pid)
	if p.state == 0 {
		return "nobody"
	}
	ns := ""
	for _, kind := range []string{"pid", "time"} {
		link, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
		ns += " " + link
	}
	return fmt.Sprintf("in state %c with %d threads since tick %s in%s", p.state, p.threads, p.start, ns)
}
