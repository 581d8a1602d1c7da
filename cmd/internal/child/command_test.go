package child

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Both ways to run a command.
var runners = []string{"wrapper", "execwrapper"}

// An exit code is the command's own; 128+n tells of the signal that ended it.
func TestExitCode(t *testing.T) {
	for script, want := range map[string]int{
		"exit 0": 0, "exit 7": 7, "exit 200": 200, "exit 255": 255,
		"kill -TERM $$": 143, "kill -KILL $$": 137, "kill -USR1 $$": 138, "ulimit -c 0; kill -SEGV $$": 139,
	} {
		t.Run(script, func(t *testing.T) {
			cmd := exec.Command("wrapper", "sh", "-c", script)
			report := filepath.Join(t.TempDir(), "report")
			cmd.Env = append(os.Environ(), "REPORT="+report)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			wantCode(t, cmd, want)
			signal := 0
			if want > 128 && strings.Contains(script, "kill") {
				signal = want - 128
			}
			says := fmt.Sprintf("code %d signal %d disturbed false after os: process already finished", want, signal)
			if got, _ := os.ReadFile(report); string(got) != says {
				t.Errorf("report %q, want %q", got, says)
			}
		})
	}
}

// What cannot be started is told by 127 or 126, and a reason.
func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "echo hi\n", 0o600)
	bare := file("bare", "echo hi\n", 0o700)
	orphan := file("orphan", "#!/no/such/shell\n", 0o700)
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		argv []string
		code int
		says string
	}{
		{[]string{"no-such-command"}, 127, "cannot run no-such-command: command not found"},
		{[]string{""}, 127, "cannot run : command not found"},
		{[]string{"/no/such/command"}, 127, "cannot run /no/such/command: no such file or directory"},
		{[]string{plain + "/x"}, 127, "cannot run " + plain + "/x: not a directory"},
		{[]string{orphan}, 127, "cannot run " + orphan + ": the program that should interpret it is missing: no such file or directory"},
		{[]string{plain}, 126, "cannot run " + plain + ": permission denied"},
		{[]string{"plain"}, 126, "cannot run plain: permission denied"},
		{[]string{"folder"}, 126, "cannot run folder: is a directory"},
		{[]string{dir}, 126, "cannot run " + dir + ": permission denied"},
		{[]string{bare}, 126, "cannot run " + bare + ": exec format error: a script needs a first line such as #!/bin/sh"},
		{[]string{"true", strings.Repeat("x", 1<<18)}, 126, "cannot run true: argument list too long"},
	} {
		for _, run := range runners {
			t.Run(run+"/"+filepath.Base(tc.argv[0]), func(t *testing.T) {
				// The kernel would refuse such an argument to the wrapper too.
				argv := tc.argv
				if len(argv) == 2 {
					c := Command{Argv: argv, Env: os.Environ()}
					if _, err := Start(c); err == nil || err.Error() != tc.says || err.(*StartError).ExitCode() != tc.code {
						t.Errorf("got %v, want %s", err, tc.says)
					}
					return
				}
				cmd := exec.Command(run, argv...)
				cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":"+dir)
				var errs bytes.Buffer
				cmd.Stderr = &errs
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				wantCode(t, cmd, tc.code)
				if errs.String() != tc.says+"\n" {
					t.Errorf("said %q, want %q", errs.String(), tc.says)
				}
			})
		}
	}
}

// A command is found as env finds it.
func TestFound(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here"), []byte("#!/bin/sh\necho found $0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	wrapper, err := exec.LookPath("wrapper")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, path string }{
		{"here", "PATH=" + dir}, {"here", "PATH="}, {"here", "PATH=/nowhere::/bin"}, {"./here", "PATH=/bin"}, {"true", "X="},
	} {
		t.Run(tc.path, func(t *testing.T) {
			run := func(program string) string {
				cmd := exec.Command(program, tc.name)
				cmd.Dir, cmd.Env = dir, []string{tc.path}
				out, err := cmd.CombinedOutput()
				return fmt.Sprint(err, string(out))
			}
			// Of the same file, env says PATH= as here, the wrapper as ./here.
			if env, got := run("/usr/bin/env"), run(wrapper); strings.ReplaceAll(got, "./", "") != strings.ReplaceAll(env, "./", "") {
				t.Errorf("got %q, want %q", got, env)
			}
		})
	}
}

