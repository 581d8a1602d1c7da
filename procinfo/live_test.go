package procinfo

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestSelfIsAlive(t *testing.T) {
	id, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	want(t, Judge(id, true), Alive, "is running")
	bootID, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if id.BootID+"\n" != string(bootID) || id.PID != os.Getpid() || id.UID != os.Getuid() {
		t.Errorf("%+v", id)
	}
	if cwd, _ := os.Getwd(); id.Cwd != cwd || !reflect.DeepEqual(id.Command, os.Args) {
		t.Errorf("cwd %q, command %q", id.Cwd, id.Command)
	}
	if raw, err := os.ReadFile("/etc/machine-id"); err == nil && len(raw) >= 32 {
		if len(id.MachineID) != 32 || strings.Contains(string(raw), id.MachineID) {
			t.Errorf("machine id %q is no hash of %q", id.MachineID, raw)
		}
	}
}

// What a process says of itself is what others see of it, in every field.
func TestOfAgreesWithSelf(t *testing.T) {
	cmd := helperCommand("live", "two words", "", "\xff\n")
	cmd.Dir = t.TempDir()
	h, self := startLive(t, cmd)
	self.Command = cmd.Args // JSON has no place for the bad byte
	of, err := Of(h.Process.Pid)
	if err != nil || !reflect.DeepEqual(of, self) {
		t.Errorf("%v\nof   %+v\nself %+v", err, of, self)
	}
	if of.StartTime == 0 || of.PIDNS == 0 || of.UID != os.Getuid() {
		t.Errorf("%+v", of)
	}
	h.end()
	if _, err := Of(h.Process.Pid); !errors.Is(err, ErrNoProcess) {
		t.Errorf("of a process that is gone: %v", err)
	}
	for _, pid := range []int{0, -1, 1 << 32, 1<<32 + os.Getpid(), -1<<32 + os.Getpid()} {
		if _, err := Of(pid); !errors.Is(err, ErrNoProcess) {
			t.Errorf("of process %d: %v", pid, err)
		}
	}
}

func TestOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not run: needs root: to run a process as another user")
	}
	h, _ := startLive(t, helperCommand("setuid", "65534", "live"))
	id, err := Of(h.Process.Pid)
	if err != nil || id.UID != 65534 || id.User != userName(65534) {
		t.Errorf("%+v, %v", id, err)
	}
}

func TestGoneAndZombie(t *testing.T) {
	h, id := startLive(t, helperCommand("live"))
	want(t, Judge(id, true), Alive, "is running")
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "its last thread has ended", func() bool { return Judge(id, true).State == Dead })
	want(t, Judge(id, true), Dead, "zombie")
	if _, err := Of(id.PID); !errors.Is(err, ErrNoProcess) {
		t.Errorf("of a zombie: %v", err)
	}
	h.end()
	want(t, Judge(id, true), Dead, "process "+strconv.Itoa(id.PID)+" is gone")
}

// A process ends with its last thread, although it looks like a zombie from the end of its first on.
func TestZombieWithALiveThreadIsAlive(t *testing.T) {
	h, id := startLive(t, helperCommand("end-first-thread"))
	if _, err := h.in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	untilState(t, id.PID, 'Z')
	want(t, Judge(id, true), Alive, "another thread")
	of, err := Of(id.PID)
	if err != nil || of.StartTime != id.StartTime || len(of.Command) != 1 {
		t.Errorf("%+v, %v", of, err)
	}
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "its last thread has ended", func() bool { return Judge(id, true).State == Dead })
	want(t, Judge(id, true), Dead, "zombie")
}

func TestLookingLeavesNoDescriptors(t *testing.T) {
	alive, aliveID := startLive(t, helperCommand("live"))
	zombie, zombieID := startLive(t, helperCommand("live"))
	if err := zombie.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, "its last thread has ended", func() bool { return Judge(zombieID, true).State == Dead })
	before := openFiles(t)
	for range 20 {
		Judge(aliveID, true)
		Judge(zombieID, true)
		_, _ = Of(alive.Process.Pid)
		_, _ = Of(zombie.Process.Pid)
		_, _ = Self()
		_, _ = OpenDeath(zombieID)
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d open files, before %d", after, before)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

func TestStoppedIsAlive(t *testing.T) {
	h, id := startLive(t, helperCommand("live"))
	if err := h.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	untilState(t, id.PID, 'T')
	want(t, Judge(id, true), Alive, "stopped")
}

// A process keeps its identity when it executes another program, from whichever thread: a wrapper may
// let its command take its place.
func TestExecKeepsTheIdentity(t *testing.T) {
	h, id := startLive(t, helperCommand("exec-in-second-thread", "live"))
	self, err := Of(h.Process.Pid)
	self.Command = id.Command
	if err != nil || !reflect.DeepEqual(self, id) {
		t.Errorf("%v\n%+v\n%+v", err, self, id)
	}
}

// The name of a process is anything, also what looks like the rest of a stat or status line.
func TestNames(t *testing.T) {
	for _, name := range []string{"a) S 1 (b", ") Z 1 1 1", "(", "a\nNSpid:\t1\n", "\\n\x01\xff"} {
		program := filepath.Join(t.TempDir(), name) // the kernel names a process after its file
		if err := os.Symlink(executable, program); err != nil {
			t.Fatal(err)
		}
		cmd := helperCommand("live")
		cmd.Path = program
		h, id := startLive(t, cmd)
		if comm, _ := os.ReadFile(proc.path(strconv.Itoa(id.PID), "comm")); string(comm) != name+"\n" {
			t.Fatalf("it is called %q, not %q", comm, name)
		}
		want(t, Judge(id, true), Alive, "is running")
		if of, err := Of(id.PID); err != nil || of.StartTime != id.StartTime {
			t.Errorf("%q: %v, %+v", name, err, of)
		}
		h.end()
		want(t, Judge(id, true), Dead, "is gone")
	}
}
