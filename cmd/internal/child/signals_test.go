package child

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// groups are the places where a command may have gone.
var groups = []string{"", "own", "session"}

// launch starts argv in a session of its own, with a terminal or without. The last result is the keyboard.
func launch(t *testing.T, terminal bool, argv ...string) (*exec.Cmd, io.Writer) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	if !terminal {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, nil
	}
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	go io.Copy(io.Discard, tty)
	return cmd, tty
}

// other is a signal that is not sig, to be sent after it: passed on in order, it shows that all that was
// to come of sig has come.
func other(sig syscall.Signal) syscall.Signal {
	if sig == syscall.SIGUSR2 {
		return syscall.SIGUSR1
	}
	return syscall.SIGUSR2
}

// A signal sent to the wrapper by kill reaches the command exactly once, wherever the command went.
func TestKillReachesOnce(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		for _, group := range groups {
			for _, sig := range endSignals {
				name := unix.SignalName(sig)
				t.Run(fmt.Sprintf("terminal=%t/%s/%s", terminal, group, name), func(t *testing.T) {
					if terminal && group != "session" {
						needsSender(t)
					}
					c := newCounter(t)
					last := other(sig)
					cmd, _ := launch(t, terminal, "wrapper", "count", c.file, unix.SignalName(last), group)
					_, parent := c.ready()
					for n := range 3 {
						kill(t, parent, sig)
						c.got(n + 1)
					}
					kill(t, parent, last)
					wantCode(t, cmd, 7)
					c.want(name, name, name, unix.SignalName(last))
				})
			}
		}
	}
}

// A key of the terminal reaches the command exactly once: by the terminal while it is in the foreground
// group, else by the wrapper.
func TestKeyReachesOnce(t *testing.T) {
	for key, name := range map[string]string{"\x03": "SIGINT", "\x1c": "SIGQUIT"} {
		for _, group := range groups {
			for _, leader := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/leader=%t", name, group, leader), func(t *testing.T) {
					c := newCounter(t)
					argv := []string{"wrapper", "count", c.file, "SIGUSR2", group}
					if !leader {
						argv = append([]string{"sh", "-c", `trap : INT QUIT; "$@"; exit $?`, "sh"}, argv...)
					}
					report := filepath.Join(t.TempDir(), "report")
					t.Setenv("REPORT", report)
					cmd, keyboard := launch(t, true, argv...)
					_, parent := c.ready()
					for n := range 3 {
						io.WriteString(keyboard, key)
						c.got(n + 1)
					}
					kill(t, parent, syscall.SIGUSR2)
					wantCode(t, cmd, 7)
					c.want(name, name, name, "SIGUSR2")
					if got, _ := os.ReadFile(report); !strings.Contains(string(got), "disturbed true") {
						t.Errorf("report %q", got)
					}
				})
			}
		}
	}
}

// A program that goes on after the first ^C and ends at the second one needs two.
func TestSecondKeyEnds(t *testing.T) {
	const program = `import signal, sys
def first(*_):
    signal.signal(signal.SIGINT, lambda *_: sys.exit(9))
    print("first", flush=True)
signal.signal(signal.SIGINT, first)
print("ready", flush=True)
while True: signal.pause()`
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("not run: needs python3")
	}
	cmd := exec.Command("wrapper", "python3", "-c", program)
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	out := bufio.NewReader(tty)
	for _, word := range []string{"ready", "first"} {
		for line := ""; !strings.Contains(line, word); {
			if line, err = out.ReadString('\n'); err != nil {
				t.Fatalf("no %q: %v", word, err)
			}
		}
		io.WriteString(tty, "\x03")
	}
	go io.Copy(io.Discard, out)
	wantCode(t, cmd, 9)
}

// A terminal that hangs up tells its session leader alone. If that is the wrapper, the command hears it.
func TestHangup(t *testing.T) {
	for _, group := range groups {
		t.Run(group, func(t *testing.T) {
			c := newCounter(t)
			cmd := exec.Command("wrapper", "count", c.file, "SIGUSR2", group)
			tty, err := pty.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			_, parent := c.ready()
			tty.Close()
			c.got(1)
			kill(t, parent, syscall.SIGUSR2)
			wantCode(t, cmd, 7)
			c.want("SIGHUP", "SIGUSR2")
		})
	}
}

