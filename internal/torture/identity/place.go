package identity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fslease/internal/torture/kit"
)

// The pid namespaces: one below that of the harness, and two siblings below that one.
const (
	outer  = "outer"
	inner  = "inner"
	beside = "beside"
)

// A Place is where processes are started: a pid namespace with its own /proc, and what else is not as usual there.
type Place struct {
	NS      string
	Shifted bool // in a time namespace of its own, a day ahead
	Bound   bool // another file is mounted over the boot id
	Hide    bool // /proc is mounted with hidepid=2
}

func (p Place) String() string {
	return fmt.Sprintf("%s-%t-%t-%t", p.NS, p.Shifted, p.Bound, p.Hide)
}

// base reports whether p is the first place in its pid namespace, from which the others are made.
func (p Place) base() bool { return p == Place{NS: p.NS} }

const (
	placeVariable = "LEASE_TORTURE_PLACE"
	otherBootID   = "00000000-0000-4000-8000-00000000cafe\n"
)

// The harness is its own helper: with the variable set it is the agent of a place.
func init() {
	if raw := os.Getenv(placeVariable); raw != "" {
		if err := serve(raw); err != nil {
			fmt.Fprintln(os.Stderr, "agent:", raw, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	liveIfAsked()
}

// An Agent starts processes in its place, as their parent. Its methods are called from afar.
type Agent struct {
	mu      sync.Mutex
	dir     string // of sockets
	env     []string
	holders map[int]*holder // by pid
}

// assignment is what an agent is told when it starts.
type assignment struct {
	Place Place
	Dir   string // of sockets
}

func (a assignment) socket() string { return filepath.Join(a.Dir, a.Place.String()) }

// spawn starts the agent of a place below this process and returns when it can be called.
func spawn(a assignment, env []string) (*exec.Cmd, io.Closer, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return nil, nil, err
	}
	argv := []string{exe}
	if a.Place.Shifted {
		argv = []string{"unshare", "--time", "--monotonic", "86400", "--boottime", "86400", exe}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(slices.Clip(env), placeVariable+"="+string(raw))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	if a.Place.base() {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWPID
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		in.Close()
		err := cmd.Wait()
		return nil, nil, fmt.Errorf("agent of %s: %v: %s", a.Place, err, stderr.String())
	}
	return cmd, in, nil
}

// serve is the life of an agent: until its input ends.
func serve(raw string) error {
	var a assignment
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		return err
	}
	os.Unsetenv(placeVariable)
	if err := furnish(a); err != nil {
		return err
	}
	server := rpc.NewServer()
	if err := server.Register(&Agent{dir: a.Dir, env: os.Environ(), holders: map[int]*holder{}}); err != nil {
		return err
	}
	listener, err := net.Listen("unix", a.socket())
	if err != nil {
		return err
	}
	go server.Accept(listener)
	os.Stdout.Write([]byte{'.'})
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// furnish mounts what makes the place.
func furnish(a assignment) error {
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if a.Place.base() || a.Place.Hide {
		options := "hidepid=0"
		if a.Place.Hide {
			options = "hidepid=2"
		}
		err = errors.Join(err, unix.Mount("proc", "/proc", "proc", 0, options))
	}
	if a.Place.Bound {
		file := a.socket() + ".boot_id"
		err = errors.Join(err, os.WriteFile(file, []byte(otherBootID), 0o644),
			unix.Mount(file, "/proc/sys/kernel/random/boot_id", "", unix.MS_BIND, ""))
	}
	return err
}

// Spawn starts the agent of another place: one in this pid namespace, or the first of a namespace below it.
func (a *Agent) Spawn(p Place, _ *struct{}) error {
	cmd, _, err := spawn(assignment{p, a.dir}, a.env)
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.holders[-cmd.Process.Pid] = &holder{cmd: cmd} // its input is open as long as it is reachable
	}
	return err
}

// An Order is a command to run as a user. The first argument is the program.
type Order struct {
	Argv []string
	UID  int
}

// An Answer is how it ended.
type Answer struct {
	Code           int
	Stdout, Stderr string
}

func (a Answer) String() string {
	return fmt.Sprintf("exit %d\nstdout: %s\nstderr: %s", a.Code, a.Stdout, a.Stderr)
}

// Run runs a command to its end. One that hangs is killed: -1.
func (a *Agent) Run(o Order, ans *Answer) error {
	cmd := a.command(o)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	guard := time.AfterFunc(kit.HangGuard, func() { _ = cmd.Process.Kill() })
	defer guard.Stop()
	_ = cmd.Wait()
	*ans = Answer{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	return nil
}

func (a *Agent) command(o Order) *exec.Cmd {
	cmd := exec.Command(o.Argv[0], o.Argv[1:]...)
	cmd.Env = a.env
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if o.UID != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(o.UID), Gid: group}
	}
	return cmd
}
