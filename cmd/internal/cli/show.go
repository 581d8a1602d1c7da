package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fslease/fslease"
)

func showCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "say everything about one key",
		UsageText: "lease show KEY",
		Description: `Who has it and whether that still counts, since when, who waits, which
processes keep its fence, how it was last given up, what an acquire would meet
now, and how to free it. Exit code 1 if the key was never held.

examples:
  lease show deploy
  lease show --json deploy | jq -r '.verdict, .reason, .fence_pids[]'`,
		Action: c.show,
	}
}

// A portrait is what can be told of one key.
type portrait struct {
	l       *opened
	view    fslease.Reader
	key     fslease.Key
	look    fslease.Look
	queue   []fslease.Waiter // living ones
	keepers []fslease.Keeper
	next    outlook
}

func (c *call) show(ctx *cli.Context) error {
	o := &options{ctx: ctx}
	key := o.anyKey()
	if o.err != nil {
		return o.err
	}
	l, err := c.open()
	if err != nil {
		return err
	}
	p := &portrait{l: l, view: l.View(ctx.Context), key: key}
	if p.look, err = l.leases.Look(ctx.Context, key); err != nil {
		return err
	}
	if err := p.surroundings(); err != nil {
		return err
	}
	if p.look.State == (fslease.State{}) {
		c.exit = 1
		if !c.json { // to a program it is a value like any other
			c.tell("%s was never held", key)
			if p.next.meets == atOnce {
				return nil
			}
		}
	}
	if c.json {
		v, err := p.json()
		if err != nil {
			return err
		}
		return c.value(v)
	}
	return c.answer(p.text(c.screen()))
}

// surroundings reads who waits for the key, who keeps its fence, and what is in the way of an acquire.
func (p *portrait) surroundings() (err error) {
	if p.queue, err = p.living(p.key); err != nil {
		return err
	}
	if p.keepers, err = p.view.Keepers(p.key); err != nil {
		return err
	}
	p.next, err = p.outlook()
	return err
}

// living returns who waits for something that overlaps key and is not dead.
func (p *portrait) living(key fslease.Key) ([]fslease.Waiter, error) {
	waiters, err := fslease.Waiters(p.view, key)
	return slices.DeleteFunc(waiters, func(w fslease.Waiter) bool { return p.l.Probe(w.Holder).Life == fslease.Dead }), err
}

func (p *portrait) json() (json.RawMessage, error) {
	about := struct {
		Verdict   string             `json:"verdict"`
		Reason    string             `json:"reason"`
		Queue     []json.RawMessage  `json:"queue"`
		FencePids []int64            `json:"fence_pids"`
		Tombstone *fslease.Tombstone `json:"tombstone"`
	}{Queue: []json.RawMessage{}, FencePids: pidsOf(p.keepers), Tombstone: p.look.State.Tomb}
	about.Verdict, about.Reason = verdict(p.look)
	for _, w := range p.queue {
		v, err := joined(w, struct {
			Number int64 `json:"number"`
		}{w.Number})
		if err != nil {
			return nil, err
		}
		about.Queue = append(about.Queue, v)
	}
	if cur := p.look.State.Current(); cur != nil {
		return joined(*cur, about)
	}
	return joined(keyOnly(p.key), about)
}

// keyOnly stands for the record of a key that nobody holds.
type keyOnly fslease.Key

func (k keyOnly) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Schema int         `json:"schema"`
		Key    fslease.Key `json:"key"`
	}{fslease.Schema, fslease.Key(k)})
}

// text is the page for people; in a pipe a name and a value a line.
func (p *portrait) text(s *screen) string {
	out := &lines{screen: s, width: 10}
	when := stamp(s)
	out.add("key", string(p.key))
	out.put("state", stateWord(p.look))
	if cur := p.look.State.Current(); cur != nil {
		p.lease(out, *cur, when)
	}
	p.around(out, when)
	out.add("acquire", p.next.meets)
	if p.next.because != "" {
		out.add("because", p.next.because)
	}
	out.add("to free", p.next.free...)
	return out.b.String()
}

func (p *portrait) lease(out *lines, cur fslease.Record, when func(time.Time) string) {
	out.add("generation", fmt.Sprint(cur.Generation))
	if cur.Holder.IsTicket() {
		out.add("holder", fmt.Sprintf("ticket %s, session %d", cur.Holder.Ticket, cur.Holder.Session))
	} else {
		h := cur.Holder
		who := fmt.Sprintf("%s@%s pid %d", h.User, h.Host, h.PID)
		if h.PID != 0 && !p.here(h) {
			who += ", which is another process here, or none"
		}
		out.add("holder", who)
		if len(h.Command) > 0 {
			command := strings.Join(h.Command, " ")
			if p.waitsForFence(h, p.keepers) {
				command += " (not begun: it waits for the fence)"
			}
			out.add("command", command)
		}
		if h.Cwd != "" {
			out.add("directory", h.Cwd)
		}
	}
	if cur.Holder.IsTicket() {
		_, reason := verdict(p.look)
		out.add("verdict", reason)
	} else {
		out.add("verdict", p.look.Judgement.Words(cur.TTL))
	}
	out.add("since", when(cur.AcquiredAt))
	if cur.TTL > 0 {
		out.add("renewed", when(cur.RenewedAt))
		out.add("ttl", fslease.Seconds(cur.TTL))
	}
	if cur.Note != "" {
		out.add("note", cur.Note)
	}
}

// around is what stands beside the lease: the fence, the queue, the tombstone.
func (p *portrait) around(out *lines, when func(time.Time) string) {
	if len(p.keepers) > 0 {
		out.add("fence", "kept by "+fslease.DescribeKeepers(p.keepers))
	}
	var queue []string
	now := p.l.Clock().Now()
	for i, w := range p.queue {
		line := fmt.Sprintf("%d. %s since %s", i+1, describeIdle(w.Holder), when(w.Since))
		if w.PassedOver(now) {
			line += ", passed over until it wakes"
		}
		if w.Note != "" {
			line += " (" + w.Note + ")"
		}
		queue = append(queue, line)
	}
	out.add("waiting", queue...)
	if t := p.look.State.Tomb; t != nil {
		line := fmt.Sprintf("generation %d %s %s", t.Generation, t.Reason, when(t.ReleasedAt))
		if t.LastHolder.Kind != "" {
			line += " by " + describe(t.LastHolder)
		}
		out.add("last end", line)
		if t.Unclean > 0 {
			times := "once"
			if t.Unclean > 1 {
				times = fmt.Sprintf("%d times in a row", t.Unclean)
			}
			out.add("unclean", times+" given up without a release")
		}
	}
}
