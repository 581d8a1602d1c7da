package cli

import (
	"context"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/child"
	"fslease/fslease"
	"fslease/ledgerfs"
)

func acquireCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "acquire",
		Usage:     "take keys for a process or for a time, and print the token",
		UsageText: "lease acquire (--pid PID | --ttl DUR) [OPTIONS] KEY...",
		Flags: append([]cli.Flag{
			text("pid", "PID", "hold as long as this process lives ($$: the shell)"),
			text("ttl", "DUR", "hold for this long from now, or from the last renew"),
			text("note", "TEXT", "for whoever looks at the lease"),
		}, waitOptions()...),
		Description: `All keys or none are taken. The answer is the generation, which is the token
for renew, release, transfer and fenced; for several keys one line each,
GENERATION and KEY. Work under the token with lease fenced, so that a
successor waits for its end.

examples:
  token=$(lease acquire --pid $$ terminal-1)
  lease acquire --ttl 1h --note 'by hand, ann' -n repo/api repo/web`,
		Action: c.acquire,
	}
}

func (c *call) acquire(ctx *cli.Context) error {
	o := &options{ctx: ctx}
	keys, wait, note := o.keys(), o.wait(), o.note()
	if o.has("pid") && o.has("ttl") {
		o.fail("leave one of them out", "--pid and --ttl contradict each other")
	}
	if !o.has("pid") && !o.has("ttl") {
		o.fail("--pid $$ holds as long as this shell lives, --ttl 10m for ten minutes", "acquire needs one of --pid and --ttl")
	}
	ttl := o.positive("ttl", 0)
	pid := 0
	if o.has("pid") {
		pid = o.pid("pid")
	}
	if o.err != nil {
		return o.err
	}
	l, err := c.openToChange(ctx.Context)
	if err != nil {
		return err
	}
	to, err := l.receiver(pid, ttl)
	if err != nil {
		return err
	}
	// A reader that has gone must not end this process between the grant and the answer.
	signal.Ignore(syscall.SIGPIPE)
	w := c.waiting()
	records, err := l.leases.AcquireFor(child.Watch().Context(), fslease.Request{
		Keys: keys, Note: note, Wait: wait, Under: under(), Waiting: w.tell,
	}, to)
	w.done()
	if err != nil {
		return err
	}
	if err := c.granted(records); err != nil {
		for _, rec := range records {
			_ = l.leases.ReleaseToken(context.Background(), rec.Key, rec.Generation) // err says what went wrong
		}
		return fmt.Errorf("%w; the lease was given back", err)
	}
	return nil
}

// receiver is who is to hold: the process pid, or with a ttl nobody who could be seen to end.
func (l *opened) receiver(pid int, ttl time.Duration) (fslease.Handover, error) {
	if ttl == 0 {
		return l.heir(pid)
	}
	h, err := l.processes.Self()
	h.ID, h.Evidence, h.Command = ledgerfs.NewHolderID(), fslease.EvidenceNone, nil
	return fslease.Handover{Holder: h, TTL: ttl}, err
}

// granted answers with the generations of what was acquired.
func (c *call) granted(records []fslease.Record) error {
	if c.json {
		leases := make([]generation, len(records))
		for i, rec := range records {
			leases[i] = generation{rec.Key, rec.Generation}
		}
		v, err := joined(records[0], struct {
			Leases []generation `json:"leases"`
		}{leases})
		if err != nil {
			return err
		}
		return c.value(v)
	}
	if len(records) == 1 {
		return c.answer(fmt.Sprintf("%d\n", records[0].Generation))
	}
	var b strings.Builder
	for _, rec := range records {
		fmt.Fprintf(&b, "%d\t%s\n", rec.Generation, escape(string(rec.Key)))
	}
	return c.answer(b.String())
}
