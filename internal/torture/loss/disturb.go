package loss

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// trace delays a system call of the wrapper by strace. It returns how to end that, nil if it cannot be done.
func (s *stage) trace(call, how string, delay time.Duration) (release func()) {
	pid := s.holder.Process.Pid
	strace := s.StartSh(`exec strace -f -qq -o /dev/null -e trace="$1" -e inject="$1:$2=$3" -p "$4"`, call, how, fmt.Sprintf("%dms", delay.Milliseconds()), fmt.Sprint(pid))
	ended := false
	s.Until("strace traces all threads of the wrapper", func() bool {
		select {
		case <-strace.Ended():
			ended = true
		default:
		}
		return ended || traced(pid, strace.Process.Pid)
	})
	if ended {
		s.t.NotRun("system calls that hang: needs strace: %s", strace.Wait().Stderr)
		return nil
	}
	return func() {
		s.Signal(strace.Process.Pid, unix.SIGKILL)
		<-strace.Ended()
	}
}

// traced reports whether all threads of a process are traced by another one.
func traced(pid, tracer int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, file := range threads {
		status, err := os.ReadFile(file)
		if err == nil && !strings.Contains(string(status), fmt.Sprintf("TracerPid:\t%d\n", tracer)) {
			return false
		}
	}
	return len(threads) > 0
}

// noDescriptors lets the wrapper open no more files.
func (s *stage) noDescriptors() {
	var limit unix.Rlimit
	err := unix.Prlimit(s.holder.Process.Pid, unix.RLIMIT_NOFILE, nil, &limit)
	if err == nil {
		limit.Cur = 0
		err = unix.Prlimit(s.holder.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil)
	}
	if err != nil {
		s.t.Violate("the limit of the wrapper's descriptors cannot be set: %v", err)
	}
}

// seal makes a folder immutable, or ends that.
func seal(dir string, sealed bool) error {
	const immutable = 0x10 // FS_IMMUTABLE_FL
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	flags &^= immutable
	if sealed {
		flags |= immutable
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags)
}

// syncGrants makes the ledger one whose every write is synced.
func (s *stage) syncGrants() bool {
	if r := s.Run("run", "anything", "--", "true"); r.Code != 0 {
		s.t.Violate("%v", r)
		return false
	}
	name := filepath.Join(s.Dir, "ledger.json")
	var config map[string]any
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &config)
	}
	if err == nil {
		config["settings"] = map[string]any{"sync_grants": true}
		data, err = json.Marshal(config)
	}
	if err == nil {
		err = os.WriteFile(name, data, 0o600)
	}
	if err != nil {
		s.t.Violate("ledger.json: %v", err)
	}
	return err == nil
}
