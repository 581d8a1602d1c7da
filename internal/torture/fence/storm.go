package fence

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"fslease/internal/torture/kit"
)

const contenders = 8

// storm lets many contend for a few keys, while somebody kills wrappers, waiters and commands at random. Each contender goes on with a
// new run; all come to an end, and afterwards every key is free. It returns how many commands were started.
func storm(t *kit.T, r *rand.Rand) int {
	s := newSite(t)
	defer s.close()
	tasks := make(chan task)
	var all sync.WaitGroup
	var ran atomic.Int64
	for range contenders {
		all.Go(func() {
			for k := range tasks {
				w := s.start(k)
				if result := w.Wait(); result.Hung {
					t.Violate("%v never came to its turn, or to its end: %v\n%s", k, result, s.Run("show", k.keys[0]).Stdout)
				}
				if w.has("ran") {
					t.Made(started, 1)
					ran.Add(1)
				}
			}
		})
	}
	killer := rand.New(rand.NewPCG(r.Uint64(), 4))
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		s.kill(killer, stop)
	}()
	for range 24 {
		if t.Ended() {
			break
		}
		tasks <- randomTask(r)
	}
	close(tasks)
	all.Wait()
	close(stop)
	<-ended
	if t.Ended() {
		return int(ran.Load())
	}
	for _, key := range []string{"repo", "db", outer} {
		w := s.start(task{form: plain, keys: []string{key}, seconds: "0"})
		if result := w.Wait(); result.Code != 0 {
			t.Violate("after a storm %s is not to be had: %v", key, result)
		}
	}
	if notes := s.ledgerFiles("orphans/*.json"); len(notes) > 0 {
		t.Violate("after a storm notes of commands that are gone are left: %v", notes)
	}
	return int(ran.Load())
}

// kill signals wrappers, waiters and commands until it is stopped.
func (s *site) kill(r *rand.Rand, stop <-chan struct{}) {
	for {
		pause, which, number := time.Duration(r.Int64N(int64(20*time.Millisecond))), r.IntN(4), r.IntN(1<<20)
		sig := pick(r, []syscall.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT})
		select {
		case <-stop:
			return
		case <-time.After(pause):
		}
		wrappers, commands := s.victims()
		switch {
		case which < 2 && len(wrappers) > 0:
			s.hit(wrappers[number%len(wrappers)], sig)
		case which >= 2 && len(commands) > 0:
			command := commands[number%len(commands)]
			if which == 3 { // with the wrapper, or what is there instead, before it
				s.hit(parent(command), syscall.SIGKILL)
			}
			s.hit(command, sig)
		}
	}
}

func (s *site) hit(pid int, sig syscall.Signal) {
	if s.Signal(pid, sig) {
		s.t.Made(kills, 1)
	}
}

// victims are the processes of lease, and the commands that work.
func (s *site) victims() (wrappers, commands []int) {
	for _, pid := range s.Pids() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		switch argv := strings.Split(string(line), "\x00"); {
		case argv[0] == "lease":
			wrappers = append(wrappers, pid)
		case len(argv) > 3 && strings.HasSuffix(argv[1], "/work.sh") && argv[2] == "command" && argv[0] == "sh":
			commands = append(commands, pid)
		}
	}
	all := slices.Clone(commands)
	commands = slices.DeleteFunc(commands, func(pid int) bool { return slices.Contains(all, parent(pid)) }) // before its exec
	return wrappers, commands
}

// parent returns the parent of a process, 0 if it is gone.
func parent(pid int) int {
	fields := kit.Stat(pid)
	if len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}
