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

// runFenced runs the command under fence, which is nil if it was joined. If the command ended by itself,
// the fence is unlocked for whatever it left running.
func (c *call) runFenced(l *opened, key fslease.Key, token int64, fence fslease.Fence) (child.Status, error) {
	if fence == nil {
		fence = noFence{}
	}
	process, err := c.startFenced(l, key, token, fence)
	if err != nil {
		_ = fence.Unlock()
		return child.Status{}, err
	}
	status := process.Wait()
	if status.Signal == 0 && !process.Disturbed() {
		_ = fence.Unlock() // what fails here keeps the fence, which is the safe side
	} else {
		_ = fence.Close()
	}
	return status, nil
}

func (c *call) startFenced(l *opened, key fslease.Key, token int64, fence fslease.Fence) (*child.Process, error) {
	state, err := l.View(context.Background()).Load(key)
	if err != nil {
		return nil, err
	}
	rec, err := fslease.CheckToken(key, state, token, "")
	if err != nil {
		return nil, err
	}
	return child.Start(child.Command{
		Argv: c.argv, Env: environment(l.Path(), []fslease.Record{rec}), Inherit: descriptors(fence),
	})
}

// enterFence takes the fence of key, or joins it: who inherited it, or runs under the lease, would wait
// for itself.
func (c *call) enterFence(l *opened, key fslease.Key, token int64, signals *child.Signals) (fslease.Fence, error) {
	joined := slices.Contains(heldHere(), heldKey{key, token}) || l.InheritedFence(key)
	w := c.waiting()
	defer w.done()
	return l.leases.Fenced(signals.Context(), key, token, joined, w.tell)
}

// noFence is the fence of who joined one.
type noFence struct{}

func (noFence) Unlock() error { return nil }
func (noFence) Close() error  { return nil }
