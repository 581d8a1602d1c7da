package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A process that is stopped while it holds a key's lock makes the others give up and name it; it does not make them hang.
func TestStoppedLockHolderIsBusy(t *testing.T) {
	t.Parallel()
	needs(t, "flock")
	for _, lock := range []string{"locks/repo/api.lock", "locks/repo.lock"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			l.Run("acquire", "--ttl", "1h", "repo/api").Want(t, 0)
			l.StartSh(`exec flock --no-fork "$1" sh -c 'echo $$ >locked; kill -STOP $$; exec sleep 1000'`, filepath.Join(l.Dir, lock))
			pid := l.UntilPid("locked")
			l.until("the process is stopped", func() bool { return processState(pid) == "T" })

			var all []*Process
			third := []string{"acquire", "--ttl", "1h", "repo/api"}
			if lock == "locks/repo.lock" {
				// Of repo alone it is this lock that is wanted; with the other one stopped it would wait its turn.
				third = []string{"acquire", "--ttl", "1h", "repo"}
			}
			for _, args := range [][]string{
				{"run", "-n", "repo/api", "--", "touch", "ran"},
				{"run", "repo/api", "--", "touch", "ran"},
				{"acquire", "-n", "--ttl", "1h", "repo/api"},
				third,
				{"renew", "repo/api", "--token", "1"},
				{"release", "repo/api", "--token", "1"},
				{"break", "repo/api", "--reason", "it is in the way"},
				{"release", "--json", "repo/api", "--token", "1"},
			} {
				all = append(all, l.Start(args...))
			}
			// Looking takes no lock, and a key beside it has another.
			l.Run("check", "repo/api", "--token", "1").Want(t, 0)
			l.Run("show", "repo/api").Want(t, 0)
			l.Run("ls").Want(t, 0)
			l.Run("run", "-n", "other", "--", "true").Want(t, 0)
			if lock == "locks/repo/api.lock" {
				l.Run("run", "-n", "repo/web", "--", "true").Want(t, 0)
			}
			for i, p := range all {
				r := p.Wait()
				if i == len(all)-1 {
					if e := r.Want(t, 74).Error(t); e.Str("kind") != "busy" {
						t.Errorf("want the kind busy\n%v", r)
					}
					continue
				}
				if want := map[bool]int{true: 125, false: 74}[i < 2]; r.Code != want {
					t.Errorf("want exit %d\n%v", want, r)
				}
				oneClearLine(t, r, "busy", "pid ")
				if !strings.Contains(r.Stderr, fmt.Sprint(pid)) {
					t.Errorf("want the pid %d\n%v", pid, r)
				}
			}
			if l.File("ran") != "" {
				t.Error("a command was started")
			}

			syscall.Kill(pid, syscall.SIGKILL)
			l.until("the process is gone", func() bool { return !alive(pid) })
			l.Run("release", "repo/api", "--token", "1").Want(t, 0)
		})
	}
}
