package procinfo

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The next process gets the number of a dead one, in a pid namespace where that can be arranged.
func TestReusedPid(t *testing.T) {
	h := start(t, in(t, unix.CLONE_NEWPID|unix.CLONE_NEWNS, helperCommand("mount-proc", "", "reuse")))
	pid := strconv.Itoa(read[int](t, h))
	byStartTime := "pid " + pid + " was reused (start time differs)"
	first, _ := Self()
	for _, test := range []struct {
		what   string
		state  State
		reason string
		needs  bool // a kernel with pidfs
	}{
		{"the first process", Dead, "was reused", false},
		{"the first, pidfd inode not known", Dead, byStartTime, false},
		{"the first, with the start time of the second", Dead, "pid " + pid + " was reused (pidfd inode differs)", true},
		{"the second", Alive, "is running", false},
		{"the first, after a thread got the number", Dead, byStartTime, false},
	} {
		v := read[Verdict](t, h)
		if test.needs && first.PidfdInode == 0 {
			t.Log("not run: needs Linux 6.9: ", test.what)
			continue
		}
		t.Log(test.what, "-", v.State, v.Reason)
		want(t, v, test.state, test.reason)
	}
	if err := read[string](t, h); err != "" {
		t.Errorf("of the number of a thread: %s", err)
	}
}

// reuse answers with the verdicts of TestReusedPid. It is the first process of its pid namespace.
func reuse() error {
	first, cmd, err := startAt(0)
	if err != nil {
		return err
	}
	end(cmd)
	time.Sleep(30 * time.Millisecond) // three clock ticks, the unit of start times
	second, cmd, err := startAt(first.PID)
	if err != nil {
		return err
	}
	noInode, mixed := first, first
	noInode.PidfdInode = 0
	mixed.StartTime = second.StartTime
	err = errors.Join(answer(first.PID), answer(Judge(first, true)), answer(Judge(noInode, true)),
		answer(Judge(mixed, true)), answer(Judge(second, true)))
	end(cmd)
	err = errors.Join(err, threadAt(first.PID), answer(Judge(first, true)))
	if _, ofErr := Of(first.PID); !errors.Is(ofErr, ErrNoProcess) {
		return errors.Join(err, answer(fmt.Sprint("no ErrNoProcess: ", ofErr)))
	}
	return errors.Join(err, answer(""))
}

const attempts = 1000

// startAt starts a process with the number pid, 0 for any.
func startAt(pid int) (Identity, *exec.Cmd, error) {
	for range attempts {
		if err := nextPid(pid); err != nil {
			return Identity{}, nil, err
		}
		cmd := exec.Command("/bin/sleep", "600")
		if err := cmd.Start(); err != nil {
			return Identity{}, nil, err
		}
		if pid == 0 || cmd.Process.Pid == pid {
			id, err := Of(cmd.Process.Pid)
			return id, cmd, err
		}
		end(cmd)
	}
	return Identity{}, nil, fmt.Errorf("no process got pid %d", pid)
}

// threadAt starts a thread of this process with the number tid.
func threadAt(tid int) error {
	for range attempts {
		if err := nextPid(tid); err != nil {
			return err
		}
		got := make(chan int)
		go func() {
			runtime.LockOSThread() // and it is never unlocked, so that the next goroutine needs a new thread
			got <- unix.Gettid()
			select {}
		}()
		if <-got == tid {
			return nil
		}
	}
	return fmt.Errorf("no thread got tid %d", tid)
}

// nextPid makes pid, unless it is 0, the next number that the kernel gives away, if nobody comes between.
func nextPid(pid int) error {
	if pid == 0 {
		return nil
	}
	return os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0)
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}
