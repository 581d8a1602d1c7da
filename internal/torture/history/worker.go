package history

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fslease/internal/torture/kit"
)

// A worker gives one command after another.
type worker struct {
	*round
	name  string
	rand  *rand.Rand
	made  int
	pace  time.Duration // what a command takes, about
	owner *owner
	held  []held
	stale []held // what it had once
}

// held is a token that a worker has.
type held struct {
	key   string
	token int64
	ttl   time.Duration
	owner *owner
}

func (h held) words() []string { return []string{h.key, "--token", strconv.FormatInt(h.token, 10)} }

func (h held) release() *call {
	return &call{kind: release, keys: []string{h.key}, token: h.token, ttl: h.ttl, owner: h.owner, args: append([]string{"release"}, h.words()...)}
}

func (w *worker) work() {
	w.pace = 20 * time.Millisecond
	for w.left.Add(-1) >= 0 && !w.Ended() {
		w.disturb(w.rand)
		w.make(w.choose())
	}
	for len(w.held) > 0 && !w.Ended() { // so that those who still wait get what they wait for
		w.make(w.held[0].release())
	}
	if w.owner != nil {
		w.owner.kill()
	}
}

// make makes a call and records it.
func (w *worker) make(c *call) {
	c.worker = w.name
	w.do(c)
	w.learn(c)
	w.mu.Lock()
	w.calls = append(w.calls, c)
	w.mu.Unlock()
}

// choose makes the next call.
func (w *worker) choose() *call {
	if len(w.held) > 0 && w.rand.IntN(10) < 6 {
		return w.under(w.held[w.rand.IntN(len(w.held))])
	}
	if len(w.stale) > 0 && w.rand.IntN(20) == 0 {
		return w.under(w.stale[w.rand.IntN(len(w.stale))])
	}
	switch n := w.rand.IntN(100); {
	case n < 4:
		key := allKeys[w.rand.IntN(len(allKeys))]
		return &call{kind: breaks, keys: []string{key}, args: []string{"break", key, "--reason", "torture", "--json"}}
	case n < 45:
		return w.run(chooseKeys(w.rand))
	default:
		return w.acquire(chooseKeys(w.rand))
	}
}

// waiting says how long a call waits, or that it does not.
func (w *worker) waiting(c *call) {
	if c.waits = w.rand.IntN(2) == 0; c.waits {
		c.args = append(c.args, "--wait", fmt.Sprintf("%dms", 50+w.rand.IntN(400)))
	} else {
		c.args = append(c.args, "-n")
	}
}

func (w *worker) run(keys []string) *call {
	c := &call{kind: run1, keys: keys, args: []string{"run", "-q"}, ttl: time.Minute}
	if w.rand.IntN(10) == 0 {
		c.ttl = 200 * time.Millisecond
		c.args = append(c.args, "--ttl", "200ms")
	}
	w.waiting(c)
	c.args = append(c.args, keys...)
	w.attach(c)
	return c
}

// attach gives a call some work.
func (w *worker) attach(c *call) {
	w.made++
	c.id = fmt.Sprintf("%s-%d", w.name, w.made)
	c.args = append(append(c.args, "--"), w.witness.Command(c.id, w.upTo(10*time.Millisecond))...)
}

func (w *worker) acquire(keys []string) *call {
	c := &call{kind: acquire, keys: keys, args: []string{"acquire", "-q"}}
	if w.rand.IntN(3) == 0 {
		if w.owner == nil {
			w.owner = &owner{process: w.ledger.StartSh("exec sleep 600")}
		}
		c.owner = w.owner
		c.args = append(c.args, "--pid", strconv.Itoa(c.owner.process.Process.Pid))
	} else {
		c.ttl = []time.Duration{150 * time.Millisecond, time.Second, time.Minute}[w.rand.IntN(3)]
		c.args = append(c.args, "--ttl", c.ttl.String())
	}
	w.waiting(c)
	c.args = append(c.args, keys...)
	return c
}

// under makes a call with a token.
func (w *worker) under(h held) *call {
	c, token := h.release(), h.words()
	switch n := w.rand.IntN(100); {
	case n < 40:
	case n < 65:
		c.kind, c.args = renew, append([]string{"renew"}, token...)
	case n < 75:
		c.kind, c.args = check, append([]string{"check"}, token...)
	case n < 82 && w.owner != nil:
		c.kind, c.owner, c.ttl = transfer, w.owner, 0
		c.args = append(append([]string{"transfer", "-n"}, token...), "--to-pid", strconv.Itoa(c.owner.process.Process.Pid))
	default:
		c.kind, c.args = fenced, append([]string{"fenced", "-q"}, token...)
		w.attach(c)
	}
	return c
}

