package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fslease/fslease"
)

func ticketShowCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "say everything about one ticket",
		UsageText: "lease ticket show ID",
		Description: `Its status and what that allows, what it keeps reserved, the session, what went
wrong, and its history. Exit code 1 if there is no such ticket.

examples:
  lease ticket show 42
  lease ticket show 42 --json | jq -r '.failures[-1].detail'`,
		Action: func(ctx *cli.Context) error {
			o := &options{ctx: ctx}
			id := o.ticket()
			if o.err != nil {
				return o.err
			}
			l, err := c.open()
			if err != nil {
				return err
			}
			view := l.View(ctx.Context)
			t, err := view.Ticket(id)
			if err == nil && t == nil {
				err = &noError{"there is no ticket " + id, "lease ticket ls lists them"}
			}
			if err != nil {
				return err
			}
			p, err := l.ticketPortrait(view, *t)
			if err == nil && p.session == nil && t.Session > 0 {
				p.session, err = view.Session(id, t.Session)
			}
			if err != nil {
				return err
			}
			if c.json {
				return c.showTicketJSON(p)
			}
			return c.answer(p.text(c.screen()))
		},
	}
}

func (c *call) showTicketJSON(p ticketPortrait) error {
	more := struct {
		Reserved []fslease.Key  `json:"reserved"`
		Allows   []fslease.Verb `json:"allows"`
		Lapsed   string         `json:"lapsed,omitempty"`
		Current  json.Marshaler `json:"current_session"`
	}{Reserved: p.reserved, Allows: append([]fslease.Verb{}, p.Status.Allowed()...)}
	if p.session != nil {
		more.Current = p.session
	}
	if p.lapse != nil {
		more.Lapsed = p.lapse.Kind
	}
	v, err := joined(p.Ticket, more)
	if err != nil {
		return err
	}
	return c.value(v)
}

// text is the page for people; in a pipe a name and a value a line.
func (p ticketPortrait) text(s *screen) string {
	out := &lines{screen: s, width: 10}
	when := stamp(s)
	out.add("ticket", p.ID)
	if p.Title != "" {
		out.add("title", p.Title)
	}
	out.put("status", statusWord(p.Status))
	out.add("since", when(p.UpdatedAt))
	out.add("scope", words(p.Scope)...)
	out.add("reserved", words(p.reserved)...)
	if p.session != nil {
		p.work(out, when)
	}
	if verbs := p.Status.Allowed(); len(verbs) > 0 {
		out.add("allows", strings.Join(words(verbs), ", "))
	}
	var failures, history []string
	for _, f := range p.Failures {
		failures = append(failures, fmt.Sprintf("%s in session %d %s: %s", f.Kind, f.Session, when(f.At), f.Detail))
	}
	out.add("failure", failures...)
	for _, m := range p.History {
		line := fmt.Sprintf("%s %s by %s", m.To, when(m.At), m.By)
		if m.Reason != "" {
			line += ": " + m.Reason
		}
		history = append(history, line)
	}
	out.add("history", history...)
	return out.b.String()
}

// work is the session.
func (p ticketPortrait) work(out *lines, when func(time.Time) string) {
	line := fmt.Sprintf("%d %s, started %s", p.session.Generation, p.session.Status, when(p.session.StartedAt))
	if p.session.Holder != nil {
		line += ", bound to " + describe(*p.session.Holder)
	}
	out.add("session", line)
	if p.Status == fslease.InProgress && p.lapse == nil {
		out.add("ends", p.session.LeaseUntil.Format(fslease.TimeFormat)+" without a checkpoint")
	}
	if p.lapse != nil {
		out.put("lapsed", cell{escape(p.lapse.Kind + ": " + p.lapse.Detail), red})
	}
	checkpoints := []string{fmt.Sprint(p.session.Checkpoints)}
	for _, cp := range p.session.LastCheckpoints {
		if cp.Note != "" {
			checkpoints = append(checkpoints, when(cp.At)+": "+cp.Note)
		}
	}
	out.add("checkpoint", checkpoints...)
}

// words are keys, or verbs, as strings.
func words[T ~string](items []T) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = string(item)
	}
	return all
}