// What a command said and did to signals is in the report; a stack of Go's is never printed.
func TestDisturbed(t *testing.T) {
	for _, tc := range []struct {
		sig  syscall.Signal
		want string
	}{
		{syscall.SIGHUP, "code 7 signal 0 disturbed true"},
		{syscall.SIGINT, "code 7 signal 0 disturbed true"},
		{syscall.SIGQUIT, "code 7 signal 0 disturbed true"},
		{syscall.SIGTERM, "code 7 signal 0 disturbed true"},
		{syscall.SIGUSR1, "code 7 signal 0 disturbed false"},
		{syscall.SIGUSR2, "code 7 signal 0 disturbed false"},
	} {
		t.Run(unix.SignalName(tc.sig), func(t *testing.T) {
			c := newCounter(t)
			report := filepath.Join(t.TempDir(), "report")
			cmd := exec.Command("wrapper", "count", c.file, unix.SignalName(tc.sig))
			cmd.Env = append(os.Environ(), "REPORT="+report)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			c.ready()
			kill(t, cmd.Process.Pid, tc.sig)
			wantCode(t, cmd, 7)
			if out.Len() > 0 {
				t.Errorf("printed %q", out.String())
			}
			if got, _ := os.ReadFile(report); string(got) != tc.want+" after os: process already finished" {
				t.Errorf("report %q, want %q", got, tc.want)
			}
		})
	}
}

// A signal to the whole group counts as received even if the command is gone because of it before the
// wrapper could act on its own.
func TestGroupKillIsNoticed(t *testing.T) {
	needsSender(t)
	for range 20 {
		c := newCounter(t)
		report := filepath.Join(t.TempDir(), "report")
		cmd := exec.Command("wrapper", "count", c.file, "SIGTERM")
		cmd.Env = append(os.Environ(), "REPORT="+report)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c.ready()
		kill(t, -cmd.Process.Pid, syscall.SIGTERM)
		wantCode(t, cmd, 7)
		if got, _ := os.ReadFile(report); !strings.Contains(string(got), "disturbed true") {
			t.Fatalf("report %q", got)
		}
	}
}

// Who waits for a lease is interrupted, and starts nothing.
func TestWaiterIsInterrupted(t *testing.T) {
	for _, sig := range endSignals {
		t.Run(unix.SignalName(sig), func(t *testing.T) {
			cmd := exec.Command("waiter")
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			defer time.AfterFunc(hang, func() { cmd.Process.Kill() }).Stop()
			lines := bufio.NewReader(out)
			lines.ReadString('\n')
			kill(t, cmd.Process.Pid, sig)
			said, _ := io.ReadAll(lines)
			wantCode(t, cmd, 128+int(sig))
			if want := fmt.Sprintf("interrupted by signal %d (%v)\n", int(sig), sig); string(said) != want || errs.Len() > 0 {
				t.Errorf("said %q and %q, want %q", said, errs.String(), want)
			}
		})
	}
}

// Signals that were ignored when the wrapper began are ignored by it and its command, as under env.
func TestIgnoredStaysIgnored(t *testing.T) {
	for _, tc := range []struct{ name, script string }{
		{"nohup", `nohup RUN grep SigIgn /proc/self/status`},
		{"background", `RUN grep SigIgn /proc/self/status & wait`},
		{"trap INT", `trap "" INT; RUN grep SigIgn /proc/self/status; :`},
		{"trap INT QUIT", `trap "" INT QUIT; RUN grep SigIgn /proc/self/status; :`},
		{"plain", `RUN grep SigIgn /proc/self/status; :`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := func(name string) string {
				out, err := exec.Command("sh", "-c", strings.ReplaceAll(tc.script, "RUN", name)).Output()
				if err != nil {
					t.Fatal(err)
				}
				return string(out)
			}
			if env, got := run("env"), run("wrapper"); got != env {
				t.Errorf("got %q, want %q as under env", got, env)
			}
		})
	}
	t.Run("the wrapper too", func(t *testing.T) {
		c := newCounter(t)
		cmd, _ := launch(t, false, "sh", "-c", `trap "" HUP; exec wrapper count "$@"`, "sh", c.file, "SIGUSR2")
		_, parent := c.ready()
		kill(t, parent, syscall.SIGHUP)
		kill(t, parent, syscall.SIGUSR2)
		wantCode(t, cmd, 7)
		c.want("SIGUSR2")
	})
}

// Before Watch too, QUIT does what it does to any program: it ends it, without a stack of Go's, or is ignored.
func TestQuitBeforeWatch(t *testing.T) {
	needsSender(t)
	for script, want := range map[string]string{
		`quit; :`:                       "ends",
		`quit & wait`:                   "ignored",
		`trap "" INT QUIT; quit; :`:     "ignored",
		`trap "" INT; quit; :`:          "ends",
		`trap "" HUP TERM; quit; :`:     "ends",
		`trap "" INT QUIT; quit & wait`: "ignored",
	} {
		out, err := exec.Command("sh", "-c", script).Output()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: QUIT is %s (%v), want: it %s", script, got, err, want)
		}
	}
}