// do gives the command, and kills or stops it now and then.
func (w *worker) do(c *call) {
	c.start = kit.Mono()
	p := w.ledger.Start(c.args...)
	switch n := w.rand.IntN(100); {
	case n < 6:
		w.kill(c, p)
	case n < 11:
		w.stop(c, p)
	case n < 12 && w.owner != nil:
		w.owner.kill()
		w.Made(kills, 1)
		w.owner = nil
	}
	c.result = p.Wait()
	c.end = kit.Mono()
	took := time.Duration(c.end - c.start)
	w.pace += (min(took, 100*time.Millisecond) - w.pace) / 8
	if c.killed = c.result.Signal == syscall.SIGKILL; c.killed {
		w.Made(kills, 1)
	}
}

// pause sleeps for a while in which a command may have come to any point, and reports whether it still runs.
func (w *worker) pause(p *kit.Process) bool {
	select {
	case <-p.Ended():
		return false
	case <-time.After(w.upTo(w.pace)):
		return true
	}
}

// kill kills the command, what it runs, or both.
func (w *worker) kill(c *call, p *kit.Process) {
	if !w.pause(p) {
		return
	}
	children := kit.Children(p.Process.Pid)
	self := []int{p.Process.Pid}
	victims := [][]int{self, children, slices.Concat(children, self), slices.Concat(self, children)}[w.rand.IntN(4)]
	c.killedAt = kit.Mono()
	for _, pid := range victims {
		if syscall.Kill(pid, syscall.SIGKILL) == nil && pid != p.Process.Pid {
			w.Made(kills, 1)
		}
	}
}

// stop stops the command or what it runs for a while; now and then its lock files are gone when it goes on.
func (w *worker) stop(c *call, p *kit.Process) {
	if !w.pause(p) {
		return
	}
	pid := p.Process.Pid
	if children := kit.Children(pid); len(children) > 0 && w.rand.IntN(2) == 0 {
		pid = children[0]
	}
	syscall.Kill(pid, syscall.SIGSTOP)
	if w.rand.IntN(2) == 0 {
		removeLocks(w.ledger)
	}
	lasts := w.upTo(60 * time.Millisecond)
	if c.kind == run1 && c.ttl < time.Second {
		lasts += c.ttl
	}
	time.Sleep(lasts)
	syscall.Kill(pid, syscall.SIGCONT)
	w.Made("stops", 1)
}

// learn takes over what a call brought: the tokens that it was given, and that others are gone.
func (w *worker) learn(c *call) {
	if c.kind == acquire && c.result.Code == 0 {
		c.tokens = granted(c.keys, c.result.Stdout)
		for _, key := range c.keys {
			w.held = append(w.held, held{key, c.tokens[key], c.ttl, c.owner})
		}
		return
	}
	if c.kind == breaks && c.result.Code == 0 {
		var broken struct{ Generation int64 }
		if err := json.Unmarshal([]byte(c.result.Stdout), &broken); err != nil {
			panic(err)
		}
		c.token = broken.Generation
		return
	}
	if c.token == 0 || c.kind == check || c.kind == fenced || !c.killed && c.result.Code == 0 && c.kind == renew || c.result.Code == 75 {
		return
	}
	w.held = slices.DeleteFunc(w.held, func(h held) bool { return h.key == c.keys[0] && h.token == c.token })
	w.stale = append(w.stale, held{c.keys[0], c.token, c.ttl, c.owner})
	if c.kind == transfer && c.result.Code == 0 {
		c.tokens = granted(c.keys, c.result.Stdout)
		w.held = append(w.held, held{c.keys[0], c.tokens[c.keys[0]], 0, c.owner})
	}
}

// granted reads the answer of acquire or transfer.
func granted(keys []string, answer string) map[string]int64 {
	tokens := map[string]int64{}
	for line := range strings.Lines(answer) {
		token, key, several := strings.Cut(strings.TrimSpace(line), "\t")
		if !several {
			key = keys[0]
		}
		tokens[key], _ = strconv.ParseInt(token, 10, 64)
	}
	return tokens
}

func (w *worker) upTo(d time.Duration) time.Duration { return time.Duration(w.rand.Int64N(int64(d))) }
