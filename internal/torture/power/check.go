package power

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"fslease/internal/crashstate"
	"fslease/internal/torture/kit"
)

// A Ticket as it is on the disk.
type Ticket struct {
	Status  string
	Session int64
	Scope   []string
}

func (t *Ticket) String() string {
	if t == nil {
		return "none"
	}
	return fmt.Sprintf("%s by session %d", t.Status, t.Session)
}

func (t *Ticket) Live() bool {
	return t != nil && slices.Contains([]string{"IN_PROGRESS", "BLOCKED", "REVIEW"}, t.Status)
}

func (t *Ticket) scope() []string {
	if t == nil {
		return nil
	}
	return t.Scope
}

// TicketIn returns a ticket, nil if there is none.
func TicketIn(tree crashstate.Tree, id string) (*Ticket, error) {
	data, ok := tree["tickets/"+id+".json"]
	if !ok {
		return nil, nil
	}
	var t Ticket
	err := json.Unmarshal([]byte(data), &t)
	return &t, err
}

// renewed lets dir hold what is in the tree.
func renewed(dir string, tree crashstate.Tree) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return tree.Write(dir)
}

// An Aftermath is what people do after a power cut, in another boot.
type Aftermath struct {
	Ledger  *kit.Ledger // as that boot sees it
	Tree    crashstate.Tree
	Keys    *crashstate.Story
	Tickets *crashstate.Story
	Cut     int
	Lax     bool // what a process held until it ended need not have survived
	Genuine bool // the boot id is the kernel's own
	Spoiled bool // a record was damaged by hand
	Rand    *rand.Rand

	left []string // keys that are still to be taken
}

// Check does what people do, and says what is wrong: no generation is handed out again, every ticket is in its old or
// new state, no record is half, nobody loses what had to survive, and nothing is blocked for good.
func (a *Aftermath) Check() error {
	if !a.Lax && !a.Spoiled {
		if err := whole(a.Tree); err != nil {
			return err
		}
	}
	live, err := a.live()
	if err != nil {
		return err
	}
	if a.Spoiled && !a.Genuine { // nobody knows that this is another boot: somebody has to mend what is damaged
		if r := a.Ledger.Run("doctor", "--repair"); r.Code != 0 {
			return fmt.Errorf("%s", r)
		}
	}
	if err := a.leases(live); err != nil {
		return err
	}
	for _, id := range a.Tickets.Things() {
		if err := a.settle(id); err != nil {
			return fmt.Errorf("ticket %s: %w", id, err)
		}
	}
	return a.take(a.left)
}

// whole reports the first lease or tombstone that is half.
func whole(tree crashstate.Tree) error {
	for name, data := range tree {
		top, _, _ := strings.Cut(name, "/")
		if (top == "leases" || top == "tombstones") && path.Ext(name) == ".json" && !json.Valid([]byte(data)) {
			return fmt.Errorf("%s is half", name)
		}
	}
	return nil
}

// live returns the keys that live tickets have. Each ticket must be in its old or new state.
func (a *Aftermath) live() (keys []string, err error) {
	for _, id := range a.Tickets.Things() {
		t, err := TicketIn(a.Tree, id)
		if err != nil {
			return nil, fmt.Errorf("ticket %s is half: %w", id, err)
		}
		if may := a.Tickets.May(id, a.Cut, "none"); !slices.Contains(may, t.String()) {
			return nil, fmt.Errorf("ticket %s is %s, not one of %q", id, t, may)
		}
		if t.Live() {
			keys = append(keys, t.Scope...)
		}
	}
	return keys, nil
}

// leases asks for every key that somebody had.
func (a *Aftermath) leases(live []string) error {
	var free []string
	for _, k := range a.Keys.Things() {
		states := a.Keys.May(k, a.Cut, Free)
		reserved := slices.Contains(live, k)
		must := reserved || len(states) == 1 && states[0] == ByToken
		// Where the boot is not known a dead holder may live, so only what was surely given up is free.
		may := must || slices.Contains(states, ByToken) || !a.Genuine && !slices.Equal(states, []string{Free})
		if !may {
			free = append(free, k)
			continue
		}
		r := a.acquire(k)
		switch {
		case r.Code == 75 && reserved:
			a.left = append(a.left, k)
		case r.Code == 75:
			if r := a.Ledger.Run("break", k, "--reason", "nobody knows"); r.Code != 0 {
				return fmt.Errorf("%s cannot be broken: %s", k, r)
			}
			a.left = append(a.left, k)
		case must && r.Code == 0:
			return fmt.Errorf("%s, which is %q, was given to somebody else: %s", k, states, r)
		default:
			if err := a.generations([]string{k}, r); err != nil {
				return err
			}
		}
	}
	return a.take(free)
}

func (a *Aftermath) acquire(keys ...string) kit.Result {
	return a.Ledger.Run(append([]string{"acquire", "-n", "--ttl", "1h"}, keys...)...)
}

// take takes keys, which must be free.
func (a *Aftermath) take(keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	return a.generations(keys, a.acquire(keys...))
}

// generations checks that no generation was handed out before.
func (a *Aftermath) generations(keys []string, r kit.Result) error {
	if r.Code != 0 {
		return fmt.Errorf("cannot be had: %s", r)
	}
	lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	if len(lines) != len(keys) {
		return fmt.Errorf("%d generations for %d keys: %s", len(lines), len(keys), r)
	}
	for i, line := range lines {
		number, _, _ := strings.Cut(line, "\t")
		if err := a.newGeneration(keys[i], number); err != nil {
			return err
		}
	}
	return nil
}

func (a *Aftermath) newGeneration(key, number string) error {
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if told := a.Keys.Highest(key, a.Cut); err == nil && n <= told {
		err = fmt.Errorf("generation %d of %s was handed out, although %d had been before the power cut", n, key, told)
	}
	return err
}

// settle brings a ticket to its end, whatever became of it: by working on it once more, or by cancelling it.
func (a *Aftermath) settle(id string) error {
	do := func(args ...string) (string, error) {
		r := a.Ledger.Run(append([]string{"ticket"}, args...)...)
		if r.Code != 0 {
			return "", fmt.Errorf("%s", r)
		}
		return strings.TrimSpace(r.Stdout), nil
	}
	force := []string{"--force", "--reason", "after the power cut"}
	t, err := TicketIn(a.Tree, id)
	if err != nil || t == nil || t.Status == "DONE" || t.Status == "CANCELLED" {
		return err
	}
	if t.Status == "PROPOSED" || a.Rand.IntN(2) == 0 {
		_, err := do(append([]string{"cancel", id}, force...)...)
		return err
	}
	if t.Status == "IN_PROGRESS" { // the pass of a command before may have blocked it
		r := a.Ledger.Run(append([]string{"ticket", "block", id}, force...)...)
		if r.Code != 0 && r.Code != 1 {
			return fmt.Errorf("%s", r)
		}
	}
	if t.Status == "READY" { // its scope was taken above, as nobody had it
		for _, k := range t.Scope {
			a.Ledger.Run("break", k, "--reason", "taken to see whether it is free")
		}
	}
	if !a.Genuine { // whoever was starting it when the power was cut may live, for all that can be told
		a.Ledger.Run("break", "ticket:"+id, "--reason", "nobody knows")
	}
	token, err := do("start", id)
	if err == nil {
		err = a.newGeneration("ticket:"+id, token)
	}
	if err == nil {
		_, err = do("done", id, "--token", token)
	}
	return err
}
