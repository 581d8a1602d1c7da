package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A command is started over and over, by the cheapest means: vfork and exec, wait.
type command struct {
	path   string
	argv   []string
	env    []string
	stderr uintptr
	cpu    series // what each run used, of all its processes, in ns
}

// command prepares argv, with env beside the environment of this process.
func (b *bench) command(env []string, argv ...string) (*command, error) {
	path, err := exec.LookPath(argv[0])
	return &command{path: path, argv: argv, env: append(os.Environ(), env...), stderr: b.errors.Fd()}, err
}

// once runs c and returns how long that took. It fails if c does not exit with 0.
func (c *command) once() (time.Duration, error) {
	start := time.Now()
	pid, err := syscall.ForkExec(c.path, c.argv, &syscall.ProcAttr{Env: c.env, Files: []uintptr{nowhere.Fd(), nowhere.Fd(), c.stderr}})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", c.path, err)
	}
	var status syscall.WaitStatus
	var usage syscall.Rusage
	for {
		if _, err = syscall.Wait4(pid, &status, 0, &usage); err != syscall.EINTR {
			break
		}
	}
	took := time.Since(start)
	c.cpu = append(c.cpu, float64(usage.Utime.Nano()+usage.Stime.Nano()))
	if err == nil && status != 0 {
		err = fmt.Errorf("%s: status %#x", strings.Join(c.argv, " "), uint32(status))
	}
	return took, err
}

var nowhere = func() *os.File {
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		panic(err) // there is no Linux without it
	}
	return f
}()

// race lets the contestants take turns, each once a round, every round begun by another one, and returns what each took
// in each round. Of several rounds one more, the first, is not counted.
func race(rounds int, contestants ...func() (time.Duration, error)) ([]series, error) {
	all := make([]series, len(contestants))
	first := 0
	if rounds > 1 {
		first = 1
	}
	for round := range first + rounds {
		for i := range contestants {
			which := (i + round) % len(contestants)
			took, err := contestants[which]()
			if err != nil {
				return nil, err
			}
			if round >= first {
				all[which] = append(all[which], float64(took))
			}
		}
	}
	return all, nil
}

// start starts a child that does not outlive this process. The caller waits for it.
func (b *bench) start(env []string, argv ...string) (*child, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = b.errors
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &child{Cmd: cmd, in: in, out: out}, cmd.Start()
}

// A child is a process that this one talks to.
type child struct {
	*exec.Cmd
	in  io.WriteCloser
	out io.ReadCloser
}

// line reads what the child says next.
func (c *child) line() (string, error) {
	var said []byte
	for one := make([]byte, 1); ; {
		if _, err := io.ReadFull(c.out, one); err != nil {
			return "", fmt.Errorf("%s ended early: %w", c.Path, err)
		}
		if one[0] == '\n' {
			return string(said), nil
		}
		said = append(said, one[0])
	}
}

// number reads a line that is a number.
func (c *child) number() (int64, error) {
	said, err := c.line()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(said, 10, 64)
}

// kill ends the child, whatever it does.
func (c *child) kill() {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// until waits for something that other processes do.
func until(what string, done func() bool) error {
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("it did not happen within a minute that %s", what)
		}
	}
	return nil
}
