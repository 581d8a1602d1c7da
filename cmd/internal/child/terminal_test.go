package child

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// A shell is an interactive bash in a terminal. What is typed is echoed there, so that what is waited for
// must not be in it: hence the "" within words.
type shell struct {
	t   *testing.T
	tty *os.File
	cmd *exec.Cmd

	mu  sync.Mutex
	out string // not yet waited for
}

func newShell(t *testing.T) *shell {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("not run: needs bash")
	}
	sh := &shell{t: t, cmd: exec.Command("bash", "--norc", "--noprofile", "--noediting", "-i")}
	sh.cmd.Dir = t.TempDir()
	sh.cmd.Env = append(os.Environ(), "TERM=dumb", "PS1=$ ", "HISTFILE=")
	var err error
	if sh.tty, err = pty.Start(sh.cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := sh.tty.Read(buf)
			sh.mu.Lock()
			sh.out += string(buf[:n])
			sh.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		sh.cmd.Process.Kill()
		sh.cmd.Wait()
		sh.tty.Close()
	})
	sh.see("$ ")
	return sh
}

// press sends keys, and line a line.
func (sh *shell) press(keys string)               { io.WriteString(sh.tty, keys) }
func (sh *shell) line(format string, args ...any) { sh.press(fmt.Sprintf(format, args...) + "\n") }

// see waits for text in the output, and skips what is before it.
func (sh *shell) see(text string) (before string) {
	sh.t.Helper()
	until(sh.t, text, func() bool {
		sh.mu.Lock()
		defer sh.mu.Unlock()
		var found bool
		if before, text, found = cut(sh.out, text); found {
			sh.out = text
		}
		return found
	})
	return before
}

func cut(s, sep string) (before, rest string, found bool) {
	before, rest, found = strings.Cut(s, sep)
	if !found {
		rest = sep
	}
	return before, rest, found
}

// file is the content of a file in the working directory of the shell.
func (sh *shell) file(name string) string {
	data, _ := os.ReadFile(filepath.Join(sh.cmd.Dir, name))
	return string(data)
}

// likeEnv runs a test with env in the wrapper's place first: what is wanted is what a shell does then.
func likeEnv(t *testing.T, test func(t *testing.T, run string)) {
	for _, run := range []string{"env", "wrapper"} {
		t.Run(run, func(t *testing.T) { test(t, run) })
	}
}

// ^Z stops the job, the shell has the terminal meanwhile, fg continues it.
func TestStopAndForeground(t *testing.T) {
	likeEnv(t, func(t *testing.T, run string) {
		sh := newShell(t)
		sh.line("%s cat > out; echo the e\"\"nd $?", run)
		until(t, "the file", func() bool { _, err := os.Stat(filepath.Join(sh.cmd.Dir, "out")); return err == nil })
		sh.line("one")
		until(t, "the first line", func() bool { return sh.file("out") == "one\n" })
		sh.press("\x1a")
		sh.see("Stopped")
		sh.line("echo free $((40+2))")
		sh.see("free 42")
		sh.line("jobs -l")
		sh.see("Stopped")
		sh.line("fg")
		sh.see("cat > out")
		sh.line("two")
		until(t, "the second line", func() bool { return sh.file("out") == "one\ntwo\n" })
		sh.press("\x1a")
		sh.see("Stopped")
		sh.line("fg; echo status $?")
		sh.see("cat > out")
		sh.press("\x04")
		sh.see("status 0")
	})
}

// Wrapper and command stand still while the job is stopped.
func TestStopStopsBoth(t *testing.T) {
	needsSender(t)
	for _, group := range []string{"", "own"} { // in a session of its own ^Z stops nobody
		t.Run(group, func(t *testing.T) {
			sh := newShell(t)
			c := newCounter(t)
			sh.line("wrapper count %s SIGUSR2 %s; echo the e\"\"nd $?", c.file, group)
			pid, parent := c.ready()
			for range 2 {
				sh.press("\x1a")
				sh.see("Stopped")
				if !stopped(pid) || !stopped(parent) {
					t.Fatalf("stopped: command %t, wrapper %t", stopped(pid), stopped(parent))
				}
				sh.line("fg")
				sh.see("count")
				until(t, "both continue", func() bool { return !stopped(pid) && !stopped(parent) })
			}
			sh.press("\x1a")
			sh.see("Stopped")
			sh.line("bg; wait; echo status $?")
			until(t, "both continue", func() bool { return !stopped(pid) && !stopped(parent) })
			kill(t, parent, syscall.SIGUSR2)
			sh.see("Exit 7")
			c.want("SIGUSR2")
		})
	}
}

// A command that ignores ^Z is not left alone with a terminal that its shell has taken back.
func TestStopIgnored(t *testing.T) {
	needsSender(t)
	likeEnv(t, func(t *testing.T, run string) {
		sh := newShell(t)
		sh.line(`%s sh -c 'trap "" TSTP; echo rea""dy; read x; echo got-$x'; echo status $?`, run)
		sh.see("ready")
		sh.press("\x1a")
		sh.line("yes")
		if seen := sh.see("status 0"); strings.Contains(seen, "Stopped") || !strings.Contains(seen, "got-yes") {
			t.Errorf("seen: %s", seen)
		}
	})
}

