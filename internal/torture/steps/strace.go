package steps

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"fslease/internal/torture/kit"
)

// Marker makes the command say, by a system call that nothing else makes, that its main function is about to begin: what the
// runtime does before is not ours. Its file comes after the one of kit.Pinned, for which the runtime starts a thread.
var Marker = kit.Edit{File: "cmd/lease/zmarked.go", New: `package main

import "syscall"

func init() { _, _, _ = syscall.RawSyscall(syscall.SYS_GETPRIORITY, 0, 0, 0) }
`}

// traced are the system calls that touch a path, a descriptor, a lock or a process, without those for memory and for the runtime's
// own threads.
const traced = "%file,%desc,%process,getpriority"

var untouched = []string{"getpriority", "mmap", "munmap", "mremap", "arch_prctl", "tgkill", "execve", "epoll_pwait", "exit"}

// A Step is the N-th system call of its name that a thread makes.
type Step struct {
	Call string
	N    int
	Seen string // the call as it was seen when the steps were listed; "" if only other threads than the main one made it
}

func (s Step) String() string { return fmt.Sprintf("%s number %d (%s)", s.Call, s.N, s.Seen) }

// changing are the calls that leave something that others can see.
var changing = []string{
	"write", "pwrite64", "renameat", "renameat2", "unlinkat", "mkdirat", "linkat", "symlinkat", "fsync", "fdatasync", "flock", "fchmod", "fchmodat",
	"fchown", "ftruncate", "clone", "kill", "pidfd_send_signal", "exit_group",
}

// others is a look at another process. There are many, and nothing depends on one.
var others = regexp.MustCompile(`/proc/\d+/(stat|status|fd)\b`)

// Changes reports whether the call leaves something that others can see, as far as that is known.
func (s Step) Changes() bool {
	return slices.Contains(changing, s.Call) || strings.Contains(s.Seen, "O_CREAT") || strings.Contains(s.Seen, "O_TMPFILE")
}

// strace is how a command is started under strace, which follows its threads but not what it starts.
func strace(out string, args ...string) []string {
	return append([]string{"strace", "-f", "-y", "-qq", "-b", "execve", "-o", out}, args...)
}

// steps lists the steps of a command after its main function began, from what strace wrote of a whole run.
func steps(file string) ([]Step, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	counts := map[string]map[string]int{} // of a thread, of a call
	before := map[string]int{}            // of the main thread
	seen := map[string]string{}
	main, began := "", false
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		thread, call, _ := strings.Cut(lines.Text(), " ")
		call = strings.TrimLeft(call, " ")
		name, _, ok := strings.Cut(call, "(")
		if !ok || strings.ContainsAny(name, " <+-") {
			continue // the end of a call, a signal, the end of a thread
		}
		if main == "" {
			main = thread
		}
		if counts[thread] == nil {
			counts[thread] = map[string]int{}
		}
		if name == "getpriority" && thread == main {
			began, before = true, maps.Clone(counts[main])
		}
		counts[thread][name]++
		if thread == main {
			seen[fmt.Sprint(name, counts[main][name])] = call
		}
	}
	if !began {
		return nil, fmt.Errorf("the main function did not begin: %w", lines.Err())
	}
	var all []Step
	for _, name := range slices.Sorted(maps.Keys(most(counts))) {
		for n := before[name] + 1; n <= most(counts)[name]; n++ {
			s := Step{name, n, seen[fmt.Sprint(name, n)]}
			if !slices.Contains(untouched, name) && !others.MatchString(s.Seen) {
				all = append(all, s)
			}
		}
	}
	return all, lines.Err()
}

// most is how often each call was made by the thread that made it most often.
func most(counts map[string]map[string]int) map[string]int {
	all := map[string]int{}
	for _, of := range counts {
		for name, n := range of {
			all[name] = max(all[name], n)
		}
	}
	return all
}

// injected returns the calls that strace changed, from what it wrote.
func injected(file string) []string {
	data, _ := os.ReadFile(file)
	var calls []string
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, "(INJECTED)") {
			_, call, _ := strings.Cut(strings.TrimSpace(line), " ")
			calls = append(calls, call)
		}
	}
	return calls
}
