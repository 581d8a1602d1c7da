package power

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"fslease/internal/crashstate"
	"fslease/internal/torture/kit"
)

// States of a key.
const (
	Free      = "free"
	ByProcess = "held by a process" // which ends with the boot
	ByToken   = "held by a token"   // whoever has it
	ByTicket  = "held by a ticket"  // as the ticket says
)

// A bench traces the commands of one task, and looks at what power cuts leave of them.
type bench struct {
	*kit.T
	task
	dir    string
	ledger *kit.Ledger // where the commands run
	then   *kit.Ledger // where a power cut is gone on from, in another boot

	disk    *crashstate.Disk
	keys    crashstate.Story
	tickets crashstate.Story
	tokens  map[string]int64 // that were told last, by key
	spoiled bool             // a record was damaged by hand
	before  []moment         // each step
	seen    map[string]bool  // states
}

// A moment is how things stood before a step.
type moment struct {
	tree          crashstate.Tree
	keys, tickets map[string]string // their states
	told          map[string]int64
	syncs         []string // what the step then synced
}

func (b *bench) run() {
	defer func() {
		if p := recover(); p != nil {
			b.Violate("%s: the part itself broke: %v\n%s", b.task, p, debug.Stack())
		}
	}()
	place, then := b.LedgerIn(b.dir), b.LedgerIn(b.dir)
	defer place.Close()
	defer then.Close()
	b.ledger, b.then = OnBoot(place, "boot-1", b.genuine), OnBoot(then, "boot-2", b.genuine)
	b.tokens, b.seen = map[string]int64{}, map[string]bool{}
	settings := "{}"
	if b.sync {
		settings = `{"sync_grants": true}`
	}
	first := crashstate.Tree{"ledger.json": `{"schema": 1, "id": "` + strings.Repeat("0f", 16) + `", "ceiling": 1000, "floor": 0, "settings": ` + settings + `}`}
	if err := first.Write(b.ledger.Dir); err != nil {
		panic(err)
	}
	if b.setup != nil {
		b.setup(b)
	}
	tree := b.read()
	b.disk = crashstate.New(tree)
	for _, s := range b.steps {
		if b.Ended() || !b.step(s) {
			return
		}
	}
	b.cut()
	b.failures()
}

func (b *bench) read() crashstate.Tree {
	tree, err := crashstate.Read(b.ledger.Dir)
	if err != nil {
		panic(err)
	}
	return tree
}

// step runs one command and takes into the story what came of it.
func (b *bench) step(s step) bool {
	now := moment{tree: b.read(), keys: map[string]string{}, tickets: map[string]string{}, told: map[string]int64{}}
	for _, k := range b.keys.Things() {
		now.keys[k], now.told[k] = b.keys.Last(k, Free), b.keys.Highest(k, b.disk.Len())
	}
	for _, id := range b.tickets.Things() {
		now.tickets[id] = b.tickets.Last(id, "none")
	}
	from := b.disk.Len()
	r, result, err := b.traced(b.disk, b.words(s))
	if err == nil && result.Code != 0 {
		err = fmt.Errorf("it fails without any power cut")
	}
	if err == nil && b.disk.Crash(b.disk.Len(), func(int) int { return 0 }).String() != b.read().String() {
		err = fmt.Errorf("the model of the file system is wrong: replayed, the trace gives something else")
	}
	if err != nil {
		b.Violate("%s: %v\n%s", b.task, err, result)
		return false
	}
	now.syncs = r.synced
	b.before = append(b.before, now)
	b.told(s, &b.keys, r, result, from)
	b.did(s, &b.keys, &b.tickets, from, b.disk.Len(), b.read())
	return true
}

// words are the arguments of a step: @KEY stands for the token of the key.
func (b *bench) words(s step) []string {
	args := slices.Clone(s.args)
	for i, a := range args {
		if key, ok := strings.CutPrefix(a, "@"); ok {
			args[i] = strconv.FormatInt(b.tokens[key], 10)
		}
	}
	return args
}

