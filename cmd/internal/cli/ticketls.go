package cli

import (
	"bufio"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fslease/fslease"
)

func ticketLsCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "ls",
		Usage:     "list tickets: status, since when, and what they keep",
		UsageText: "lease ticket ls",
		Description: `Everything that is reserved has to be decided on by somebody: look for what has
been BLOCKED or in REVIEW for long. In a pipe the lines are tab-separated: id,
status, since, session ends, reserved, failure, title.

examples:
  lease ticket ls
  lease ticket ls --json | jq -r 'select(.status == "BLOCKED") | .id'`,
		Action: c.ticketLs,
	}
}

var ticketColumns = []column{
	{name: "ticket", least: 8}, {name: "status"}, {name: "since"}, {name: "ends", spare: 2}, {name: "reserved", least: 14},
	{name: "failure", spare: 1}, {name: "title", least: 8, spare: 3},
}

func (c *call) ticketLs(ctx *cli.Context) error {
	o := &options{ctx: ctx}
	if o.none(); o.err != nil {
		return o.err
	}
	l, err := c.open()
	if err != nil {
		return err
	}
	screen, now, out := c.screen(), time.Now(), bufio.NewWriter(c.stdout)
	view := l.View(ctx.Context)
	var rows [][]cell
	var trouble error
	err = view.Tickets(func(_ string, t *fslease.Ticket, err error) error {
		var p ticketPortrait
		if err == nil {
			p, err = l.ticketPortrait(view, *t)
		}
		switch {
		case err != nil:
			trouble = keepFirst(c, trouble, err) // hides no other
			return nil
		case c.json:
			return p.line(out)
		case screen != nil:
			rows = append(rows, p.row(screen, now))
			return nil
		}
		return writeTable(out, nil, ticketColumns, [][]cell{p.row(nil, now)})
	})
	if err == nil && screen != nil && !c.json {
		err = writeTable(out, screen, ticketColumns, rows)
	}
	if err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return unwritten(err)
	}
	return trouble
}

// A ticketPortrait is a ticket with what follows from its status.
type ticketPortrait struct {
	fslease.Ticket
	session  *fslease.Session // the current or last one, nil if there was none
	lapse    *fslease.Failure // of an active session: it ended, and nobody has noticed yet
	reserved []fslease.Key
}

func (l *opened) ticketPortrait(view fslease.Reader, t fslease.Ticket) (ticketPortrait, error) {
	p := ticketPortrait{Ticket: t, reserved: []fslease.Key{}}
	if t.Status.Live() {
		p.reserved = append(p.reserved, t.Keys()[1:]...)
	}
	if t.Status != fslease.InProgress {
		return p, nil
	}
	s, err := view.Session(t.ID, t.Session)
	if s != nil && s.Status == fslease.SessionActive {
		p.lapse = fslease.Lapsed(l, *s)
	}
	p.session = s
	return p, err
}

func (p ticketPortrait) row(s *screen, now time.Time) []cell {
	text := func(s string) cell { return cell{escape(s), plain} }
	failure := ""
	if n := len(p.Failures); n > 0 && p.Status == fslease.Blocked {
		failure = p.Failures[n-1].Kind
	}
	return []cell{
		text(p.ID), statusWord(p.Status), text(moment(s, p.UpdatedAt, now)), p.ends(s, now),
		text(strings.Join(words(p.reserved), ", ")), text(failure), text(p.Title),
	}
}

// ends says when the session ends without a checkpoint.
func (p ticketPortrait) ends(s *screen, now time.Time) cell {
	switch {
	case p.session == nil:
		return cell{"", plain}
	case s == nil:
		return cell{p.session.LeaseUntil.Format(fslease.TimeFormat), plain}
	case p.lapse != nil:
		return cell{"lapsed", red}
	}
	return cell{"in " + fslease.Seconds(max(0, p.session.LeaseUntil.Sub(now))), plain}
}

func (p ticketPortrait) line(out *bufio.Writer) error {
	more := struct {
		Reserved   []fslease.Key `json:"reserved"`
		LeaseUntil string        `json:"lease_until,omitempty"`
		Lapsed     string        `json:"lapsed,omitempty"`
	}{Reserved: p.reserved}
	if p.session != nil {
		more.LeaseUntil = p.session.LeaseUntil.Format(fslease.TimeFormat)
	}
	if p.lapse != nil {
		more.Lapsed = p.lapse.Kind
	}
	v, err := joined(p.Ticket, more)
	if err != nil {
		return err
	}
	return writeValue(out, v)
}

func statusWord(s fslease.Status) cell {
	colours := map[fslease.Status]string{fslease.InProgress: green, fslease.Blocked: red, fslease.Review: yellow, fslease.Done: dim, fslease.Cancelled: dim}
	return cell{string(s), colours[s]}
}