// Arguments, environment, stdin and stdout pass byte for byte.
func TestPassesUntouched(t *testing.T) {
	argv := []string{"", "a b", "\xff\xfe", "*", "'\"$x", "", "--", "-n", strings.Repeat("y", 1<<16), "last\n"}
	for range 200 {
		argv = append(argv, strings.Repeat("z", 1000))
	}
	input := bytes.Repeat([]byte("\x00\x01\xff\r\n"), 100_000)
	for _, run := range runners {
		t.Run(run, func(t *testing.T) {
			cmd := exec.Command(run, append([]string{"sh", "-c", "cat /proc/$$/cmdline; :", "sh"}, argv...)...)
			out, err := cmd.Output()
			if want := "sh\x00-c\x00cat /proc/$$/cmdline; :\x00sh\x00" + strings.Join(argv, "\x00") + "\x00"; err != nil || string(out) != want {
				t.Errorf("arguments differ: %v, %d bytes", err, len(out))
			}
			cmd = exec.Command(run, "cat")
			cmd.Stdin = bytes.NewReader(input)
			if out, err = cmd.Output(); err != nil || !bytes.Equal(out, input) {
				t.Errorf("input differs: %v, %d bytes", err, len(out))
			}
			cmd = exec.Command(run, "env", "-0")
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "A=\xff", "B=", "A=again"}
			env := exec.Command("env", "env", "-0")
			env.Env = cmd.Env
			got, err := cmd.Output()
			if want, _ := env.Output(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("environment %q, want %q", got, want)
			}
		})
	}
}

// Of this process's descriptors the command gets what it would get under env, and those that it is to
// inherit; each of these is still close-on-exec here (the wrapper checks).
func TestDescriptors(t *testing.T) {
	run := func(program string) string {
		cmd := exec.Command("sh", "-c", `exec "$0" descriptors 5</dev/null 7>&1`, program)
		cmd.Env = append(os.Environ(), "INHERIT=900 907", "REPORT="+filepath.Join(t.TempDir(), "report"))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	want := run("env") + "900 907 "
	for _, program := range runners {
		if got := run(program); got != want {
			t.Errorf("%s: got %q, want %q", program, got, want)
		}
	}
}

// The command has the limit on open files that the wrapper was started with, not the one of Go's runtime.
func TestLimit(t *testing.T) {
	for _, run := range runners {
		out, err := exec.Command("sh", "-c", `ulimit -Sn 200; ulimit -Hn 300; "$0" sh -c "ulimit -Sn; ulimit -Hn"`, run).Output()
		if err != nil || string(out) != "200\n300\n" {
			t.Errorf("%s: got %q, %v", run, out, err)
		}
	}
}

// With Exec the command is the same process, and no signal is caught, blocked or ignored for it.
func TestExec(t *testing.T) {
	cmd := exec.Command("execwrapper", "cat", "/proc/self/status")
	status, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Pid": fmt.Sprint(cmd.ProcessState.Pid()), "SigBlk": "0000000000000000", "SigIgn": "0000000000000000", "SigCgt": "0000000000000000",
	} {
		if !strings.Contains(string(status), "\n"+name+":\t"+want+"\n") {
			t.Errorf("%s is not %s: %s", name, want, status)
		}
	}
}

// The wrapper ends with the command, though a grandchild keeps stdout open.
func TestGrandchildKeepsStdout(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("wrapper", "sh", "-c", "sleep 1000 & echo $!")
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var sleeper int
	if _, err := fmt.Fscan(r, &sleeper); err != nil {
		t.Fatal(err)
	}
	wantCode(t, cmd, 0)
	kill(t, sleeper, 0) // it lives
	kill(t, sleeper, 9)
	io.Copy(io.Discard, r)
}
