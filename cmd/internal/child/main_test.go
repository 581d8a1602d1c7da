package child

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fslease/internal/torture/kit"
)

// The test binary plays other programs under other names. They are links in one directory, in $PATH.
var roles = map[string]func(){
	"wrapper":     func() { os.Exit(wrapper(os.Args[1:], false)) },
	"execwrapper": func() { os.Exit(wrapper(os.Args[1:], true)) },
	"waiter":      waiter,
	"count":       count,
	"descriptors": descriptors,
	"quit":        quit,
}

var rolesDir string

func TestMain(m *testing.M) {
	if role := roles[filepath.Base(os.Args[0])]; role != nil {
		role()
		return
	}
	kit.Unignore()
	os.Exit(func() int {
		self, err := os.Executable()
		if err == nil {
			rolesDir, err = os.MkdirTemp("", "child")
		}
		for name := range roles {
			if err == nil {
				err = os.Symlink(self, filepath.Join(rolesDir, name))
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(rolesDir)
		os.Setenv("PATH", rolesDir+":"+os.Getenv("PATH"))
		return m.Run()
	}())
}

// wrapper runs a command as lease run does. It leaves what it knows at the end in the file $REPORT.
func wrapper(argv []string, exec bool) int {
	Watch()
	c := Command{Argv: argv, Env: os.Environ()}
	for _, fd := range strings.Fields(os.Getenv("INHERIT")) {
		n, _ := strconv.Atoi(fd)
		fence, _ := os.Open("/dev/null")
		if err := unix.Dup3(int(fence.Fd()), n, unix.O_CLOEXEC); err != nil {
			panic(err)
		}
		c.Inherit = append(c.Inherit, n)
	}
	var p *Process
	var err error
	if exec {
		err = Exec(c)
	} else {
		p, err = Start(c)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return err.(interface{ ExitCode() int }).ExitCode()
	}
	status := p.Wait()
	if report := os.Getenv("REPORT"); report != "" {
		for _, fd := range c.Inherit {
			if flags, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); flags != unix.FD_CLOEXEC {
				panic("descriptor is left without close-on-exec")
			}
		}
		os.WriteFile(report, fmt.Appendf(nil, "code %d signal %d disturbed %t after %v", status.Code, status.Signal, p.Disturbed(), p.Signal(0)), 0o600)
	}
	return status.Code
}

// waiter waits as for a lease, and is not to start its command.
func waiter() {
	ctx := Watch().Context()
	fmt.Println("waiting", os.Getpid())
	<-ctx.Done()
	_, err := Start(Command{Argv: []string{"echo", "started"}, Env: os.Environ()})
	fmt.Println(err)
	os.Exit(err.(*SignalError).ExitCode())
}

// count LOG LAST [own|session] writes a line to LOG when it is ready, and one for each signal it gets, and
// exits with 7 after the signal named LAST. It counts in the handler, since package os/signal would take
// two at once for one.
func count() {
	log, last := os.Args[1], os.Args[2]
	switch strings.Join(os.Args[3:], "") {
	case "own":
		check(syscall.Setpgid(0, 0))
	case "session":
		_, err := syscall.Setsid()
		check(err)
	}
	var p [2]int
	check(unix.Pipe2(p[:], unix.O_CLOEXEC))
	openHandler(p[1])
	catch(endSignals...)
	appendLine(log, fmt.Sprintf("ready %d %d", os.Getpid(), os.Getppid()))
	for {
		var record [recordSize]byte
		if n, err := unix.Read(p[0], record[:]); err == unix.EINTR {
			continue
		} else if n != recordSize {
			panic(err)
		}
		name := unix.SignalName(decode(record).signal)
		appendLine(log, name)
		if name == last {
			os.Exit(7)
		}
	}
}

// descriptors prints the numbers of its open descriptors.
func descriptors() {
	for fd := range 1024 {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
			fmt.Print(fd, " ")
		}
	}
}

// quit prints what QUIT does to a program that has not called Watch yet.
func quit() {
	switch caught, ignored := signalSet("self", "SigCgt"), signalSet("self", "SigIgn"); {
	case caught.has(syscall.SIGQUIT):
		fmt.Println("caught")
	case ignored.has(syscall.SIGQUIT):
		fmt.Println("ignored")
	default:
		fmt.Println("ends")
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func appendLine(file, line string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	_, err = f.WriteString(line + "\n")
	check(err)
	check(f.Close())
}

// needsSender skips a test of what the package cannot do where it only guesses who sent a signal.
func needsSender(t *testing.T) {
	t.Helper()
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skipf("not run: needs amd64 or arm64: the sender of a signal is not known on %s", runtime.GOARCH)
	}
}

// hang is how long something is waited for before it counts as never coming.
const hang = 60 * time.Second

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}

// A counter is the log of a running count.
type counter struct {
	t    *testing.T
	file string
}

func newCounter(t *testing.T) counter {
	dir, err := os.MkdirTemp(rolesDir, "") // not named after the test, since a shell shows it
	if err != nil {
		t.Fatal(err)
	}
	return counter{t, filepath.Join(dir, "log")}
}

func (c counter) lines() []string {
	data, _ := os.ReadFile(c.file)
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
}

// ready waits until the program counts, and returns its pid and its parent's.
func (c counter) ready() (pid, parent int) {
	c.t.Helper()
	until(c.t, "the counting program", func() bool {
		n, _ := fmt.Sscanf(c.lines()[0], "ready %d %d", &pid, &parent)
		return n == 2
	})
	return pid, parent
}

// got waits until n signals have been counted.
func (c counter) got(n int) {
	c.t.Helper()
	until(c.t, fmt.Sprintf("signal %d of %v", n, c.lines()), func() bool { return len(c.lines()) > n })
}

// want fails the test unless exactly these signals were counted, by the time the program has ended.
func (c counter) want(names ...string) {
	c.t.Helper()
	if got := c.lines()[1:]; strings.Join(got, " ") != strings.Join(names, " ") {
		c.t.Errorf("the command got %v, want %v", got, names)
	}
}

// exitCode waits for the end of a process; 128+n if a signal ended it.
func exitCode(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	guard := time.AfterFunc(hang, func() { cmd.Process.Kill() })
	cmd.Wait()
	if !guard.Stop() {
		t.Fatalf("%q never ended", cmd.Args)
	}
	ws := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

func wantCode(t *testing.T, cmd *exec.Cmd, want int) {
	t.Helper()
	if got := exitCode(t, cmd); got != want {
		t.Errorf("%q ended with %d, want %d", cmd.Args, got, want)
	}
}

func kill(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("kill %d with %v: %v", pid, sig, err)
	}
}