// traced runs a command and replays on the disk what it did.
func (b *bench) traced(disk *crashstate.Disk, args []string, strace ...string) (*replay, kit.Result, error) {
	out := filepath.Join(filepath.Dir(b.ledger.Dir), "trace")
	strace = append([]string{"strace", "-f", "-y", "-xx", "-s", "2000000", "-o", out, "-e", "trace=" + traced}, strace...)
	result := b.ledger.In(strace...).Run(args...)
	dir, err := filepath.EvalSymlinks(b.ledger.Dir)
	r := &replay{disk: disk, dir: dir}
	if err == nil {
		err = r.run(out)
	}
	return r, result, err
}

// told adds the generations that a command printed, from when it printed them.
func (b *bench) told(s step, story *crashstate.Story, r *replay, result kit.Result, from int) {
	numbers := strings.Fields(result.Stdout)
	for i, key := range s.tells {
		if i >= len(numbers) {
			continue
		}
		n, err := strconv.ParseInt(numbers[i], 10, 64)
		if err != nil {
			b.Violate("%s: it does not print the generation of %s\n%s", b.task, key, result)
			continue
		}
		at := from
		for _, said := range r.said {
			at = said.at
		}
		story.Told(key, at, n)
		b.tokens[key] = n
	}
}

// did adds what a command that said 0 has done.
func (b *bench) did(s step, keys, tickets *crashstate.Story, from, to int, tree crashstate.Tree) {
	for _, k := range s.keys {
		keys.Did(k, from, to, s.state)
	}
	if s.ticket == "" {
		return
	}
	t, err := TicketIn(tree, s.ticket)
	if err != nil {
		b.Violate("%s: ticket %s: %v", b.task, s.ticket, err)
		return
	}
	if s.works { // it is in progress meanwhile
		during := Ticket{Status: "IN_PROGRESS", Session: b.tokens["ticket:"+s.ticket]}
		tickets.Did(s.ticket, from, to, during.String())
	}
	tickets.Did(s.ticket, from, to, t.String())
	state := Free
	if t.Live() {
		state = ByTicket
	}
	for _, k := range t.scope() {
		keys.Did(k, from, to, state)
	}
}

// cut looks at what power cuts leave, at every step of the commands, until as many states were seen as are wanted.
func (b *bench) cut() {
	for range 20 { // if there are not that many, several looks find no new ones
		cuts := b.rand.Perm(b.disk.Len() + 1)
		found := len(b.seen)
		for _, cut := range cuts {
			limit := max(6, 2*(b.states-len(b.seen))/len(cuts))
			b.look(b.disk, cut, limit, &b.keys, &b.tickets, "")
			if len(b.seen) >= b.states || b.Ended() {
				return
			}
		}
		if len(b.seen) == found {
			return
		}
	}
}

// look looks at some states after one cut.
func (b *bench) look(disk *crashstate.Disk, cut, limit int, keys, tickets *crashstate.Story, what string) {
	for tree := range disk.States(cut, limit, rand.New(rand.NewPCG(b.rand.Uint64(), 1))) {
		id := fmt.Sprint(what, keys.Known(cut), tickets.Known(cut), tree)
		if b.seen[id] || b.Ended() {
			continue
		}
		b.seen[id] = true
		os.RemoveAll(b.then.Dir)
		if err := tree.Write(b.then.Dir); err != nil {
			panic(err)
		}
		a := &Aftermath{Ledger: b.then, Tree: tree, Keys: keys, Tickets: tickets, Cut: cut, Lax: b.lax(), Genuine: b.genuine, Spoiled: b.spoiled, Rand: b.rand}
		b.Made("crash states", 1)
		if err := a.Check(); err != nil {
			b.Violate("%s%s: a power cut after step %d of %d: %v\nit left%s", b.task, what, cut, disk.Len(), err, listing(tree))
		}
	}
}

// listing is what a message says of a tree.
func listing(t crashstate.Tree) string {
	out := ""
	for _, name := range slices.Sorted(maps.Keys(t)) {
		if !strings.HasPrefix(name, "locks/") && !strings.HasPrefix(name, "journal/") && name != "README" {
			out += fmt.Sprintf("\n%s %.300q", name, t[name])
		}
	}
	return out
}
