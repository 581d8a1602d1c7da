package steps

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"fslease/fslease"
	"fslease/internal/torture/kit"
)

// A Trial is one command on a ledger of its own.
type Trial struct {
	*Bench
	Row    Row
	Ledger *kit.Ledger
	Before State
	Now    State
	Result kit.Result
	Calls  []string // that strace changed

	what    string // was done to it
	told    highest
	granted []Grant // by the command itself
	waiter  *kit.Process
	again   []Grant // when the command was typed once more
}

// Trial makes a copy of the template's ledger to try a command on. what is done to it.
func (b *Bench) Trial(t *Template, what string) (*Trial, error) {
	c := &Trial{Bench: b, Row: t.Row, Ledger: b.ledger(), Before: t.before, what: what, told: highest{}}
	if err := t.copyTo(c.Ledger); err != nil {
		c.Ledger.Close()
		return nil, fmt.Errorf("copy the ledger of %s: %w", t.Row.Name(), err)
	}
	for k, st := range t.before.Keys {
		c.told[k] = st.Generation()
	}
	return c, nil
}

// Close removes the ledger, and ends what hangs on it. (Other processes of it have ended: the next command waited for them.)
func (c *Trial) Close() {
	if c.Result.Hung {
		c.Ledger.Close()
	}
	_ = os.RemoveAll(filepath.Dir(c.Ledger.Dir))
}

// guard is how long a command may take; longer than a lock is waited for.
const guard = 40 * time.Second

// Start starts the command under strace with these options.
func (c *Trial) Start(options ...string) *kit.Process {
	return c.Ledger.Env(c.Row.Env...).In(strace(c.trace(), options...)...).Start(c.args()...)
}

// Wait waits for its end and looks at what it left.
func (c *Trial) Wait(p *kit.Process) {
	c.Result = p.WaitFor(guard)
	c.Result.Args = c.args()
	c.Calls = injected(c.trace())
	c.Now = look(c.Ledger.Dir)
	c.granted = c.Row.answered(c.Result.Stdout)
	c.newer(c.Before, c.granted)
}

func (c *Trial) trace() string  { return filepath.Join(c.Ledger.Work, "..", "trace") }
func (c *Trial) args() []string { return c.Row.words(c.pid(), c.work) }

// Violate says what was done, what was seen, and what should have been.
func (c *Trial) Violate(format string, args ...any) {
	calls := c.Calls[:min(len(c.Calls), 5)]
	c.t.Violate("%s; %s\n%v\ncalls changed: %d: %s\n%s", c.Row.Name(), c.what, c.Result, len(c.Calls), strings.Join(calls, "\n"), fmt.Sprintf(format, args...))
}

// Killed reports whether the command was killed.
func (c *Trial) Killed() bool { return c.Result.Signal == syscall.SIGKILL && !c.Result.Hung }

// Missing says what is missing for the command to be done; "" if it is.
func (c *Trial) Missing() string {
	return c.Row.Done(After{Before: c.Before, Now: c.Now, Granted: c.granted})
}

// Ran reports whether the command ran its own.
func (c *Trial) Ran() bool { return c.Row.Works && len(c.granted) > 0 }

// newer checks that generations that were granted are above all that were told before, unless they belong to leases that
// were held already, and notes them.
func (c *Trial) newer(before State, grants []Grant) {
	for _, g := range grants {
		cur := before.Keys[g.Key].Current()
		if g.Generation <= c.told[g.Key] && (cur == nil || cur.Generation != g.Generation) {
			c.Violate("generation %d of %s was granted although %d was told before", g.Generation, g.Key, c.told[g.Key])
		}
	}
	c.told.add(grants)
}

// Sound checks the ledger as it is: what is on record can be read, and nothing that was told is below it.
func (c *Trial) Sound() {
	c.Now = look(c.Ledger.Dir)
	for _, d := range c.Now.Damaged {
		if !slices.Contains(c.Before.Damaged, d) && len(c.Before.Damaged) == 0 {
			c.Violate("the ledger is damaged: %s", d)
		}
	}
	for k, g := range c.told {
		if c.Row.Command != "gc" && c.Row.Case != "--repair" && c.Now.Keys[k].Generation() < g {
			c.Violate("generation %d of %s was told, and %d is on record", g, k, c.Now.Keys[k].Generation())
		}
	}
}

// Doctor asks lease itself whether the ledger is well.
func (c *Trial) Doctor() {
	if r := c.Ledger.Run("doctor"); r.Code != 0 && len(c.Now.Damaged) == 0 {
		c.Violate("lease doctor finds a promise broken: %v", r)
	}
}

