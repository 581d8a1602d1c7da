package cli

import (
	"encoding/json"
	"fmt"
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
processes keep its fence, how it was last given up, and what an acquire would
meet now. Exit code 1 if the key was never held.

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
	if p.look.State == (fslease.State{}) {
		c.exit = 1
		if !c.json {
			c.tell("%s was never held", key)
		}
		return nil
	}
	if err := p.surroundings(); err != nil {
		return err
	}
	if c.json {
		v, err := p.json()
		if err != nil {
			return err
		}
		return c.value(v)
	}
	text, err := p.text(c.screen())
	if err != nil {
		return err
	}
	return c.answer(text)
}

// surroundings reads who waits for the key and who keeps its fence.
func (p *portrait) surroundings() error {
	waiters, err := fslease.Waiters(p.view, p.key)
	if err != nil {
		return err
	}
	for _, w := range waiters {
		if p.l.Probe(w.Holder).Life != fslease.Dead {
			p.queue = append(p.queue, w)
		}
	}
	p.keepers, err = p.view.Keepers(p.key)
	return err
}

func (p *portrait) json() (json.RawMessage, error) {
	about := struct {
		Verdict   string             `json:"verdict"`
		Reason    string             `json:"reason"`
		Queue     []json.RawMessage  `json:"queue"`
		FencePids []int64            `json:"fence_pids"`
		Tombstone *fslease.Tombstone `json:"tombstone"`
	}{Queue: []json.RawMessage{}, FencePids: []int64{}, Tombstone: p.look.State.Tomb}
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
	for _, k := range p.keepers {
		about.FencePids = append(about.FencePids, k.PID)
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
func (p *portrait) text(s *screen) (string, error) {
	out := &lines{screen: s, width: 10}
	when := stamp(s)
	out.add("key", string(p.key))
	out.put("state", stateWord(p.look))
	if cur := p.look.State.Current(); cur != nil {
		p.lease(out, *cur, when)
	}
	p.around(out, when)
	next, err := p.outlook()
	out.add("acquire", next)
	return out.b.String(), err
}

func (p *portrait) lease(out *lines, cur fslease.Record, when func(time.Time) string) {
	out.add("generation", fmt.Sprint(cur.Generation))
	if cur.Holder.IsTicket() {
		out.add("holder", fmt.Sprintf("ticket %s, session %d", cur.Holder.Ticket, cur.Holder.Session))
	} else {
		h := cur.Holder
		out.add("holder", fmt.Sprintf("%s@%s pid %d", h.User, h.Host, h.PID))
		if len(h.Command) > 0 {
			out.add("command", strings.Join(h.Command, " "))
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
	for i, w := range p.queue {
		line := fmt.Sprintf("%d. %s since %s", i+1, describe(w.Holder), when(w.Since))
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
			out.add("unclean", fmt.Sprintf("%d times in a row given up without a release", t.Unclean))
		}
	}
}

// outlook says what an acquire of the key would meet now: what overlaps it counts too.
func (p *portrait) outlook() (string, error) {
	states, err := p.view.Overlapping(p.key)
	if err != nil {
		return "", err
	}
	burial := ""
	for _, st := range states {
		cur := st.Current()
		if cur == nil {
			continue
		}
		look, err := p.l.leases.Judge(p.view, st)
		if err != nil {
			return "", err
		}
		if look.Judgement.Takeover {
			burial = fmt.Sprintf("at once, taking over from generation %d of %s (%s)", cur.Generation, cur.Key, stateWord(look).text)
			continue
		}
		text := fmt.Sprintf("waits for %s, held by %s", cur.Key, describe(cur.Holder))
		if wait := look.Judgement.Wait; wait > 0 && look.Judgement.Verdict.Life != fslease.Alive {
			text += fmt.Sprintf("; taken over if it is silent for another %s", fslease.Seconds(wait))
		}
		return text, nil
	}
	switch {
	case len(p.queue) > 0:
		return fmt.Sprintf("waits in line behind %d", len(p.queue)), nil
	case len(p.keepers) > 0:
		return "waits for the fence", nil
	case burial != "":
		return burial, nil
	}
	return "at once", nil
}
