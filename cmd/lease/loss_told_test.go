package main_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func readFile(name string) string {
	data, _ := os.ReadFile(name)
	return string(data)
}

// A lease that is taken away is told, with who took it or what became of it: the command gets TERM, the wrapper ends with
// 76, whatever the command's own exit code is.
func TestLossIsTold(t *testing.T) {
	for name, test := range map[string]struct {
		take string
		says string
	}{
		"broken":   {`lease break k --reason 'the host is gone'`, "broken"},
		"removed":  {`rm "$LEASE_LEDGER/leases/k.json"`, ""},
		"released": {`lease release k --token 1`, "released"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			holder := l.Start("run", "--ttl", "2s", "k", "--", "sh", "-c", toldScript)
			l.UntilFile("cmd")
			l.Sh(test.take).Want(t, 0)
			r := holder.Wait().Want(t, 76).Says(t, "token 1 of k is not current").Says(t, test.says)
			if l.File("told") != "told" || r.Stdout != "" {
				t.Errorf("the command was told %q\n%v", l.File("told"), r)
			}
		})
	}
}

// With --on-lost ignore the command is left alone: only stderr is told, and the exit code is 76 at its end.
func TestLossIgnored(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	holder := l.Start("run", "--ttl", "2s", "--on-lost", "ignore", "--kill-after", "0s", "k", "--", "sh", "-c", toldScript)
	l.UntilFile("cmd")
	l.Run("break", "k", "--reason", "test").Want(t, 0)
	holder.UntilStderr("token 1 of k is not current")
	time.Sleep(500 * time.Millisecond)
	if l.File("told") != "" || !holder.Running() {
		t.Errorf("told: %q\n%v", l.File("told"), holder.result())
	}
	l.touch("done")
	holder.Wait().Want(t, 76)
}

// A command that does not end when it is told of a takeover is killed after --kill-after, not before, and until then
// nobody else's starts, since the fence is kept.
func TestKillAfter(t *testing.T) {
	t.Parallel()
	needs(t, "python3")
	const killAfter = 2 * time.Second
	l := NewLedger(t)
	holder := l.Start("run", "--ttl", "1s", "--kill-after", killAfter.String(), "k", "--", "python3", "-c", heedless)
	command := l.UntilPid("command")
	l.Run("break", "k", "--reason", "test").Want(t, 0)
	next := startRun(l, "k", command)
	l.UntilFile("told")
	told := time.Now() // or a little before
	l.until("it is killed", func() bool { return !alive(command) })
	if after := time.Since(told); after < killAfter-200*time.Millisecond {
		t.Errorf("killed %v after it was told", after)
	}
	holder.Wait().Want(t, 76)
	ranAlone(t, l, next)
}

// A loss that is noticed only when the lease is given back is one too: the command had ended before it could be told.
func TestLossAtTheEnd(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	r := l.Run("run", "--ttl", "1h", "k", "--", "sh", "-c", "lease break k --reason test; exit 3").Want(t, 76)
	r.Says(t, "token 1 of k is not current")
}

// A wrapper that is stopped for longer than the TTL, and continued when somebody else has the lease, tells its command
// and says who took over; its command ran alone all the time.
func TestStoppedWrapperIsToldWhoTookOver(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	holder := l.Start("run", "--ttl", "12s", "k", "--", "sh", "-c", toldScript)
	command := l.UntilPid("cmd")
	stopAfterRenewal(l, holder, "k")
	var all []*Process
	for range contenders {
		all = append(all, l.Start("run", "--ttl", "300s", "k", "--", "sh", "-c", noneOf+"echo ran >>ran", "sh", fmt.Sprint(command)))
	}
	l.until("somebody took over", func() bool { return l.Lease("k").Int("generation") == 2 })
	holder.Signal(syscall.SIGCONT)
	holder.Wait().Want(t, 76).Says(t, "taken over by generation 2")
	for _, p := range all {
		p.Wait().Want(t, 0)
	}
	if l.lines("ran") != contenders || l.File("overlap") != "" || !strings.Contains(l.File("told"), "told") {
		t.Errorf("%d ran, beside %q; told %q", l.lines("ran"), l.File("overlap"), l.File("told"))
	}
}
