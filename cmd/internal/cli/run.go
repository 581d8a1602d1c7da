package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/child"
	"fslease/fslease"
	"fslease/ledgerfs"
)

func runCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run a command under a lease, with the command's own exit code",
		UsageText: "lease run [OPTIONS] KEY... -- COMMAND [ARG...]",
		Flags: append(waitOptions(),
			text("fence-wait", "DUR", "wait this long for what ran under the last lease"),
			text("conflict-exit-code", "N", "exit code when a key is held (75)", "E"),
			text("ttl", "DUR", "how long the lease lasts after a renewal (60s)"),
			text("heartbeat", "DUR", "renew this often (ttl/4)"),
			text("note", "TEXT", "for whoever looks at the lease"),
			text("on-lost", "term|ignore", "what to do to the command if the lease is lost"),
			text("kill-after", "DUR", "how long after TERM to kill it (10s)"),
			text("fence", "command|tree", "what a successor waits for"),
			flag("exec", "the command takes lease's place and holds"),
			flag("reentrant", "join a lease that this runs under already"),
			text("ticket", "ID", "work on a ticket, with its scope; KEY is optional"),
			text("then", "review|done|keep", "what the ticket becomes on exit 0, else BLOCKED"),
		),
		Description: `The command finds LEASE_KEY, LEASE_TOKEN, LEASE_KEYS and LEASE_LEDGER set.

examples:
  lease run deploy -- make deploy
  lease run -n --note nightly repo/api repo/web -- ./build.sh || echo "exit $?"`,
		Action: c.runUnderLease,
	}
}

// runOptions is what was asked of run.
type runOptions struct {
	request   fslease.Request
	ignore    bool // --on-lost ignore
	killAfter time.Duration
	tree      bool // --fence=tree
	exec      bool
	reentrant bool
	asked     []fslease.Key    // --reentrant: all keys, those that are joined among them
	conflict  int              // exit code for a key that is held
	joined    []fslease.Record // --reentrant: leases of others that the command is to run under too
	ticket    string           // --ticket, "" if it is not given
	then      string           // --then
}

func (c *call) runOptions(ctx *cli.Context) (runOptions, error) {
	o := &options{ctx: ctx}
	r := runOptions{
		request: fslease.Request{ // the keys last: one that is missing may stand where a duration should
			Wait: o.wait(), TTL: o.positive("ttl", 0), Heartbeat: o.positive("heartbeat", 0),
			Note: o.note(), Keys: o.keysBeside("ticket"), Command: c.argv, Fence: true,
		},
		ignore:    o.choice("on-lost", "term", "ignore") == "ignore",
		killAfter: o.duration("kill-after", 10*time.Second),
		tree:      o.choice("fence", "command", "tree") == "tree",
		exec:      o.execOptions(),
		reentrant: o.flag("reentrant"),
		conflict:  75,
		ticket:    o.ticketOptions(),
		then:      o.choice("then", "review", "done", "keep"),
	}
	if o.has("fence-wait") {
		limit := o.duration("fence-wait", 0)
		r.request.FenceWait = &limit
	}
	if o.has("conflict-exit-code") {
		r.conflict = int(o.number("conflict-exit-code", 0, 255, ""))
	}
	o.command(c)
	return r, o.err
}

// command checks that there is a command to run.
func (o *options) command(c *call) {
	if len(c.argv) == 0 {
		o.fail(o.ctx.Command.UsageText, "no command is given: it stands after --")
	}
}

