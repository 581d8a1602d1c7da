package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A crowd is many waiters for one key, numbered from 1 in the order in which they came. One shell starts them, each
// when the one before it stands in the queue. The command of each writes a line when it begins and one when it ends.
type crowd struct {
	l       *Ledger
	key     string
	holder  *Process // has the key until the file go is there
	command int      // the holder's
	shell   *Process // ends when the last waiter has
}

// gather starts the holder of key and n waiters of one user, another one than the tests', who may have 128 inotify
// instances.
func gather(t testing.TB, key string, n int) *crowd {
	t.Helper()
	needs(t, "root", "unshare")
	l := NewLedger(t)
	l.Open()
	if err := os.Chmod(filepath.Dir(l.Dir), 0o777); err != nil {
		t.Fatal(err)
	}
	l = l.As(64321)

	c := &crowd{l: l, key: key}
	c.holder = l.Start("run", key, "--", "sh", "-c", `echo $$ >command; until test -e go; do sleep .05; done`)
	c.command = l.UntilPid("command")
	feedRead, feed, err := os.Pipe()
	if err != nil {
		l.t.Fatal(err)
	}
	scarce := l.In("unshare", "--user", "--map-root-user", "sh", "-c", `echo 128 >/proc/sys/user/max_inotify_instances && exec "$@"`, "sh")
	c.shell = scarce.Stdin(feedRead).StartSh(`while read n; do
		lease run -q "$1" -- sh -c 'echo "$1 in" >>order; echo "$1 out" >>order' sh "$n" &
		echo $! >>pids
	done; wait`, key)
	feedRead.Close()
	for i := 1; i <= n; i++ {
		fmt.Fprintln(feed, i)
		l.until(fmt.Sprintf("waiter %d is queued", i), func() bool { return queued(l, key) >= i })
	}
	feed.Close()
	return c
}

// pids returns the waiters in their order.
func (c *crowd) pids() []int {
	c.l.t.Helper()
	var pids []int
	for _, f := range strings.Fields(c.l.File("pids")) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			c.l.t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// drain waits for the end of all, and wants the commands of just these waiters to have run, in this order, none beside
// another. In the end nobody is left in the queue.
func (c *crowd) drain(numbers []int) {
	c.l.t.Helper()
	select {
	case <-c.shell.done:
	case <-time.After(3 * hangGuard):
		c.l.t.Fatalf("%d still wait; these ran:\n%s", queued(c.l, c.key), c.l.File("order"))
	}
	var want []string
	for _, n := range numbers {
		want = append(want, fmt.Sprintf("%d in", n), fmt.Sprintf("%d out", n))
	}
	if got := strings.Split(c.l.File("order"), "\n"); !slices.Equal(got, want) {
		c.l.t.Fatalf("the commands ran in this order:\n%s\nwant\n%s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
	if n := queued(c.l, c.key); n != 0 {
		c.l.t.Fatalf("%d are left in the queue", n)
	}
}

// queued counts who stands in the queue of a key.
func queued(l *Ledger, key string) int {
	entries, _ := filepath.Glob(filepath.Join(l.Dir, "queue", key, "*.json"))
	return len(entries)
}

// upTo returns the numbers from..to.
func upTo(from, to int) []int {
	var all []int
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

// 200 waiters of one user who may have 128 inotify instances: all run, in the order in which they came, none is lost,
// and never two at once.
func TestCrowd(t *testing.T) {
	c := gather(t, "k", 200)
	l := c.l
	if n := watchers(l); n == 0 || n > 128 {
		t.Fatalf("%d of the 200 have an inotify instance", n)
	}
	l.Sh("echo >go").Want(t, 0)
	c.holder.Wait().Want(t, 0)
	c.drain(upTo(1, 200))
}

// watchers counts the processes that have an inotify instance.
func watchers(l *Ledger) int {
	n := 0
	for _, pid := range l.Pids(leaseBinary) {
		if watching(pid) {
			n++
		}
	}
	return n
}

func watching(pid int) bool {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return slices.ContainsFunc(fds, func(fd string) bool { link, _ := os.Readlink(fd); return link == "anon_inode:inotify" })
}

// Waiters 1 to 50 of 200 are killed, the holder and its command too: the rest go on, in order.
func TestCrowdWithDead(t *testing.T) {
	c := gather(t, "k", 200)
	for _, pid := range c.pids()[:50] {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	c.holder.Kill()
	c.l.End(c.command)
	c.drain(upTo(51, 200))
}
