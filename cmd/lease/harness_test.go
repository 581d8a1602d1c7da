package main_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fslease/internal/torture/kit"
)

// hangGuard bounds every wait of these tests. It only keeps a hang from lasting: no test asserts that something is fast.
const hangGuard = 60 * time.Second

// leaseBinary is the command under test, alone in a directory that can stand in a PATH.
var leaseBinary string

// binary is the path of the command under test: a copy of $FSLEASE_TEST_BINARY, else built once from this tree.
func binary(testing.TB) string { return leaseBinary }

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	flag.Parse()
	kit.Unignore()
	if parallel := flag.Lookup("test.parallel"); parallel.Value.String() == parallel.DefValue {
		_ = parallel.Value.Set("8") // most of their time the tests wait for processes
	}
	dir, err := os.MkdirTemp("", "lease-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	leaseBinary = filepath.Join(dir, "lease")
	os.Chmod(dir, 0o755) // other users run it too
	if prebuilt := os.Getenv("FSLEASE_TEST_BINARY"); prebuilt != "" {
		content, err := os.ReadFile(prebuilt)
		if err == nil {
			err = os.WriteFile(leaseBinary, content, 0o755)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	} else if out, err := exec.Command("go", "build", "-tags", "urfave_cli_no_docs", "-o", leaseBinary, "fslease/cmd/lease").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the command: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// A Ledger is a fresh ledger of one test and the way its commands are run. In, As, At, Env and Stdin return a copy
// that differs in one thing. When the test ends every process that was started through it, and their
// descendants, are killed by pid.
type Ledger struct {
	t      testing.TB
	Dir    string // the ledger, not made yet; $LEASE_LEDGER of every command
	Work   string // an empty directory, where every command starts
	env    []string
	prefix []string
	uid    uint32
	stdin  io.Reader
}

const markVariable = "FSLEASE_TEST_MARK="

func NewLedger(t testing.TB) *Ledger {
	t.Helper()
	root := t.TempDir()
	l := &Ledger{t: t, Dir: filepath.Join(root, "ledger"), Work: filepath.Join(root, "work")}
	if err := os.Mkdir(l.Work, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "LEASE_") && !strings.HasPrefix(name, "GIT_") &&
			!slices.Contains([]string{"PATH", "HOME", "XDG_STATE_HOME", "NO_COLOR"}, name) {
			l.env = append(l.env, v)
		}
	}
	l.env = append(l.env, "PATH="+filepath.Dir(leaseBinary)+":"+os.Getenv("PATH"), "HOME="+root, "LC_ALL=C",
		"LEASE_LEDGER="+l.Dir, markVariable+root)
	t.Cleanup(func() {
		l.until("all processes of the test are gone", func() bool {
			pids := l.Pids("")
			for _, pid := range pids {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			return len(pids) == 0
		})
	})
	return l
}

// In starts commands through another program, such as unshare.
func (l *Ledger) In(prefix ...string) *Ledger {
	c := *l
	c.prefix = append(slices.Clone(l.prefix), prefix...)
	return &c
}

// Open lets other users reach the test's directory, and write in the work directory.
func (l *Ledger) Open() {
	l.t.Helper()
	for dir, mode := range map[string]os.FileMode{filepath.Dir(filepath.Dir(l.Dir)): 0o755, l.Work: 0o777} {
		if err := os.Chmod(dir, mode); err != nil {
			l.t.Fatal(err)
		}
	}
}

// As starts commands as user and group uid. See Open.
func (l *Ledger) As(uid uint32) *Ledger {
	needs(l.t, "root")
	c := *l
	c.uid = uid
	return &c
}

// At starts commands in dir.
func (l *Ledger) At(dir string) *Ledger {
	c := *l
	c.Work = dir
	return &c
}

// Env adds NAME=VALUE to the commands' environment.
func (l *Ledger) Env(vars ...string) *Ledger {
	c := *l
	c.env = append(slices.Clone(l.env), vars...)
	return &c
}

// Stdin is what commands read; without it /dev/null.
func (l *Ledger) Stdin(r io.Reader) *Ledger {
	c := *l
	c.stdin = r
	return &c
}

// Run runs lease to its end.
func (l *Ledger) Run(args ...string) Result {
	l.t.Helper()
	return l.Start(args...).Wait()
}

// Start starts lease.
func (l *Ledger) Start(args ...string) *Process {
	l.t.Helper()
	return l.start(nil, append([]string{leaseBinary}, args...)...)
}

// Sh runs a shell script, in which lease is in the PATH, to its end. The arguments are $1 and so on.
func (l *Ledger) Sh(script string, args ...string) Result {
	l.t.Helper()
	return l.StartSh(script, args...).Wait()
}

// StartSh starts a shell script, in which lease is in the PATH.
func (l *Ledger) StartSh(script string, args ...string) *Process {
	l.t.Helper()
	return l.start(nil, append([]string{"sh", "-c", script, "sh"}, args...)...)
}

// Together starts one lease for each argument list and lets all of them go at the same moment.
func (l *Ledger) Together(argLists ...[]string) []*Process {
	l.t.Helper()
	goRead, goWrite, err := os.Pipe()
	if err != nil {
		l.t.Fatal(err)
	}
	readyRead, readyWrite, err := os.Pipe()
	if err != nil {
		l.t.Fatal(err)
	}
	var all []*Process
	for _, args := range argLists {
		gate := append([]string{"sh", "-c", `echo >&3; read _; exec "$@" </dev/null 3>&-`, "sh", leaseBinary}, args...)
		all = append(all, l.Stdin(goRead).start(readyWrite, gate...))
	}
	readyWrite.Close()
	goRead.Close()
	_, err = io.ReadFull(readyRead, make([]byte, len(argLists)))
	readyRead.Close()
	goWrite.Close()
	if err != nil {
		l.t.Fatalf("not all of the processes started: %v", err)
	}
	return all
}

func (l *Ledger) start(extra *os.File, argv ...string) *Process {
	l.t.Helper()
	argv = append(slices.Clone(l.prefix), argv...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = l.Work, l.env, l.stdin
	if extra != nil {
		cmd.ExtraFiles = []*os.File{extra}
	}
	if l.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: l.uid, Gid: l.uid}}
	}
	p := &Process{l: l, Argv: argv, done: make(chan struct{})}
	// Files, not pipes: a descendant that keeps one open must not keep Wait from returning.
	p.stdout, p.stderr = l.output("out"), l.output("err")
	cmd.Stdout, cmd.Stderr = p.stdout, p.stderr
	if err := cmd.Start(); err != nil {
		l.t.Fatalf("start %q: %v", argv, err)
	}
	p.Pid = cmd.Process.Pid
	go func() {
		cmd.Wait()
		p.status = cmd.ProcessState.Sys().(syscall.WaitStatus)
		p.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		close(p.done)
	}()
	return p
}

