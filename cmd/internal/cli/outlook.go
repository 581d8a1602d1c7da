package cli

import (
	"fmt"
	"slices"
	"strings"

	"fslease/fslease"
	"fslease/procinfo"
)

// An outlook is what an acquire of a key would meet now: what is in its way, why that stays there, and what
// somebody can do about it, in this way or that, who looks at it because "it hangs".
type outlook struct {
	meets, because string
	free           []string
}

// atOnce is what an acquire meets where nothing is in the way.
const atOnce = "at once"

// outlook says what an acquire of the key would meet now: what overlaps it counts too.
func (p *portrait) outlook() (outlook, error) {
	look, burial, err := p.inTheWay(p.key)
	if err != nil {
		return outlook{}, err
	}
	if look != nil {
		return p.behindLease(*look)
	}
	if w := p.first(p.queue); w != nil {
		return p.behindWaiter(*w)
	}
	switch {
	case len(p.keepers) > 0:
		return behindFence(p.keepers), nil
	case burial != "":
		return outlook{meets: burial}, nil
	}
	return outlook{meets: atOnce}, nil
}

// first returns the first of waiters that is in the way of those behind it, nil if there is none: one that sleeps through
// its turn is, until it has been passed over.
func (p *portrait) first(waiters []fslease.Waiter) *fslease.Waiter {
	now := p.l.Clock().Now()
	for _, w := range waiters {
		if !w.PassedOver(now) {
			return &w
		}
	}
	return nil
}

// inTheWay returns the first lease in the way of key, nil if there is none; then burial says which one an
// acquire would take over.
func (p *portrait) inTheWay(key fslease.Key) (first *fslease.Look, burial string, err error) {
	states, err := p.view.Overlapping(key)
	if err != nil {
		return nil, "", err
	}
	for _, st := range states {
		cur := st.Current()
		if cur == nil {
			continue
		}
		look, err := p.l.leases.Judge(p.view, st)
		if err != nil || !look.Judgement.Takeover {
			return &look, "", err
		}
		burial = fmt.Sprintf(atOnce+", taking over from generation %d of %s (%s)", cur.Generation, cur.Key, stateWord(look).text)
	}
	return nil, burial, nil
}

func (p *portrait) behindLease(look fslease.Look) (outlook, error) {
	cur := look.State.Current()
	o := outlook{meets: fmt.Sprintf("waits for %s, held by %s", cur.Key, describe(cur.Holder))}
	if look.Reserved {
		return p.behindTicket(o, cur.Holder.Ticket)
	}
	keepers := p.keepers
	if cur.Key != p.key {
		var err error
		if keepers, err = p.view.Keepers(cur.Key); err != nil {
			return o, err
		}
	}
	if p.waitsForFence(cur.Holder, keepers) {
		o.meets = fmt.Sprintf("waits for %s, held by %s", cur.Key, describeIdle(cur.Holder))
		o.because = "it waits itself for what ran under an earlier lease and has not ended: " + fslease.DescribeKeepers(keepers)
		o.free = behindFence(keepers).free
		return o, nil
	}
	o.because = staying(*cur, look.Judgement)
	var work []int64 // what runs under it here
	if p.here(cur.Holder) && cur.Holder.Evidence != fslease.EvidenceNone {
		work = slices.DeleteFunc(pidsOf(keepers), func(pid int64) bool { return pid == cur.Holder.PID })
	}
	switch stopped := stoppedOf(work); {
	case p.here(cur.Holder) && procinfo.Stopped(int(cur.Holder.PID)):
		o.because = "it is stopped (^Z, or kill -STOP): " + o.because
	case stopped != "":
		o.because = "what it runs is stopped (^Z, or kill -STOP), pid" + stopped + ": " + o.because
	}
	if end := p.ending(cur.Holder, keepers, work); end != "" {
		o.free = append(o.free, end)
	}
	o.free = append(o.free, "take the key away: lease break "+shellWord(string(cur.Key))+" --reason TEXT")
	if len(work) > 0 {
		o.free = append(o.free, "if it heeds neither: kill -9"+numbers(work))
	}
	return o, nil
}

// staying says why a holder is not taken over, and when it would be.
func staying(cur fslease.Record, j fslease.Judgement) string {
	life := "it lives"
	if j.Verdict.Life != fslease.Alive {
		life = "whether it lives cannot be told from here (" + j.Verdict.Reason + ")"
	}
	switch {
	case cur.Holder.Evidence == fslease.EvidenceNone:
		return fmt.Sprintf("it is held for a time that was agreed: if it is not renewed it ends in %s", fslease.Seconds(j.Wait))
	case cur.TTL == 0 && j.Verdict.Life == fslease.Alive:
		return life + ", and the key is its own as long as it does"
	case cur.TTL == 0:
		return life + ", and no ttl was agreed: it is never taken over"
	case j.Verdict.Life == fslease.Alive && j.Silent <= cur.TTL/2:
		return fmt.Sprintf("%s and renews: it is taken over only after %s of silence", life, fslease.Seconds(cur.TTL))
	}
	return fmt.Sprintf("%s, and it has been silent for %s: it is taken over in %s unless it renews", life, fslease.Seconds(j.Silent), fslease.Seconds(j.Wait))
}

