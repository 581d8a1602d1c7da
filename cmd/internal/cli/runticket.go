package cli

import (
	"errors"
	"fmt"
	"slices"

	"fslease/cmd/internal/child"
	"fslease/fslease"
)

// keysBeside is keys, but with the option name there need be none.
func (o *options) keysBeside(name string) []fslease.Key {
	if o.has(name) && o.ctx.NArg() == 0 {
		return nil
	}
	return o.keys()
}

// ticketOptions refuses what contradicts --ticket, or needs it.
func (o *options) ticketOptions() string {
	id := o.ticketID("ticket")
	if !o.has("ticket") {
		if o.has("then") {
			o.fail("", "--then needs --ticket")
		}
		return ""
	}
	for _, name := range []string{"exec", "reentrant"} {
		if o.flag(name) {
			o.fail("leave one of them out", "--%s and --ticket contradict each other: lease itself works in the ticket's session until the command ends", name)
		}
	}
	return id
}

// runTicket runs the command in a session of a ticket, and says by its end what becomes of that.
func (c *call) runTicket(l *opened, r runOptions, signals *child.Signals) error {
	w := c.waiting()
	work, err := l.leases.WorkOn(signals.Context(), fslease.Start{
		Ticket: r.ticket, Lease: r.request.TTL, Heartbeat: r.request.Heartbeat, Also: r.request.Keys,
		Note: r.request.Note, By: l.operator(),
		Wait: r.request.Wait, FenceWait: r.request.FenceWait, Under: r.request.Under, Waiting: w.tell,
	}, c.argv)
	w.done()
	if err != nil {
		return c.refusedToRun(r, err)
	}
	holder := []string{"LEASE_HOLDER=" + work.Holder().ID}
	return c.runHeld(l, r, held{
		Lease: work.Lease,
		env:   slices.Concat(without(environment(l.Path(), work.Records()), holder), holder),
		end:   func(status child.Status, failed error) error { return work.End(r.outcome(status, failed)) },
	})
}

// outcome is what becomes of the ticket when its command has ended, or could not start.
func (r runOptions) outcome(status child.Status, failed error) *fslease.Act {
	code, detail := status.Code, fmt.Sprintf("exit code %d", status.Code)
	var start *child.StartError
	switch {
	case errors.As(failed, &start):
		code, detail = start.ExitCode(), failed.Error()
	case failed != nil:
		code, detail = 125, failed.Error()
	case status.Signal != 0:
		detail = fmt.Sprintf("ended by signal %d", status.Signal)
	}
	switch {
	case code != 0:
		exit := int64(code)
		return &fslease.Act{Verb: fslease.VerbBlock, Reason: detail, Fail: &fslease.Failure{Kind: fslease.FailureCommand, Detail: detail, ExitCode: &exit}}
	case r.then == "keep":
		return nil
	case r.then == "done":
		return &fslease.Act{Verb: fslease.VerbDone, Reason: detail}
	}
	return &fslease.Act{Verb: fslease.VerbReview, Reason: detail}
}
