package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/child"
	"fslease/fslease"
	"fslease/procinfo"
)

func fencedCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "fenced",
		Usage:     "run a command under a token that is held already",
		UsageText: "lease fenced KEY --token N -- COMMAND [ARG...]",
		Flags:     []cli.Flag{tokenOption()},
		Description: `Checks the token, and keeps the fence while the command runs, so that no work
under a later lease begins before its end. Exit code 76 without a start if the
token is not current, and also if it was lost while the command ran.

examples:
  lease fenced task:42 --token "$token" -- ./work.sh
  lease run job -- sh -c 'lease fenced job --token "$LEASE_TOKEN" -- ./part.sh'`,
		Action: c.fenced,
	}
}

func (c *call) fenced(ctx *cli.Context) error {
	o := &options{ctx: ctx}
	o.command(c)
	key, token := o.anyKey(), o.token()
	if o.err != nil {
		return o.err
	}
	signals := child.Watch()
	l, err := c.openToChange(ctx.Context)
	if err != nil {
		return err
	}
	rec, err := l.leases.Current(ctx.Context, key, token)
	if err != nil {
		return err
	}
	rec.Key = key // of a reservation around it the fence of this key alone is taken
	return c.runUnder(l, runOptions{request: fslease.Request{Wait: fslease.Forever}, conflict: 75}, []fslease.Record{rec}, signals)
}

// heldThroughout returns what the look at a token found after its command had ended. Where nothing could be
// seen that is said, and that the command ran.
func (c *call) heldThroughout(err error) error {
	if err == nil || is[*fslease.LostError](err) {
		return err
	}
	return fmt.Errorf("the command ended with exit code %d, but whether its token was current until then cannot be told: %w", c.exit, err)
}

// runIn runs the command under the fence of others' leases that this process holds for it. If the command ended
// by itself it is unlocked, for whatever it left running too; after any other end, and always with tree, it
// lasts until the last process that inherited it is gone.
func (c *call) runIn(l *opened, fence borrowed, records []fslease.Record, tree bool) (child.Status, error) {
	process, err := child.Start(child.Command{Argv: c.argv, Env: environment(l.Path(), records), Inherit: fence.descriptors()})
	if err != nil {
		_ = fence.Unlock()
		return child.Status{}, err
	}
	forget := c.noteFenced(l, records, process)
	defer forget()
	status := process.Wait()
	if endedByItself(process, status) && !tree {
		_ = fence.Unlock() // what fails here keeps the fence, which is the safe side
	} else {
		_ = fence.Close()
	}
	return status, nil
}

// endedByItself reports whether the command decided to end, as far as its end tells. No signal ended it, and none ended
// what it ran in its turn: a shell, and lease in lease, hand that on as exit code 128+n, and lease says that it has
// ended its command for a lost lease. What a signal did not reach works on.
func endedByItself(process *child.Process, status child.Status) bool {
	bySignal := status.Code > 128 && status.Code <= 128+64 // 64 is the last signal
	return !bySignal && status.Code != lostCode && !process.Disturbed()
}

// noteFenced notes which process the command is, for a successor to wait for. What it returns forgets that. Who joins a fence
// is noted too: by LEASE_KEYS also what was left behind joins one, and that may outlast whoever keeps it.
func (c *call) noteFenced(l *opened, records []fslease.Record, process *child.Process) (forget func()) {
	var saved func()
	noted := c.note(l, process, func(command fslease.Holder) (err error) {
		saved, err = l.NoteFenced(records, command)
		return err
	})
	return func() {
		if <-noted; saved != nil {
			saved()
		}
	}
}

// note finds out which process the command is, and saves that unless it is gone already. It returns a channel that is
// closed then: the ledger may hang, and who watches over the command does not wait.
func (c *call) note(l *opened, process *child.Process, save func(fslease.Holder) error) (noted <-chan struct{}) {
	done := make(chan struct{})
	command, err := l.processes.Child(process.PID()) // while its pid is certainly its own
	go func() {
		defer close(done)
		if err == nil {
			err = save(command)
		}
		c.unnoted(err)
	}()
	runtime.Gosched() // begun now: on one processor it would wait until the wait for the command is seen to last
	return done
}

// unnoted says that a command could not be noted. One that is gone needs no note.
func (c *call) unnoted(err error) {
	if err != nil && !errors.Is(err, procinfo.ErrNoProcess) {
		c.tell("cannot note the command, so only its fence keeps a successor out: %v", err)
	}
}

// execNoted lets the command take this process's place under leases of others, for whose successors it is noted. records are all
// that it runs under. The fence lasts until the last process that inherited it is gone. What comes back is an error.
func (c *call) execNoted(l *opened, others, records []fslease.Record, fence borrowed) error {
	self, err := l.processes.Self()
	forget := func() {}
	if err == nil {
		forget, err = l.NoteFenced(others, self)
	}
	c.unnoted(err)
	err = child.Exec(child.Command{Argv: c.argv, Env: environment(l.Path(), records), Inherit: fence.descriptors()})
	_ = fence.Unlock()
	forget()
	return err
}

// joins reports whether this process runs under the fence of a lease already, so that it would wait for
// itself: it inherited it, or LEASE_KEYS names the lease, and the fence is kept or the lease's command works without it. (What
// somebody left behind who has given the fence up is named still, but nobody keeps its successor out.) In the scope of a ticket the fence of a
// key above is as good, and who runs under that of a key below is refused.
func (l *opened) joins(ctx context.Context, rec fslease.Record) (bool, error) {
	if l.InheritedFence(rec.Key) {
		return true, nil
	}
	for _, h := range heldHere() {
		switch {
		case h.token != rec.Generation:
		case h.key == rec.Key, rec.Holder.IsTicket() && h.key.Covers(rec.Key):
			fence, _, err := l.TryFence(ctx, []fslease.Key{rec.Key})
			if fence == nil {
				return err == nil, err
			}
			_ = fence.Unlock() // it is taken in good order, after the token is looked at
			command, err := l.Working(rec.Holder)
			return command != nil, err
		case rec.Holder.IsTicket() && rec.Key.Covers(h.key):
			return false, &fslease.HeldError{Key: rec.Key, Blocking: &rec, Reason: "this command runs under " + string(h.key) + ", so it would wait for itself"}
		}
	}
	return false, nil
}
