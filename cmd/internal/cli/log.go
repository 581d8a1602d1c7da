package cli

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/child"
	"fslease/fslease"
	"fslease/ledgerfs"
)

func logCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "log",
		Usage:     "tell what happened",
		UsageText: "lease log [KEY] [--since DUR] [--by WHO] [--follow]",
		Flags: []cli.Flag{
			text("since", "DUR", "only what happened within that time"),
			text("by", "WHO", "only what a user, host, user@host or pid did"),
			flag("follow", "go on with what happens from now on"),
		},
		Description: `KEY is a key and all below it, by segments; ticket:42 is all about the ticket
42. In a pipe the lines are tab-separated: at, event, key, generation, who, pid,
reason.

examples:
  lease log deploy --since 1d
  lease log --follow --json | jq -r 'select(.event == "taken_over") | .key'`,
		Action: c.log,
	}
}

var logColumns = []column{{name: "at"}, {name: "event"}, {name: "key", least: 14}, {name: "gen"}, {name: "who", least: 12}, {name: "pid", spare: 1}, {name: "reason", least: 12, spare: 2}}

func (c *call) log(ctx *cli.Context) error {
	o := &options{ctx: ctx}
	filter := ledgerfs.Filter{By: o.text("by")}
	if ctx.NArg() > 0 {
		filter.Prefix = o.anyKey()
	}
	if o.has("since") {
		filter.Since = time.Now().Add(-o.duration("since", 0))
	}
	if o.err != nil {
		return o.err
	}
	l, err := c.open()
	if err != nil {
		return err
	}
	h := &history{c: c, screen: c.screen(), follow: o.flag("follow"), out: bufio.NewWriter(c.stdout)}
	work := ctx.Context
	if h.follow {
		work = child.Watch().Context()
	}
	return h.write(work, l.Ledger, filter)
}

// A history writes events as they come. On a terminal those that are past make one table.
type history struct {
	c      *call
	screen *screen
	follow bool
	out    *bufio.Writer
	rows   [][]cell
}

func (h *history) write(ctx context.Context, l *ledgerfs.Ledger, filter ledgerfs.Filter) error {
	torn, err := l.Journal(ctx, filter, h.follow, h.visit)
	if err == nil && len(h.rows) > 0 {
		err = writeTable(h.out, h.screen, logColumns, h.rows)
	}
	if err == nil && h.out.Flush() != nil {
		err = unwritten(h.out.Flush())
	}
	switch {
	case torn == 1:
		h.c.tell("1 torn line of the journal was skipped")
	case torn > 1:
		h.c.tell("%d torn lines of the journal were skipped", torn)
	}
	return err
}

func (h *history) visit(e fslease.Event) error {
	var err error
	switch {
	case h.c.json:
		err = writeValue(h.out, e)
	case h.screen == nil:
		err = writeTable(h.out, nil, logColumns, [][]cell{eventRow(nil, e)})
	case h.follow:
		var words []string
		for _, field := range eventRow(nil, e) {
			if field.text != "" {
				words = append(words, field.text)
			}
		}
		_, err = fmt.Fprintln(h.out, strings.Join(words, gap))
	default:
		h.rows = append(h.rows, eventRow(h.screen, e))
	}
	if err == nil && h.follow {
		err = h.out.Flush()
	}
	if err != nil {
		return unwritten(err)
	}
	return nil
}

func eventRow(s *screen, e fslease.Event) []cell {
	text := func(s string) cell { return cell{escape(s), plain} }
	number := func(n int64) cell {
		if n == 0 {
			return cell{}
		}
		return cell{strconv.FormatInt(n, 10), plain}
	}
	key := string(e.Key)
	if e.Ticket != "" {
		key = string(fslease.TicketKey(e.Ticket))
	}
	return []cell{
		text(moment(s, e.At, time.Now())), text(e.Event), text(key), number(e.Generation),
		text(e.By.User + "@" + e.By.Host), number(e.By.PID), text(e.Reason),
	}
}