// A command that tidies up at ^Z and then stops itself has the terminal until it does.
func TestStopCaught(t *testing.T) {
	needsSender(t)
	likeEnv(t, func(t *testing.T, run string) {
		sh := newShell(t)
		sh.line(`%s bash -c 'trap "sleep 0.2; stty -tostop; echo ti""dy; kill -STOP \$\$" TSTP; echo rea""dy; while ! read x; do :; done; echo got-$x'; echo status $?`, run)
		sh.see("ready")
		sh.press("\x1a")
		sh.see("tidy")
		sh.see("Stopped")
		sh.line("fg")
		sh.see("got-$x")
		sh.line("yes")
		sh.see("got-yes")
	})
}

// Stopped by kill, not by the terminal: in the foreground the shell takes the terminal back.
func TestStoppedInForeground(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTSTP} {
		for _, group := range []string{"", "own"} {
			t.Run(unix.SignalName(sig)+group, func(t *testing.T) {
				sh := newShell(t)
				c := newCounter(t)
				sh.line("wrapper count %s SIGUSR2 %s", c.file, group)
				pid, parent := c.ready()
				kill(t, pid, sig)
				sh.see("Stopped")
				sh.line("fg; echo status $?")
				until(t, "both continue", func() bool { return !stopped(pid) && !stopped(parent) })
				kill(t, parent, syscall.SIGUSR2)
				sh.see("status 7")
				c.want("SIGUSR2")
			})
		}
	}
}

// Where no shell waits, a stopped command does not stop the wrapper, which would never be continued.
func TestStoppedWithoutShell(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		for _, tc := range []struct {
			sig   syscall.Signal
			group string
		}{{syscall.SIGSTOP, ""}, {syscall.SIGSTOP, "own"}, {syscall.SIGSTOP, "session"}, {syscall.SIGTSTP, "own"}} {
			t.Run(fmt.Sprintf("terminal=%t/%s%s", terminal, unix.SignalName(tc.sig), tc.group), func(t *testing.T) {
				c := newCounter(t)
				cmd, _ := launch(t, terminal, "wrapper", "count", c.file, "SIGUSR2", tc.group)
				pid, parent := c.ready()
				for n := range 2 {
					kill(t, pid, tc.sig)
					until(t, "the stop", func() bool { return stopped(pid) })
					kill(t, parent, syscall.SIGUSR1)
					kill(t, pid, syscall.SIGCONT)
					c.got(n + 1) // passed on by a wrapper that runs
				}
				kill(t, parent, syscall.SIGUSR2)
				wantCode(t, cmd, 7)
				c.want("SIGUSR1", "SIGUSR1", "SIGUSR2")
			})
		}
	}
}

// An interactive shell as the command has its own job control, and can be suspended as a whole.
func TestInteractiveShellInside(t *testing.T) {
	likeEnv(t, func(t *testing.T, run string) {
		sh := newShell(t)
		sh.line(`PS1='inner> ' %s bash --norc --noprofile --noediting -i`, run)
		sh.see("inner> ")
		sh.line("echo sum $((40+2))")
		sh.see("sum 42")
		sh.see("inner> ") // ^C throws away what was typed before it
		sh.press("\x03")
		sh.see("inner> ")
		sh.line("sleep 1000")
		until(t, "the inner job", func() bool { return busy(sh, "sleep") })
		sh.press("\x1a")
		sh.see("Stopped")
		sh.line("fg")
		sh.see("sleep 1000")
		until(t, "the inner job", func() bool { return busy(sh, "sleep") })
		sh.press("\x03")
		sh.see("inner> ")
		sh.line("suspend -f")
		sh.see("Stopped")
		sh.line("echo ou\"\"ter; fg")
		sh.see("outer")
		sh.line("echo again $((50+5))")
		sh.see("again 55")
		sh.line("exit 5")
		sh.see("$ ")
		sh.line("echo status $?")
		sh.see("status 5")
	})
}

// busy reports whether the foreground group of the shell's terminal runs a program of that name.
func busy(sh *shell, name string) bool {
	comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", foreground(int(sh.tty.Fd()))))
	return strings.TrimSpace(string(comm)) == name
}

// A pager reads the terminal by itself, in a pipeline too, and leaves it as it was.
func TestPager(t *testing.T) {
	if _, err := exec.LookPath("less"); err != nil {
		t.Skip("not run: needs less")
	}
	likeEnv(t, func(t *testing.T, run string) {
		sh := newShell(t)
		sh.line("seq 1000 | %s less; echo status $?", run)
		sh.see("RETURN") // a dumb terminal
		sh.line("")
		sh.see("10\r\n")
		sh.press("G")
		sh.see("\n1000\r\n")
		sh.press("q")
		sh.see("status 0")
	})
}

// In the background, reading the terminal stops the whole pipeline, and fg gives it the terminal.
func TestBackgroundPipeline(t *testing.T) {
	likeEnv(t, func(t *testing.T, run string) {
		sh := newShell(t)
		sh.line("%s cat | tr a-z A-Z &", run)
		sh.see("$ ")
		until(t, "the stop", func() bool {
			sh.line("jobs")
			sh.line("echo do\"\"ne")
			return strings.Contains(sh.see("done"), "Stopped")
		})
		sh.line("fg")
		sh.see("tr a-z A-Z\r\n")
		sh.line("text")
		sh.see("TEXT")
		sh.press("\x04")
		sh.line("echo status $?")
		sh.see("status 0")
		sh.line("%s sleep 1000 | %s cat &", run, run)
		sh.line("kill %%1; wait; echo wa\"\"ited")
		sh.see("waited")
	})
}
