package steps

import (
	"strconv"
	"time"

	"fslease/fslease"
	"fslease/internal/torture/kit"
)

// canWait reports whether somebody can wait for a key of the row before its command is tried.
func (t *Template) canWait() bool { return t.Row.Takes || t.heldFirst() }

// heldFirst reports whether the row begins with its first key in the hands of somebody who has not ended.
func (t *Template) heldFirst() bool {
	if len(t.Row.Keys) == 0 {
		return false
	}
	k := t.Row.Keys[0]
	return t.before.Keys[k].Current() != nil && !t.before.Dead[k]
}

// Between runs the command under strace with a waiter beside it. One that takes the keys waits itself first, and the waiter behind
// it, for somebody who then gives them back.
func (c *Trial) Between(options ...string) {
	if !c.Row.Takes {
		c.wait()
		c.Wait(c.Start(options...))
		return
	}
	before := c.Now
	held := c.Ledger.Run(append([]string{"acquire", "--ttl", "1h", "-n"}, c.keys()...)...)
	blocker := Row{Answer: c.Row.Keys[0]}
	tokens := blocker.answered(held.Stdout)
	c.newer(before, tokens)
	p := c.Start(options...)
	c.until(func() bool { return c.queued(0) }, p)
	c.wait()
	for _, g := range tokens {
		if r := c.Ledger.Run("release", string(g.Key), "--token", strconv.FormatInt(g.Generation, 10)); r.Code != 0 {
			c.Violate("%s cannot be released: %v", g.Key, r)
		}
	}
	c.Wait(p)
}

// wait starts the next command and returns when it waits.
func (c *Trial) wait() {
	c.waiter = c.Ledger.Start(c.next("60s")...)
	c.until(func() bool { return c.queued(c.waiter.Process.Pid) }, c.waiter)
}

// until waits for what must come true before the process ends.
func (c *Trial) until(holds func() bool, p *kit.Process) {
	for deadline := time.Now().Add(guard); !holds(); time.Sleep(time.Millisecond) {
		select {
		case <-p.Ended():
			return
		default:
		}
		if time.Now().After(deadline) {
			c.Violate("nobody enters the queue: %v", p.Args)
			return
		}
	}
}

// Entered checks that the waiter got its turn.
func (c *Trial) Entered() { c.nextEnded(c.Now, c.waiter.WaitFor(guard)) }

func (c *Trial) keys() []string {
	var keys []string
	for _, k := range fslease.FoldKeys(c.Row.Keys) {
		keys = append(keys, string(k))
	}
	return keys
}
