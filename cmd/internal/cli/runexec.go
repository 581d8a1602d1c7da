package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/child"
	"fslease/fslease"
	"fslease/ledgerfs"
)

// execOptions refuses what --exec leaves nobody to do: after it there is no wrapper.
func (o *options) execOptions() bool {
	if !o.flag("exec") {
		return false
	}
	for _, name := range []string{"ttl", "heartbeat", "on-lost", "kill-after"} {
		if o.has(name) {
			o.fail("leave one of them out", "--%s and --exec contradict each other: with --exec the command holds the lease itself, as long as it lives", name)
		}
	}
	if o.choice("fence", "tree", "command") == "command" {
		o.fail("leave --fence out", "--exec leaves nobody who could end the fence with the command, so it is always --fence=tree")
	}
	return true
}

// runExec makes this process the holder as a process, with no TTL, and then lets the command take its
// place. What comes back from the exec is an error, and then the keys are given back.
func (c *call) runExec(l *opened, r runOptions, signals *child.Signals) error {
	holder, err := l.processes.Self()
	if err != nil {
		return err
	}
	holder.ID, holder.Evidence, holder.Exec = ledgerfs.NewHolderID(), fslease.EvidencePid, true
	holder.Command = fslease.CommandWords(c.argv)
	w := c.waiting()
	r.request.Waiting = w.tell
	records, fence, err := l.leases.AcquireFenced(signals.Context(), r.request, fslease.Handover{Holder: holder})
	w.done()
	if err != nil {
		return c.refusedToRun(r, err)
	}
	err = child.Exec(child.Command{Argv: c.argv, Env: environment(l.Path(), records), Inherit: descriptors(fence)})
	_ = fence.Unlock()
	for _, rec := range records {
		_ = l.leases.ReleaseToken(context.Background(), rec.Key, rec.Generation) // err says what went wrong
	}
	return err
}

// refusedToRun answers an acquisition that got nothing: a conflict has an exit code of the user's choice.
func (c *call) refusedToRun(r runOptions, err error) error {
	if is[*fslease.HeldError](err) || hasFault(err, fslease.FaultNewer) {
		c.fail(err)
		c.exit = r.conflict
		return nil
	}
	return err
}

// joined splits the keys of a request into the leases that this process runs under already, by its
// environment or as a descendant of their holder, and the keys that are left.
func (l *opened) joined(ctx *cli.Context, keys []fslease.Key) (mine []fslease.Record, rest []fslease.Key, err error) {
	view := l.View(ctx.Context)
	for _, k := range keys {
		rec, err := l.lineage(view, k)
		switch {
		case err != nil:
			return nil, nil, err
		case rec == nil:
			rest = append(rest, k)
		default:
			mine = append(mine, *rec)
		}
	}
	return mine, rest, nil
}

// lineage returns the lease that covers k and that this process runs under, nil if there is none.
func (l *opened) lineage(view fslease.Reader, k fslease.Key) (*fslease.Record, error) {
	tokens := under()
	for _, at := range append(k.Ancestors(), k) {
		st, err := view.Load(at)
		if err != nil {
			return nil, err
		}
		cur := st.Current()
		if cur != nil && (tokens[at] == cur.Generation || l.processes.Kin(cur.Holder)) {
			return cur, nil
		}
	}
	return nil, nil
}

// runJoined runs the command under leases that others hold for it. They stay what they are when it ends.
func (c *call) runJoined(l *opened, r runOptions, mine []fslease.Record, signals *child.Signals) error {
	var fences fenceSet
	for _, rec := range mine {
		fence, err := c.enterFence(l, rec, signals)
		if err != nil {
			_ = fences.Unlock()
			return err
		}
		fences = append(fences, fenceSetOf(fence)...)
	}
	status, err := c.runIn(l, fences, mine, r.tree)
	c.exit = status.Code
	return err
}

// A fenceSet is several fences held together, or none.
type fenceSet []fslease.Fence

// fenceSetOf is the set of one fence, or of none.
func fenceSetOf(f fslease.Fence) fenceSet {
	if f == nil {
		return nil
	}
	return fenceSet{f}
}

func (s fenceSet) Unlock() error { return s.each(fslease.Fence.Unlock) }
func (s fenceSet) Close() error  { return s.each(fslease.Fence.Close) }

func (s fenceSet) each(f func(fslease.Fence) error) error {
	var first error
	for _, fence := range s {
		if err := f(fence); err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (s fenceSet) descriptors() []int {
	var fds []int
	for _, fence := range s {
		fds = append(fds, descriptors(fence)...)
	}
	return fds
}
