package queue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"fslease/internal/torture/kit"
)

// A crowd waits for keys that overlap, while all of them are held.
type crowd struct {
	*kit.T
	number  int
	ledger  *kit.Ledger
	witness *kit.Witness
	rand    *rand.Rand
	waiters []*waiter
	tries   []*waiter
	blind   bool  // half of them get no watcher, and poll
	opened  int64 // when the keys were given back
}

// A waiter is a run that waits, or a try that does not.
type waiter struct {
	*kit.Process
	id     string
	keys   []string
	wave   int
	place  int64 // its number in the queue, 0 if it was never seen there
	killed bool
	told   bool // to end
}

// choices are the keys that are waited for. All are below k and m.
var choices = [][]string{
	{"k"}, {"k"}, {"m"}, {"k/a"}, {"k/b"}, {"k/a/x"}, {"k-a"}, {"k/a", "m"}, {"m/y", "k/b"}, {"k-a", "k/a"}, {"m", "k-a"},
}

func (c *crowd) keys() []string { return choices[c.rand.IntN(len(choices))] }

// noWatchers runs a command in a user namespace that allows no inotify instance.
var noWatchers = []string{"unshare", "--user", "--map-root-user", "sh", "-c", `echo 0 >/proc/sys/user/max_inotify_instances && exec "$@"`, "sh"}

// run returns how many were served.
func (c *crowd) run() int {
	defer c.ledger.Close()
	size := 8 + c.rand.IntN(43)
	if c.blind = c.number%4 == 1; c.blind {
		size = 8 + c.rand.IntN(5)
	}
	open, ok := c.hold()
	if !ok {
		return 0
	}
	for wave := range 2 {
		for range size / 2 {
			c.join(wave)
		}
		if !c.ledger.Until("all have entered the queue", c.allQueued) {
			return 0
		}
	}
	for range 3 {
		c.try(c.keys()) // all is held
	}
	for range size / 8 {
		c.strike(c.rand.IntN(len(c.waiters)))
	}
	c.pass(open)
	for strikes := 0; c.running() > 0 && !c.Ended(); strikes++ {
		if strikes < size { // a third of them hit
			c.strike(c.rand.IntN(3 * len(c.waiters)))
		}
		time.Sleep(c.upTo(20 * time.Millisecond))
	}
	return c.check()
}

func (c *crowd) upTo(d time.Duration) time.Duration { return time.Duration(c.rand.Int64N(int64(d))) }

// hold takes all keys, and returns how they become free: they are released, or their holder is killed.
func (c *crowd) hold() (open func(), ok bool) {
	all := []string{"k", "k-a", "m"}
	if c.rand.IntN(2) == 0 {
		got := c.ledger.Run(append([]string{"acquire", "--ttl", "1h"}, all...)...)
		if got.Code != 0 {
			c.Violate("nobody holds anything: %s", got)
		}
		return func() {
			for _, key := range all {
				if got := c.ledger.Run("release", key, "--token", "1"); got.Code != 0 {
					c.Violate("the token is current: %s", got)
				}
			}
		}, got.Code == 0
	}
	p := c.ledger.Start(append(append([]string{"run"}, all...), append([]string{"--"}, c.witness.Command("holder", time.Hour)...)...)...)
	ok = c.ledger.Until("the holder's command runs", func() bool { return len(c.witness.Log()) == 1 })
	return func() {
		for _, pid := range append(kit.Children(p.Process.Pid), p.Process.Pid) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		c.Made(kills, 2)
	}, ok
}

// join adds a waiter.
func (c *crowd) join(wave int) {
	w := &waiter{id: fmt.Sprintf("w%d", len(c.waiters)), keys: c.keys(), wave: wave}
	l := c.ledger
	if c.blind && c.rand.IntN(2) == 0 {
		l = l.In(noWatchers...)
	}
	w.Process = l.Start(c.words(w, "run", "-q")...)
	c.waiters = append(c.waiters, w)
	time.Sleep(c.upTo(5 * time.Millisecond))
}

func (c *crowd) words(w *waiter, words ...string) []string {
	return append(append(append(words, w.keys...), "--"), c.witness.Command(w.id, c.upTo(2*time.Millisecond))...)
}

// try asks for a key without waiting.
func (c *crowd) try(keys []string) kit.Result {
	w := &waiter{id: fmt.Sprintf("t%d", len(c.tries)), keys: keys}
	w.Process = c.ledger.Start(c.words(w, "run", "-q", "-n")...)
	c.tries = append(c.tries, w)
	return w.Wait()
}

// allQueued reports whether each waiter is in the queue, and notes the places.
func (c *crowd) allQueued() bool {
	places := places(c.ledger.Dir)
	for _, w := range c.waiters {
		if n, ok := places[w.Process.Process.Pid]; ok {
			w.place = n
		}
		if w.place == 0 {
			return false
		}
	}
	return true
}

// strike does something to one of the waiters, if there are so many: kills it, alone or with what it runs, tells it to end, stops
// it for a while, or lets a try come.
func (c *crowd) strike(n int) {
	if n >= len(c.waiters) || ended(c.waiters[n].Process) {
		return
	}
	w := c.waiters[n]
	pid := w.Process.Process.Pid
	switch c.rand.IntN(6) {
	case 0, 1:
		w.killed = true
		syscall.Kill(pid, syscall.SIGKILL)
		c.Made(kills, 1)
	case 2:
		w.killed = true
		for _, pid := range append(kit.Children(pid), pid) {
			syscall.Kill(pid, syscall.SIGKILL)
			c.Made(kills, 1)
		}
	case 3:
		w.told = true
		syscall.Kill(pid, syscall.SIGTERM)
	case 4:
		syscall.Kill(pid, syscall.SIGSTOP)
		time.Sleep(c.upTo(200 * time.Millisecond))
		syscall.Kill(pid, syscall.SIGCONT)
		c.Made("stops", 1)
	case 5:
		c.try(c.keys())
	}
}

// pass stops the first in line, gives the keys back, and lets tries come. The first goes on before it may be passed over.
func (c *crowd) pass(open func()) {
	waiting := slices.DeleteFunc(slices.Clone(c.waiters), func(w *waiter) bool { return w.killed || w.told })
	first := slices.MinFunc(waiting, func(a, b *waiter) int { return int(a.place - b.place) })
	pid := first.Process.Process.Pid
	syscall.Kill(pid, syscall.SIGSTOP)
	c.opened = kit.Mono()
	open()
	const most = 4 * time.Second
	goOn := sync.OnceFunc(func() { syscall.Kill(pid, syscall.SIGCONT) })
	defer goOn()
	defer time.AfterFunc(most, goOn).Stop()
	for range 3 {
		got := c.try(first.keys)
		stopped := time.Duration(kit.Mono() - c.opened)
		if stopped > most-most/10 {
			return
		}
		if got.Code != 75 {
			c.Violate("a try got %v although process %d waits for them, and has for %v only not taken its turn: %s", first.keys, pid, stopped, got)
		}
		c.Made(passes, 1)
	}
}

func (c *crowd) running() int {
	n := 0
	for _, w := range c.waiters {
		if !ended(w.Process) {
			n++
		}
	}
	return n
}

func ended(p *kit.Process) bool {
	select {
	case <-p.Ended():
		return true
	default:
		return false
	}
}

func (w *waiter) String() string {
	return fmt.Sprintf("%s (pid %s, %v, place %d)", w.id, strconv.Itoa(w.Process.Process.Pid), w.keys, w.place)
}
