package cli

import (
	"context"
	"slices"

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
	err = l.current(signals.Context(), r.joined)
	if err == nil && len(r.joined) > 0 {
		err = c.execNoted(l, r.joined, r.records(records), borrowed{fence})
	} else if err == nil {
		err = child.Exec(child.Command{Argv: c.argv, Env: environment(l.Path(), records), Inherit: descriptors(fence)})
	}
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
		case !slices.ContainsFunc(mine, func(o fslease.Record) bool { return o.Key == rec.Key }):
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

// A borrowed is the fence of leases of others, taken for a command; the zero value is none, where it is joined.
type borrowed struct{ fslease.Fence }

func (b borrowed) Unlock() error {
	if b.Fence == nil {
		return nil
	}
	return b.Fence.Unlock()
}

func (b borrowed) Close() error {
	if b.Fence == nil {
		return nil
	}
	return b.Fence.Close()
}

func (b borrowed) descriptors() []int { return descriptors(b.Fence) }