// Again types the command once more, which must succeed or say that it is done. It is done then, and if somebody waits he may have
// changed that already.
func (c *Trial) Again() {
	if c.waiter != nil && c.Row.Command == "break" {
		return // it may hit the one who waited
	}
	if c.Row.Command == "acquire" {
		c.freeAnswered()
	}
	before := c.Now
	r := c.Ledger.Env(c.Row.Env...).Start(c.args()...).WaitFor(guard)
	if r.Code != 0 && !slices.Contains(c.Row.Again, r.Code) || r.Hung || r.Signal != 0 {
		c.Violate("typed once more, the command does not succeed: %v", r)
	}
	c.Now = look(c.Ledger.Dir)
	granted := c.Row.answered(r.Stdout)
	if c.waiter != nil {
		c.again = granted // who knows which of the two was first
		return
	}
	c.newer(before, granted)
	if r.Code != 0 {
		granted = c.granted
	}
	if missing := c.Row.Done(After{Before: c.Before, Now: c.Now, Granted: granted}); missing != "" {
		c.Violate("typed once more, the command ended with %d and is not done: %s", r.Code, missing)
	}
}

// freeAnswered breaks what the command took for somebody else, whether its answer reached anybody or not: a command that is killed
// between the two cannot help that.
func (c *Trial) freeAnswered() {
	for k, st := range c.Now.Keys {
		if c.inTheWay(k) && !st.Lease.Holder.IsTicket() && c.Before.Keys[k].Generation() < st.Lease.Generation {
			c.brk(k)
		}
	}
	c.Now = look(c.Ledger.Dir)
}

// inTheWay reports whether somebody has a key who has not ended, and is not the one who waited.
func (c *Trial) inTheWay(k fslease.Key) bool {
	cur := c.Now.Keys[k].Current()
	return cur != nil && !c.Now.Dead[k] && (c.waiter == nil || cur.Holder.PID != int64(c.waiter.Process.Pid))
}

func (c *Trial) brk(k fslease.Key) {
	if r := c.Ledger.Run("break", string(k), "--reason", "torture"); r.Code != 0 && c.waiter == nil {
		c.Violate("the key cannot be broken: %v", r)
	}
}

// Free ends what holds the row's keys rightly, but for who waited.
func (c *Trial) Free() {
	c.Now = look(c.Ledger.Dir)
	for k, st := range c.Now.Keys {
		switch {
		case !c.inTheWay(k):
		case !st.Lease.Holder.IsTicket():
			c.brk(k)
		case c.Now.Tickets[st.Lease.Holder.Ticket].Status.Live():
			if r := c.Ledger.Run("ticket", "cancel", st.Lease.Holder.Ticket, "--force", "--reason", "torture"); r.Code != 0 {
				c.Violate("the ticket cannot be cancelled: %v", r)
			}
			c.Now = look(c.Ledger.Dir)
		}
	}
}

// Next checks that the keys can be had at once, by a command that waits only for what may still run under them.
func (c *Trial) Next() {
	if len(c.Row.Keys) == 0 {
		return
	}
	before := c.Now
	c.nextEnded(before, c.Ledger.Start(c.next("20s")...).WaitFor(guard))
}

func (c *Trial) next(wait string) []string {
	return slices.Concat([]string{"run", "--wait", wait}, c.keys(), []string{"--", c.work})
}

// nextEnded checks how the next command ended, and that nothing is left of the one before.
func (c *Trial) nextEnded(before State, r kit.Result) {
	if r.Code != 0 || r.Hung {
		c.Violate("the keys cannot be had afterwards: %v", r)
	}
	granted := c.Row.answered(r.Stdout)
	c.newer(before, granted)
	for _, g := range granted {
		if slices.Contains(c.again, g) {
			c.Violate("generation %d of %s was granted twice", g.Generation, g.Key)
		}
	}
	if wrong := overlaps(filepath.Join(c.Ledger.Work, "worked")); wrong != "" {
		c.Violate("work overlapped: %s", wrong)
	}
	for _, k := range fslease.FoldKeys(c.Row.Keys) {
		if r.Code == 0 && last(granted, k) == 0 {
			c.Violate("the next command succeeded, and did not run under %s: %v", k, r)
		}
	}
	if left := litter(c.Ledger.Dir, c.Row.Keys); len(left) > 0 {
		c.Violate("the next holder left %v", left)
	}
}

// Collected checks that lease gc clears all that is left, once it is old enough.
func (c *Trial) Collected() {
	for _, name := range litter(c.Ledger.Dir, nil) { // those of no key are told from what is being written by their age
		_ = os.Chtimes(filepath.Join(c.Ledger.Dir, name), time.Time{}, time.Now().Add(-2*time.Hour))
	}
	if r := c.Ledger.Run("gc"); r.Code != 0 {
		c.Violate("lease gc fails: %v", r)
	}
	if left := litter(c.Ledger.Dir, nil); len(left) > 0 {
		c.Violate("lease gc left %v", left)
	}
	c.Sound()
}
