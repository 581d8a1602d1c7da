package procinfo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary is also the helper process: with the first variable set its arguments are verbs. The
// second one holds the Identity of a helper's parent, in its own words.
const (
	helperVariable = "PROCINFO_HELPER"
	parentVariable = "PROCINFO_PARENT"
)

var executable, _ = os.Executable()

func isHelper() bool { return os.Getenv(helperVariable) != "" }

func TestMain(m *testing.M) {
	if !isHelper() {
		os.Exit(m.Run())
	}
	if err := do(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "helper:", os.Args[1:], err)
		os.Exit(1)
	}
}

func init() {
	if isHelper() {
		runtime.LockOSThread() // only now: main runs on the first thread, and nothing else does
	}
}

// do obeys the verbs of a helper process: some change its surroundings, the last one answers in JSON.
func do(args []string) error {
	verb, args := args[0], args[1:]
	switch verb {
	case "mount-proc": // OPTIONS
		if err := errors.Join(privateMounts(), unix.Mount("proc", "/proc", "proc", 0, args[0])); err != nil {
			return err
		}
		return do(args[1:])
	case "bind": // SOURCE TARGET
		if err := errors.Join(privateMounts(), unix.Mount(args[0], args[1], "", unix.MS_BIND, "")); err != nil {
			return err
		}
		return do(args[2:])
	case "setuid": // UID
		uid, _ := strconv.Atoi(args[0])
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(uid), syscall.Setuid(uid)); err != nil {
			return err
		}
		return do(args[1:])
	case "child":
		me, err := Self()
		if err != nil {
			return err
		}
		identity, _ := json.Marshal(me)
		cmd := helperCommand(args...)
		cmd.Env = append(cmd.Env, parentVariable+"="+string(identity))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		return cmd.Run()
	case "exec-in-second-thread":
		return execInSecondThread(args)
	case "end-first-thread":
		return endFirstThread()
	case "live":
		return live()
	case "judge":
		var ids []Identity
		if err := json.NewDecoder(os.Stdin).Decode(&ids); err != nil {
			return err
		}
		var verdicts []Verdict
		for _, id := range ids {
			verdicts = append(verdicts, Judge(id, true))
		}
		return answer(verdicts)
	case "judge-parent":
		var parent Identity
		if err := json.Unmarshal([]byte(os.Getenv(parentVariable)), &parent); err != nil {
			return err
		}
		return answer(Judge(parent, true))
	case "of": // PID
		pid, _ := strconv.Atoi(args[0])
		_, err := Of(pid)
		return answer(fmt.Sprint(err))
	case "ancestors":
		return answer(Ancestors())
	case "reuse":
		return reuse()
	}
	return fmt.Errorf("unknown verb %q", verb)
}

func privateMounts() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }

func answer(v any) error { return json.NewEncoder(os.Stdout).Encode(v) }

// live answers who this process is, and lives until its input ends.
func live() error {
	id, err := Self()
	if err != nil {
		return err
	}
	if err := answer(id); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// endFirstThread lives like live, but the first byte of input ends its first thread.
func endFirstThread() error {
	id, err := Self()
	if err != nil {
		return err
	}
	if err := answer(id); err != nil {
		return err
	}
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	_, _, errno := unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
	return errno
}

// execInSecondThread starts over with the verbs in args, executed by another thread than the first.
func execInSecondThread(args []string) error {
	failed := make(chan error)
	go func() { failed <- unix.Exec(os.Args[0], append(os.Args[:1], args...), os.Environ()) }()
	return <-failed
}

func helperCommand(args ...string) *exec.Cmd {
	cmd := exec.Command(executable, args...)
	cmd.Env = append(os.Environ(), helperVariable+"=1")
	return cmd
}

// A helper is a running helper process.
type helper struct {
	*exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
	err *strings.Builder
}

// start starts cmd, which is killed with the test.
func start(t testing.TB, cmd *exec.Cmd) *helper {
	t.Helper()
	h := &helper{Cmd: cmd, err: new(strings.Builder)}
	var err error
	if h.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = json.NewDecoder(out)
	cmd.Stderr = h.err
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.end)
	return h
}

// read decodes the next answer of the helper.
func read[T any](t testing.TB, h *helper) T {
	t.Helper()
	var v T
	if err := h.out.Decode(&v); err != nil {
		h.end()
		t.Fatalf("helper %q: no answer: %v\n%s", h.Args, err, h.err)
	}
	return v
}

// end kills the helper and reaps it.
func (h *helper) end() {
	if h.ProcessState == nil {
		_ = h.Process.Kill()
		_ = h.Wait()
	}
}

// startLive starts a helper that lives, and returns what it says of itself.
func startLive(t testing.TB, cmd *exec.Cmd) (*helper, Identity) {
	t.Helper()
	h := start(t, cmd)
	return h, read[Identity](t, h)
}

// judgeBy lets another process judge.
func judgeBy(t testing.TB, cmd *exec.Cmd, ids ...Identity) []Verdict {
	t.Helper()
	h := start(t, cmd)
	if err := json.NewEncoder(h.in).Encode(ids); err != nil {
		t.Fatal(err)
	}
	return read[[]Verdict](t, h)
}

// in gives cmd namespaces of its own.
func in(t testing.TB, namespaces uintptr, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	try := exec.Command("/bin/true")
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	if err := try.Run(); err != nil {
		t.Skip("not run: needs root and namespaces:", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	return cmd
}

func itoa(n int) string { return strconv.Itoa(n) }

func want(t testing.TB, v Verdict, state State, reason string) {
	t.Helper()
	if v.State != state || !strings.Contains(v.Reason, reason) {
		t.Errorf("judged %v (%s), want %v (%s)", v.State, v.Reason, state, reason)
	}
}

// until waits for ok, which is sure to come.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for hang := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(hang) {
			t.Fatal("never happened: ", what)
		}
	}
}

func untilState(t testing.TB, pid int, state byte) {
	t.Helper()
	until(t, fmt.Sprintf("process %d in state %c", pid, state), func() bool {
		st, err := proc.stat(strconv.Itoa(pid))
		return err == nil && st.state == state
	})
}