func (l *Ledger) output(kind string) *os.File {
	l.t.Helper()
	f, err := os.CreateTemp(filepath.Dir(l.Dir), kind)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { f.Close() })
	return f
}

// Pids lists the living processes started through the ledger, and their descendants; with exe only those of that program.
func (l *Ledger) Pids(exe string) []int {
	mark := []byte(markVariable + filepath.Dir(l.Dir) + "\x00")
	var pids []int
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		env, err := os.ReadFile(dir + "/environ")
		if err != nil || !bytes.Contains(append([]byte{0}, env...), mark) || !alive(pid) {
			continue
		}
		if exe == "" || runs(pid, exe) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// runs reports whether a process runs a program. One that lease starts runs lease until its exec.
func runs(pid int, exe string) bool {
	link, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return link == exe
}

// until polls a condition. It is the only way these tests wait.
func (l *Ledger) until(what string, ok func() bool) {
	l.t.Helper()
	for start := time.Now(); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Since(start) > hangGuard {
			l.t.Fatalf("waited %v in vain until %s", hangGuard, what)
		}
	}
}

// File is the text of a file in the work directory, trimmed; "" while it is missing.
func (l *Ledger) File(name string) string {
	b, _ := os.ReadFile(filepath.Join(l.Work, name))
	return strings.TrimSpace(string(b))
}

// lines counts the lines of a file in the work directory.
func (l *Ledger) lines(name string) int {
	b, _ := os.ReadFile(filepath.Join(l.Work, name))
	return bytes.Count(b, []byte("\n"))
}

// UntilFile waits until a file in the work directory has content, and returns it trimmed. Scripts write with one echo.
func (l *Ledger) UntilFile(name string) string {
	l.t.Helper()
	l.until(name+" is written", func() bool { return l.File(name) != "" })
	return l.File(name)
}

// UntilPid is UntilFile for a file that holds a pid.
func (l *Ledger) UntilPid(name string) int {
	l.t.Helper()
	pid, err := strconv.Atoi(l.UntilFile(name))
	if err != nil {
		l.t.Fatal(err)
	}
	return pid
}

// End kills one process by pid, and returns when it is gone or a zombie.
func (l *Ledger) End(pid int) {
	l.t.Helper()
	syscall.Kill(pid, syscall.SIGKILL)
	l.until(fmt.Sprintf("process %d is gone", pid), func() bool { return !alive(pid) })
}
