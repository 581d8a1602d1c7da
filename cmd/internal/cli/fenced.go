package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/child"
	"fslease/fslease"
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
	key, token := o.anyKey(), o.token()
	o.command(c)
	if o.err != nil {
		return o.err
	}
	signals := child.Watch()
	l, err := c.open()
	if err != nil {
		return err
	}
	fence, err := c.enterFence(l, key, token, signals)
	if err != nil {
		return err
	}
	status, err := c.runFenced(l, key, token, fence)
	if err != nil {
		return err
	}
	c.exit = status.Code
	// Joining checks the token and takes nothing.
	_, err = l.leases.Fenced(ctx.Context, key, token, true, nil)
	return err
}

// runFenced runs the command under fence, which is nil if it was joined.
func (c *call) runFenced(l *opened, key fslease.Key, token int64, fence fslease.Fence) (child.Status, error) {
	var fences fenceSet
	if fence != nil {
		fences = fenceSet{fence}
	}
	state, err := l.View(context.Background()).Load(key)
	var rec fslease.Record
	if err == nil {
		rec, err = fslease.CheckToken(key, state, token, "")
	}
	if err != nil {
		_ = fences.Unlock()
		return child.Status{}, err
	}
	return c.runIn(fences, child.Command{
		Argv: c.argv, Env: environment(l.Path(), []fslease.Record{rec}), Inherit: fences.descriptors(),
	})
}

// runIn runs a command under fences that this process holds for it. If the command ended by itself they
// are unlocked, for whatever it left running too; after any other end they last until the last process
// that inherited them is gone.
func (c *call) runIn(fences fenceSet, command child.Command) (child.Status, error) {
	process, err := child.Start(command)
	if err != nil {
		_ = fences.Unlock()
		return child.Status{}, err
	}
	status := process.Wait()
	if status.Signal == 0 && !process.Disturbed() {
		_ = fences.Unlock() // what fails here keeps the fence, which is the safe side
	} else {
		_ = fences.Close()
	}
	return status, nil
}

// enterFence takes the fence of key, or joins it: who inherited it, or runs under the lease, would wait
// for itself.
func (c *call) enterFence(l *opened, key fslease.Key, token int64, signals *child.Signals) (fslease.Fence, error) {
	joined := slices.Contains(heldHere(), heldKey{key, token}) || l.InheritedFence(key)
	w := c.waiting()
	defer w.done()
	return l.leases.Fenced(signals.Context(), key, token, joined, w.tell)
}