func (c *call) runUnderLease(ctx *cli.Context) error {
	r, err := c.runOptions(ctx)
	if err != nil {
		return err
	}
	signals := child.Watch()
	l, err := c.openToChange(ctx.Context)
	if err != nil {
		return err
	}
	r.request.Under = under()
	if r.ticket != "" {
		return c.runTicket(l, r, signals)
	}
	own, err := l.inScope(ctx.Context, r.request.Keys)
	if err != nil {
		return err
	}
	if len(own) > 0 {
		return c.runUnder(l, r, own, signals)
	}
	if r.reentrant {
		joined, rest, err := l.joined(ctx, r.request.Keys)
		if err != nil {
			return err
		}
		if len(rest) == 0 {
			return c.runUnder(l, r, joined, signals)
		}
		if r.request.Beside, err = l.notJoined(signals.Context(), joined); err != nil {
			return c.refusedToRun(r, err)
		}
		r.asked, r.joined, r.request.Keys = r.request.Keys, joined, rest
	}
	if r.exec {
		return c.runExec(l, r, signals)
	}
	lease, err := c.acquireToRun(l, r, signals)
	if err != nil {
		return c.refusedToRun(r, err)
	}
	if err := l.current(signals.Context(), r.joined); err != nil { // one was lost while others were waited for
		_ = lease.Unfence()
		_ = lease.Release() // err says what went wrong
		return err
	}
	err = c.runHeld(l, r, held{
		Lease: lease, env: environment(l.Path(), r.records(lease.Records())), joined: r.joined,
		end: func(child.Status, error) error { return lease.Release() },
	})
	if err != nil || c.exit == lostCode {
		return err
	}
	return c.heldThroughout(l.current(context.Background(), r.joined))
}

// records are those that the command runs under, in the order in which their keys were asked for.
func (r runOptions) records(own []fslease.Record) []fslease.Record {
	if len(r.joined) == 0 {
		return own
	}
	var all []fslease.Record
	for _, k := range r.asked {
		for _, rec := range slices.Concat(r.joined, own) {
			if rec.Key.Covers(k) && !slices.ContainsFunc(all, func(o fslease.Record) bool { return o.Key == rec.Key }) {
				all = append(all, rec)
			}
		}
	}
	return all
}

// A held is a lease that a command is to run under.
type held struct {
	*fslease.Lease
	env    []string
	joined []fslease.Record                // leases of others that it is to run under too
	end    func(child.Status, error) error // gives it back after the command's end, or says why it could not start
}

// runHeld runs the command, watches over its lease, and gives that back.
func (c *call) runHeld(l *opened, r runOptions, h held) error {
	process, err := child.Start(child.Command{Argv: c.argv, Env: h.env, Inherit: descriptors(h.Fence())})
	if err != nil {
		_ = h.Unfence()
		_ = h.end(child.Status{}, err) // err says what went wrong
		return err
	}
	noted := c.noteCommand(l, h, process)
	if len(h.joined) > 0 {
		forget := c.noteFenced(l, h.joined, process)
		defer forget()
	}
	status := c.attend(l, r, h.Lease, process)
	return c.settle(r, h, process, status, noted)
}

func (c *call) acquireToRun(l *opened, r runOptions, signals *child.Signals) (*fslease.Lease, error) {
	w := c.waiting()
	defer w.done()
	r.request.Waiting = w.tell
	return l.leases.AcquireRequest(signals.Context(), r.request)
}

// settle gives the lease back after the command's end, and finds the exit code. If the command ended by
// itself, the fence is unlocked for whatever it left running. After any other end the fence lasts until
// the last process that inherited it is gone.
func (c *call) settle(r runOptions, h held, process *child.Process, status child.Status, noted <-chan struct{}) error {
	c.exit = status.Code
	lost := h.Err()
	if lost == nil && endedByItself(process, status) && !r.tree {
		_ = h.Unfence() // what fails here keeps the fence, which is the safe side
	}
	end := func() error {
		<-noted
		return h.end(status, nil)
	}
	if lost != nil {
		c.exit = c.fail(lost) // told before, unless it was noticed only now
		briefly(end)
		return nil
	}
	err := end()
	switch {
	case is[*fslease.LostError](err):
		return err
	case err != nil:
		c.fail(fmt.Errorf("the lease is not given back, but counts as dead from now on: %w", err))
	}
	return nil
}

// noteCommand notes which process the command is, for a successor to wait for.
func (c *call) noteCommand(l *opened, h held, process *child.Process) (noted <-chan struct{}) {
	return c.note(l, process, func(command fslease.Holder) error {
		return h.Presence().(*ledgerfs.Presence).NoteCommand(h.Records(), command)
	})
}

// descriptors are those of a fence, for the command to inherit.
func descriptors(f fslease.Fence) []int {
	if f, ok := f.(*ledgerfs.Fence); ok && f != nil {
		return f.Descriptors()
	}
	return nil
}