// ending says how to end the process of a holder, "" if the lease is bound to none.
func (p *portrait) ending(h fslease.Holder, keepers []fslease.Keeper, work []int64) string {
	switch {
	case h.Evidence == fslease.EvidenceNone:
		return ""
	case p.here(h):
		return "end it: " + endings([]int64{h.PID}, work)
	case len(keepers) > 0:
		return "end it, which from here is " + fslease.DescribeKeepers(keepers)
	}
	return "end it where it runs, on " + h.Host
}

// endings is what to type to end processes, which hand a signal on to others: one that is stopped hears of it only
// when it is continued.
func endings(pids, others []int64) string {
	end := "kill" + numbers(pids)
	if stopped := stoppedOf(slices.Concat(pids, others)); stopped != "" {
		end += ", and continue what is stopped: kill -CONT" + stopped
	}
	return end
}

// stoppedOf is those of pids that are stopped, each after a space.
func stoppedOf(pids []int64) string {
	return numbers(slices.DeleteFunc(slices.Clone(pids), func(pid int64) bool { return !procinfo.Stopped(int(pid)) }))
}

func numbers(pids []int64) string {
	var b strings.Builder
	for _, pid := range pids {
		fmt.Fprintf(&b, " %d", pid)
	}
	return b.String()
}

func pidsOf(keepers []fslease.Keeper) []int64 {
	pids := make([]int64, len(keepers))
	for i, k := range keepers {
		pids[i] = k.PID
	}
	return pids
}

// here reports whether the pid of h means that process here.
func (p *portrait) here(h fslease.Holder) bool {
	self, err := p.l.processes.Self()
	return err == nil && h.BootID == self.BootID && h.PIDNS == self.PIDNS
}

// behindTicket says what has to become of a ticket before its scope is free.
func (p *portrait) behindTicket(o outlook, id string) (outlook, error) {
	t, err := p.view.Ticket(id)
	if err != nil || t == nil {
		return o, err
	}
	o.because = fmt.Sprintf("the ticket is %s, and so keeps its scope until somebody decides", t.Status)
	word := shellWord(id)
	o.free = []string{"lease ticket done " + word + ", or reopen, or cancel", "lease ticket show " + word + " says what there is to know"}
	if t.Status == fslease.InProgress {
		o.because = "somebody works on the ticket, or its session has not run out yet"
		o.free[0] = "lease ticket cancel " + word + " --force --reason TEXT, or done"
	}
	return o, nil
}

// behindWaiter says why the waiter w, who goes first, does not go: it may wait for another key as well, or in its line.
func (p *portrait) behindWaiter(w fslease.Waiter) (outlook, error) {
	o := outlook{meets: fmt.Sprintf("waits in line behind %d, first of them %s", len(p.queue), describeIdle(w.Holder))}
	for _, key := range w.Keys {
		look, _, err := p.inTheWay(key)
		if err != nil {
			return o, err
		}
		if look != nil {
			cur := look.State.Current()
			o.because = fmt.Sprintf("it waits for %s as well, held by %s", cur.Key, describe(cur.Holder))
			o.free = []string{"lease show " + shellWord(string(cur.Key)) + " says how to free that"}
			return o, nil
		}
	}
	if len(w.Holds) == 0 { // under a lease it passes the queue
		for _, key := range w.Keys {
			waiters, err := p.living(key)
			if err != nil {
				return o, err
			}
			first := p.first(waiters)
			if first != nil && first.Number < w.Number {
				o.because = fmt.Sprintf("it waits in line for %s as well, behind %s", key, describeIdle(first.Holder))
				o.free = []string{"lease show " + shellWord(string(key)) + " says how to free that"}
				return o, nil
			}
		}
	}
	o.because = fmt.Sprintf("it is next and has not taken its turn yet: if it sleeps it is passed over after %s", fslease.Seconds(fslease.TurnPatience))
	if p.here(w.Holder) {
		o.free = []string{fmt.Sprintf("wake it: kill -CONT %d", w.Holder.PID), fmt.Sprintf("end it: kill %d", w.Holder.PID)}
	}
	return o, nil
}

// behindFence says that somebody's command has not ended. Taking the lease away would not help against that.
func behindFence(keepers []fslease.Keeper) outlook {
	end := "end those processes, or wait for their end"
	if len(keepers) > 0 {
		end = "wait for the end of those processes, or end them: " + endings(pidsOf(keepers), nil)
	}
	return outlook{
		meets:   "waits for the fence",
		because: "what ran under an earlier lease has not ended: " + fslease.DescribeKeepers(keepers),
		free:    []string{end, "lease break would not help"},
	}
}

// waitsForFence reports whether a holder has its lease, but not the fence, which keepers have: its command has not
// begun. Where its descriptors cannot be seen that is not known.
func (p *portrait) waitsForFence(h fslease.Holder, keepers []fslease.Keeper) bool {
	self, err := p.l.processes.Self()
	if err != nil || h.Evidence != fslease.EvidenceLock || len(keepers) == 0 || !p.here(h) || self.UID != 0 && self.UID != h.UID ||
		p.l.Probe(h).Life == fslease.Dead {
		return false
	}
	return !slices.ContainsFunc(keepers, func(k fslease.Keeper) bool { return k.PID == h.PID })
}
