package ledgerfs

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fslease/hostproc"
)

// TestHelper is what this binary does as another process: see helper and examineIn.
func TestHelper(t *testing.T) {
	arg := os.Getenv("LEDGERFS_HELPER_ARG")
	switch os.Getenv("LEDGERFS_HELPER") {
	case "lock":
		fd, err := unix.Open(arg, unix.O_RDONLY, 0)
		if err == nil {
			err = unix.Flock(fd, unix.LOCK_EX)
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("ready")
		time.Sleep(time.Hour)
	case "inotify": // uses up all instances, then is the next helper
		for {
			if _, err := unix.InotifyInit1(0); err != nil {
				break
			}
		}
		examineForOthers(t, arg)
	case "examine":
		examineForOthers(t, arg)
	}
}

func examineForOthers(t *testing.T, dir string) {
	l, err := Open(dir, Options{Processes: hostproc.New()})
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(l.Examine(ctx, nil))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(data))
}

func helperCommand(mode, arg string, through ...string) *exec.Cmd {
	argv := append(through, os.Args[0], "-test.run=^TestHelper$")
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "LEDGERFS_HELPER="+mode, "LEDGERFS_HELPER_ARG="+arg)
	cmd.Stderr = os.Stderr
	return cmd
}

// helper starts this binary as another process, which lives until the test ends, and returns its pid.
func helper(t *testing.T, mode, arg string) int {
	t.Helper()
	cmd := helperCommand(mode, arg)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("the helper said %q, %v", line, err)
	}
	return cmd.Process.Pid
}

// examineIn examines the ledger dir in a process that is started through a script, which ends in exec "$@",
// in mount and other namespaces of its own.
func examineIn(t *testing.T, namespaces, script, mode, dir string) []Finding {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not run: needs root: for namespaces and mounts")
	}
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip("not run: needs unshare: ", err)
	}
	out, err := helperCommand(mode, dir, "unshare", namespaces, "sh", "-ec", script, "sh").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var found []Finding
	if err := json.Unmarshal(out[:len(out)-len("PASS\n")], &found); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return found
}
