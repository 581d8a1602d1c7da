package cli

import (
	"bufio"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fslease/fslease"
)

func lsCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "ls",
		Usage:     "list what is held",
		UsageText: "lease ls [PREFIX] [--all]",
		Flags:     []cli.Flag{flag("all", "also what was given up, by its tombstone")},
		Description: `PREFIX is a key, by segments: repo lists repo and repo/api, not repo2. In a
pipe the lines are tab-separated, without a header: key, state, generation,
holder, command, since, renewed, waiting, note.

examples:
  lease ls repo
  lease ls --json | jq -r 'select(.verdict == "dead") | .key'`,
		Action: c.ls,
	}
}

var lsColumns = []column{
	{name: "key", least: 14}, {name: "state"}, {name: "gen"}, {name: "holder", least: 12}, {name: "command", least: 8, spare: 2},
	{name: "since"}, {name: "renewed", spare: 1}, {name: "waiting", spare: 4}, {name: "note", least: 8, spare: 3},
}

func (c *call) ls(ctx *cli.Context) error {
	o := &options{ctx: ctx}
	var prefix fslease.Key
	if ctx.NArg() > 0 {
		prefix = o.anyKey()
	}
	if o.err != nil {
		return o.err
	}
	l, err := c.open()
	if err != nil {
		return err
	}
	list := &listing{c: c, l: l, view: l.View(ctx.Context), screen: c.screen(), now: time.Now(), out: bufio.NewWriter(c.stdout)}
	if list.waiting, err = readQueues(list.view); err != nil {
		return err
	}
	if err := list.view.Walk(prefix, o.flag("all"), list.visit); err != nil {
		return err
	}
	return list.end()
}

// A listing collects what ls shows. For programs each line is written as it comes.
type listing struct {
	c       *call
	l       *opened
	view    fslease.Reader
	screen  *screen
	now     time.Time
	out     *bufio.Writer
	waiting queues
	rows    [][]cell
	trouble error // the first record that cannot be read
}

// visit takes one key. One that cannot be read hides no other.
func (l *listing) visit(_ fslease.Key, st fslease.State, err error) error {
	var look fslease.Look
	if err == nil {
		look, err = l.l.leases.Judge(l.view, st)
	}
	switch {
	case err != nil:
		l.trouble = keepFirst(l.c, l.trouble, err)
		return nil
	case l.c.json:
		return l.value(look)
	case l.screen != nil:
		l.rows = append(l.rows, l.row(look))
		return nil
	}
	return writeTable(l.out, nil, lsColumns, [][]cell{l.row(look)})
}

// keepFirst keeps the first error, which becomes the answer, and tells the others.
func keepFirst(c *call, first, err error) error {
	if first != nil {
		c.fail(err)
		return first
	}
	return err
}

func (l *listing) row(look fslease.Look) []cell {
	rec, renewed := shown(look.State)
	text := func(s string) cell { return cell{escape(s), plain} }
	waiting := ""
	if n := l.waiting.at(rec.Key); n > 0 {
		waiting = strconv.Itoa(n)
	}
	return []cell{
		text(string(rec.Key)), stateWord(look), text(strconv.FormatInt(rec.Generation, 10)), text(who(rec.Holder)),
		text(strings.Join(rec.Holder.Command, " ")), text(moment(l.screen, rec.AcquiredAt, l.now)),
		text(moment(l.screen, renewed, l.now)), text(waiting), text(rec.Note),
	}
}

// shown is the lease of st, or what its tombstone says in the form of one, since when it was given up.
func shown(st fslease.State) (rec fslease.Record, renewed time.Time) {
	if cur := st.Current(); cur != nil {
		return *cur, cur.RenewedAt
	}
	t := st.Tomb
	return fslease.Record{Key: t.Key, Generation: t.Generation, AcquiredAt: t.ReleasedAt, Holder: t.LastHolder}, time.Time{}
}

// who names a holder shortly, with what is needed to find it first.
func who(h fslease.Holder) string {
	switch {
	case h.IsTicket():
		return "ticket " + h.Ticket
	case h.PID == 0:
		return ""
	}
	return "pid " + strconv.FormatInt(h.PID, 10) + " " + h.User + "@" + h.Host
}

func (l *listing) value(look fslease.Look) error {
	cur := look.State.Current()
	var v any = look.State.Tomb
	if cur != nil {
		verdict, reason := verdict(look)
		var err error
		v, err = joined(*cur, struct {
			Verdict string `json:"verdict"`
			Reason  string `json:"reason"`
			Waiting int    `json:"waiting"`
		}{verdict, reason, l.waiting.at(cur.Key)})
		if err != nil {
			return err
		}
	}
	return writeValue(l.out, v)
}

// end writes what is left.
func (l *listing) end() error {
	if l.screen != nil && !l.c.json {
		if err := writeTable(l.out, l.screen, lsColumns, l.rows); err != nil {
			return err
		}
	}
	if err := l.out.Flush(); err != nil {
		return unwritten(err)
	}
	return l.trouble
}

// queues counts the places in line for each key, and for each key those below it.
type queues struct{ own, below map[fslease.Key]int }

func readQueues(view fslease.Reader) (queues, error) {
	q := queues{map[fslease.Key]int{}, map[fslease.Key]int{}}
	places, err := view.Places()
	for _, p := range places {
		q.own[p.Key]++
		for _, above := range p.Key.Ancestors() {
			q.below[above]++
		}
	}
	return q, err
}

// at is how many places in line overlap key: each of them may be in the way of its holder's successor.
func (q queues) at(key fslease.Key) int {
	n := q.own[key] + q.below[key]
	for _, above := range key.Ancestors() {
		n += q.own[above]
	}
	return n
}
