package githook

import (
	"fmt"
	"slices"
	"strings"

	"fslease/fslease"
)

// shown is how many changes of one key a message lists.
const shown = 20

// Message returns the result in words, a line each: for a refusal whose the key is and since when, and
// which paths lie in it; nothing if the result is Allow.
func (r Result) Message() []string {
	var lines []string
	for _, reserved := range r.tickets() {
		lines = append(lines, reserved.String())
	}
	for _, refusal := range r.Refusals {
		lines = append(lines, refusal.heading(r.Ticket))
		for _, c := range refusal.Changes[:min(shown, len(refusal.Changes))] {
			lines = append(lines, "  "+refusal.line(c))
		}
		if more := len(refusal.Changes) - shown; more > 0 {
			lines = append(lines, fmt.Sprintf("  and %d more", more))
		}
	}
	if r.Err != nil {
		lines = append(lines, fmt.Sprintf("%s cannot tell whether this may pass", r.Hook))
		lines = append(lines, strings.Split(r.Err.Error(), "\n")...)
	}
	return lines
}

// Hint says what to type.
func (r Result) Hint() string {
	bypass := "git commit --no-verify"
	if r.Hook == PrePush {
		bypass = "git push --no-verify"
	}
	var todo []string
	switch {
	case r.Answer == Allow:
		return ""
	case r.Answer == CannotTell:
		todo = append(todo, "lease doctor says what is wrong", "git config lease.onError allow lets pass what cannot be told")
	case r.Refusals[0].Reservation.Key == "" && r.Ticket == "":
		todo = append(todo, "git's lease.strict wants a ticket of your own: set LEASE_TICKET and LEASE_TOKEN as lease ticket start gave them")
	case r.Refusals[0].Reservation.Key == "":
		todo = append(todo, "lease ticket show "+quote(r.Ticket)+" lists its scope")
	default:
		held := r.Refusals[0].Reservation
		todo = append(todo, "lease wait "+quote(string(held.Key))+" waits until it is free")
		if held.Ticket != "" {
			todo = append(todo, "if ticket "+held.Ticket+" is yours, set LEASE_TICKET="+quote(held.Ticket)+" and LEASE_TOKEN")
		}
	}
	return strings.Join(append(todo, bypass+" goes past this check"), "; ")
}

// tickets returns the tickets that are in the way, each with its keys.
func (r Result) tickets() []fslease.Reserved {
	var all []fslease.Reserved
	for _, refusal := range r.Refusals {
		held := refusal.Reservation
		if held.Ticket == "" {
			continue
		}
		i := slices.IndexFunc(all, func(t fslease.Reserved) bool { return t.Ticket == held.Ticket })
		if i < 0 {
			i = len(all)
			all = append(all, fslease.Reserved{Ticket: held.Ticket})
		}
		all[i].Keys = append(all[i].Keys, held.Key)
	}
	for _, t := range all {
		slices.Sort(t.Keys)
	}
	slices.SortFunc(all, func(a, b fslease.Reserved) int { return strings.Compare(a.Ticket, b.Ticket) })
	return all
}

func (r Refusal) heading(own string) string {
	held := r.Reservation
	switch {
	case held.Key == "" && own == "":
		return "no ticket of yours has in its scope:"
	case held.Key == "":
		return "the scope of your ticket " + own + " does not have:"
	case held.Ticket != "":
		return fmt.Sprintf("%s is reserved by ticket %s (%s) since %s:", held.Key, held.Ticket, held.Status, held.Since.UTC().Format(fslease.TimeFormat))
	default:
		return fmt.Sprintf("%s is held by %s since %s:", held.Key, held.Holder, held.Since.UTC().Format(fslease.TimeFormat))
	}
}

// line names a change by its path; what no key of the refusal covers also by the key that would.
func (r Refusal) line(c Change) string {
	line := Escape(c.Path)
	if r.Reservation.Key == "" {
		line += " (" + string(c.Key) + ")"
	}
	if c.Commit != "" {
		line += " in commit " + c.Commit[:12]
	}
	return line
}

// quote returns s as a shell reads it back.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:@+=,./-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
