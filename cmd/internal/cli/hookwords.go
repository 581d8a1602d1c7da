package cli

import (
	"fmt"
	"slices"
	"strings"

	"fslease/cmd/internal/githook"
	"fslease/fslease"
)

// A refusal is the answer of a hook that makes git stop.
type refusal struct{ githook.Result }

func (e *refusal) Error() string { return strings.Join(hookLines(e.Result), "\n") }

// reportRefusal tells a refusal, or that it cannot be told whether it is one.
func reportRefusal(e *refusal, r *report) {
	r.lines, r.Hint = hookLines(e.Result), hookHint(e.Result)
	if e.Answer == githook.CannotTell {
		r.Kind, r.code = "ledger", 74
		if hasFault(e.Err, fslease.FaultDamaged) {
			r.Kind = "damaged"
		}
	}
	if len(e.Refusals) > 0 && !e.Refusals[0].Outside {
		lease := e.Refusals[0].Lease
		r.Key, r.Holder = lease.Key, holderJSON(lease.Holder)
	}
}

// hookLines says whose the keys are and since when, and which paths lie in them. Of each ticket in the way
// there is first the line that every conflict with a ticket has.
func hookLines(result githook.Result) []string {
	var lines []string
	for _, ticket := range ticketsInTheWay(result.Refusals) {
		lines = append(lines, ticket.String())
	}
	for _, r := range result.Refusals {
		lines = append(lines, refusalHead(result, r))
		for _, line := range changed(r) {
			lines = append(lines, "  "+line)
		}
	}
	if result.Err != nil {
		lines = append(lines, result.Hook+" cannot tell whether this may pass")
		lines = append(lines, strings.Split(result.Err.Error(), "\n")...)
	}
	return lines
}

func refusalHead(result githook.Result, r githook.Refusal) string {
	since := r.Lease.AcquiredAt.UTC().Format(fslease.TimeFormat)
	switch {
	case r.Outside && result.Ticket == "":
		return "no ticket of yours declares:"
	case r.Outside:
		return "the scope of your ticket " + result.Ticket + " does not have:"
	case r.Lease.Holder.IsTicket():
		return fmt.Sprintf("%s is reserved by ticket %s (%s) since %s:", r.Lease.Key, r.Lease.Holder.Ticket, r.Status, since)
	default:
		return fmt.Sprintf("%s is held by %s since %s:", r.Lease.Key, describe(r.Lease.Holder), since)
	}
}

func ticketsInTheWay(refusals []githook.Refusal) []fslease.Reserved {
	keys := map[string][]fslease.Key{}
	for _, r := range refusals {
		if id := r.Lease.Holder.Ticket; id != "" {
			keys[id] = append(keys[id], r.Lease.Key)
		}
	}
	var all []fslease.Reserved
	for id, k := range keys {
		slices.Sort(k)
		all = append(all, fslease.Reserved{Ticket: id, Keys: k})
	}
	slices.SortFunc(all, func(a, b fslease.Reserved) int { return strings.Compare(a.Ticket, b.Ticket) })
	return all
}

// hookHint says what to type.
func hookHint(result githook.Result) string {
	git := "git commit"
	if result.Hook == githook.PrePush {
		git = "git push"
	}
	bypass := git + " --no-verify goes past this check"
	if result.Answer == githook.CannotTell {
		return "lease doctor says what is wrong; git config lease.onError allow lets pass what cannot be told; " + bypass
	}
	first := result.Refusals[0]
	holder := first.Lease.Holder
	switch {
	case first.Outside && result.Ticket == "":
		return "the hook is strict: start a ticket that declares it, and set LEASE_TICKET and LEASE_TOKEN; " + bypass
	case first.Outside:
		return "lease ticket show " + shellWord(result.Ticket) + " lists the scope; " + bypass
	case holder.IsTicket():
		return fmt.Sprintf("lease wait %s waits until it is free; if the ticket is yours, set LEASE_TICKET=%s and LEASE_TOKEN; %s",
			shellWord(string(first.Lease.Key)), shellWord(holder.Ticket), bypass)
	default:
		return fmt.Sprintf("lease wait %[1]s waits until it is free; if you have its token: lease fenced %[1]s --token TOKEN -- %[2]s; %[3]s",
			shellWord(string(first.Lease.Key)), git, bypass)
	}
}
