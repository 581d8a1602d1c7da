package scarcity

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"fslease/internal/torture/kit"
)

const eaterVariable = "LEASE_TORTURE_EATER"

// With the variable set the harness is a process that takes all inotify instances of its user, until its input ends.
func init() {
	if os.Getenv(eaterVariable) == "" {
		return
	}
	for {
		if _, err := unix.InotifyInit1(0); err != nil {
			break
		}
	}
	os.Stdout.Write([]byte{'.'})
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// eat takes all inotify instances of a user.
func eat(uid int) (stop func(), err error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), eaterVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() { in.Close(); _ = cmd.Wait() }
	if _, err := out.Read(make([]byte, 1)); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// strangers returns a ledger of a user of its own, who has all inotify instances that a user may have.
func strangers(t *kit.T) (l *kit.Ledger, uid int) {
	uid = 64000 + t.IntN(1000)
	l = t.Ledger().In("setpriv", "--reuid", fmt.Sprint(uid), "--regid", fmt.Sprint(uid), "--clear-groups")
	if err := os.Mkdir(l.Dir, 0o700); err != nil {
		panic(err)
	}
	if err := errors.Join(os.Chown(l.Dir, uid, uid), os.Chown(l.Work, uid, uid)); err != nil {
		panic(err)
	}
	return l, uid
}

// crowd has n wait for one key, as a user of their own: for lack of inotify instances some or all of them have to poll.
// All get the key, one after the other.
func crowd(t *kit.T, n int, nothing bool) {
	l, uid := strangers(t)
	defer l.Close()
	if nothing {
		stop, err := eat(uid)
		if err != nil {
			t.Violate("the inotify instances of user %d cannot be taken: %v", uid, err)
			return
		}
		defer stop()
	}
	if r := l.Run("acquire", "--ttl", "1h", "k"); r.Code != 0 {
		t.Violate("%v", r)
		return
	}
	var waiting []*kit.Process
	for range n {
		waiting = append(waiting, l.Start("run", "k", "--", "sh", "-c", `n=$(cat count 2>/dev/null); echo $((n + 1)) >count; echo $LEASE_TOKEN`))
	}
	l.Until("all wait", func() bool {
		queue, _ := filepath.Glob(filepath.Join(l.Dir, "queue/k/*.json"))
		return len(queue) == n
	})
	if r := l.Run("release", "k", "--token", "1"); r.Code != 0 {
		t.Violate("%v", r)
	}
	tokens := map[string]bool{}
	for _, p := range waiting {
		r := p.WaitFor(5 * kit.HangGuard)
		if r.Code != 0 || tokens[r.Stdout] {
			t.Violate("one of %d who wait (inotify taken: %v) should have got the key, at a generation of its own\n%v", n, nothing, r)
		}
		tokens[r.Stdout] = true
	}
	if count, _ := os.ReadFile(filepath.Join(l.Work, "count")); strings.TrimSpace(string(count)) != strconv.Itoa(n) {
		t.Violate("%d have counted to %s", n, count)
	}
	t.Made("waiters in a crowd", n)
}

// overflow stops a waiter until more events wait for it than the kernel keeps, so that the release it waits for is not
// among them.
func overflow(t *kit.T) {
	most, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	limit, err2 := strconv.Atoi(strings.TrimSpace(string(most)))
	if err != nil || err2 != nil || limit > 1<<20 {
		t.NotRun("needs a bound of queued inotify events that can be reached: %q, %v", most, err)
		return
	}
	l, _ := strangers(t)
	defer l.Close()
	if r := l.Run("acquire", "--ttl", "1h", "k"); r.Code != 0 {
		t.Violate("a ledger of its own user: %v", r)
		return
	}
	waiter := l.Start("run", "k", "--", "echo", "ran")
	if !l.Until("the waiter watches the lease", func() bool { return watches(waiter.Process.Pid) }) {
		return
	}
	_ = waiter.Process.Signal(syscall.SIGSTOP)
	a, b := filepath.Join(l.Dir, "leases/.a.tmp"), filepath.Join(l.Dir, "leases/.b.tmp")
	err = os.WriteFile(a, nil, 0o600)
	for i := 0; err == nil && i <= limit/2; i++ { // two events each
		err = os.Rename(a, b)
		a, b = b, a
	}
	if err != nil {
		t.Violate("the queue cannot be filled: %v", err)
		return
	}
	if r := l.Run("release", "k", "--token", "1"); r.Code != 0 {
		t.Violate("%v", r)
	}
	_ = waiter.Process.Signal(syscall.SIGCONT)
	if r := waiter.Wait(); r.Code != 0 || r.Stdout != "ran\n" {
		t.Violate("the release was lost among %d events, but the waiter should have got the key\n%v", limit, r)
	}
	t.Made("overflows", 1)
}

// watches reports whether a process has an inotify instance with a watch.
func watches(pid int) bool {
	infos, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	for _, name := range infos {
		if info, err := os.ReadFile(name); err == nil && strings.Contains(string(info), "inotify wd:") {
			return true
		}
	}
	return false
}

// underLoad has eight count together while others take all processor time.
func underLoad(t *kit.T, n int) {
	const together = 8
	l := t.Ledger()
	defer l.Close()
	for range 4 {
		l.In("nice", "-n", "1").StartSh("while :; do :; done")
	}
	each := (n + together - 1) / together
	var counting []*kit.Process
	for range together {
		counting = append(counting, l.StartSh(`for i in $(seq "$1"); do
			lease run count -- sh -c 'n=$(cat count 2>/dev/null); echo $((n + 1)) >count' || exit
		done`, strconv.Itoa(each)))
	}
	for _, p := range counting {
		if r := p.WaitFor(10 * kit.HangGuard); r.Code != 0 {
			t.Violate("under load: %v", r)
		}
	}
	if count, _ := os.ReadFile(filepath.Join(l.Work, "count")); strings.TrimSpace(string(count)) != strconv.Itoa(each*together) {
		t.Violate("%d have counted to %s under load", each*together, count)
	}
	t.Made("runs under load", each*together)
}
