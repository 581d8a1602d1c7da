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

// takeovers kills a holder and its command n times while one waits, and returns how long each time it took from the
// kill to the start of the successor's command.
func takeovers(l *Ledger, n int) []time.Duration {
	l.t.Helper()
	start := func(i int) *Process {
		os.Remove(filepath.Join(l.Work, fmt.Sprintf("command%d", i)))
		return l.Start("run", "k", "--", "sh", "-c", `echo $$ >"$1"; exec sleep 300`, "sh", fmt.Sprintf("command%d", i))
	}
	holder := start(0)
	command := l.UntilPid("command0")
	var all []time.Duration
	for i := 1; i <= n; i++ {
		name := fmt.Sprintf("command%d", i)
		next := start(i)
		l.until("it is queued and sleeps", func() bool { return queued(l, "k") == 1 && watching(next.Pid) })
		killed := time.Now()
		holder.Signal(syscall.SIGKILL)
		if err := syscall.Kill(command, syscall.SIGKILL); err != nil {
			l.t.Fatal(err)
		}
		command = l.UntilPid(name)
		info, err := os.Stat(filepath.Join(l.Work, name))
		if err != nil {
			l.t.Fatal(err)
		}
		all = append(all, info.ModTime().Sub(killed))
		holder.Wait()
		holder = next
	}
	holder.Kill()
	l.End(command)
	return all
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// starts returns how long each of n runs takes that nobody is in the way of.
func starts(l *Ledger, n int) []time.Duration {
	l.t.Helper()
	var all []time.Duration
	for range n {
		start := time.Now()
		l.Run("run", "free", "--", "true").Want(l.t, 0)
		all = append(all, time.Since(start))
	}
	return all
}

// A dead holder is noticed by its death, not by looking again after a second: the successor's command starts as soon as
// one starts that need not wait, give or take a factor that no slowness of the machine changes.
func TestTakeoverIsPrompt(t *testing.T) {
	const rounds = 50
	l := NewLedger(t)
	var all, starting []time.Duration
	for range rounds / 5 { // by turns, so that whatever else the machine does slows both
		all, starting = append(all, takeovers(l, 5)...), append(starting, starts(l, 5)...)
	}
	took, free := median(all), median(starting)
	t.Logf("median of %d takeovers: %v; of as many free runs: %v", rounds, took, free)
	if took > 8*free+20*time.Millisecond {
		t.Errorf("the successor's command starts after %v in the median; a free run takes %v", took, free)
	}
}

func BenchmarkTakeover(b *testing.B) {
	l := NewLedger(b)
	var all []time.Duration
	for b.Loop() {
		all = append(all, takeovers(l, 1)...)
	}
	b.ReportMetric(float64(median(all).Microseconds())/1000, "median-ms")
}

// cpu returns the CPU time that a living process has used itself.
func cpu(t testing.TB, pid int) time.Duration {
	t.Helper()
	var sum time.Duration
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range threads {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		on, _, _ := strings.Cut(string(data), " ")
		ns, err := strconv.ParseInt(on, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(ns)
	}
	return sum
}

// crowdCost returns the CPU time that all processes of a crowd of n use from when its holder ends until the last one
// has had its turn.
func crowdCost(t testing.TB, n int) time.Duration {
	t.Helper()
	c := gather(t, "k", n)
	var before time.Duration
	for _, pid := range append(c.pids(), c.holder.Pid, c.shell.Pid) {
		before += cpu(t, pid)
	}
	c.l.Sh("echo >go").Want(t, 0)
	c.holder.Wait().Want(t, 0)
	c.drain(upTo(1, n))
	return c.holder.cpu + c.shell.cpu - before
}

// Draining a crowd costs each of its members the same, however many they are: who waits is woken for its own turn, not
// for everybody's.
func TestCrowdCost(t *testing.T) {
	cost := func(n int) time.Duration {
		each := crowdCost(t, n) / time.Duration(n)
		t.Logf("%d waiters: %v each", n, each)
		return each
	}
	// What else the machine does makes caches cold and waits long: what the code itself costs is there each time.
	for range 4 {
		if few := min(cost(50), cost(100)); cost(200) <= 2*few {
			return
		}
	}
	t.Error("each of 200 waiters costs more than twice what each of a smaller crowd does")
}

func BenchmarkCrowd(b *testing.B) {
	for _, n := range []int{50, 100, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var sum time.Duration
			for b.Loop() {
				sum += crowdCost(b, n)
			}
			b.ReportMetric(float64(sum.Microseconds())/1000/float64(b.N*n), "cpu-ms/waiter")
		})
	}
}
