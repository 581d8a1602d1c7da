package crashstate

import (
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
)

// States yields what a power cut may leave that comes after the first cut steps: every state if there are at most
// limit ways to decide what is not sure, and otherwise as many that were chosen by r, among them the one with nothing
// lost and the one with everything lost that can be. The same tree may come several times.
func (d *Disk) States(cut, limit int, r *rand.Rand) iter.Seq[Tree] {
	return func(yield func(Tree) bool) {
		var all []Tree
		for odo := (&odometer{}); ; {
			odo.at = 0
			all = append(all, d.Crash(cut, odo.pick))
			if !odo.next() {
				break
			}
			if len(all) == limit {
				all = append(all[:0], d.Crash(cut, func(int) int { return 0 }), d.Crash(cut, func(int) int { return 1 }))
				for len(all) < limit {
					all = append(all, d.Crash(cut, chance(r)))
				}
				break
			}
		}
		for _, t := range all {
			if !yield(t) {
				return
			}
		}
	}
}

// An odometer goes through every sequence of picks.
type odometer struct {
	picked, of []int
	at         int
}

func (o *odometer) pick(n int) int {
	if o.at == len(o.picked) {
		o.picked, o.of = append(o.picked, 0), append(o.of, n)
	}
	o.at++
	return o.picked[o.at-1]
}

func (o *odometer) next() bool {
	for i := len(o.picked) - 1; i >= 0; i-- {
		if o.picked[i]++; o.picked[i] < o.of[i] {
			return true
		}
		o.picked, o.of = o.picked[:i], o.of[:i]
	}
	return false
}

// chance picks at random: much kept, half of it, little, or, as a file system with one journal does, all that came
// before some step and nothing after it.
func chance(r *rand.Rand) func(int) int {
	lost := []float64{0.1, 0.5, 0.9, 1}[r.IntN(4)]
	kept := 0
	if lost == 1 {
		kept = r.IntN(20)
	}
	return func(n int) int {
		if kept--; kept >= 0 || r.Float64() >= lost {
			return 0
		}
		return 1 + r.IntN(n-1)
	}
}

// Crash returns what a power cut leaves that comes after the first cut steps. Whatever is not sure is decided by
// pick, which returns one of the numbers below n; 0 leaves it as it would be without the power cut.
func (d *Disk) Crash(cut int, pick func(n int) int) Tree {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := leftover{names: map[*node]map[string]*node{}, open: map[*node][]step{}, sure: map[*node][]byte{}, all: map[*node][]byte{}, lies: map[*node]bool{}}
	for i, e := range d.log[:cut] {
		switch {
		case e.wrote != nil:
			l.all[e.wrote] = append(l.dataOf(e.wrote), e.data...)
		case e.failed != nil:
			l.lies[e.failed] = true
		case e.synced != nil && e.synced.names == nil:
			if !l.lies[e.synced] {
				l.sure[e.synced] = l.dataOf(e.synced)
			}
		case e.synced != nil:
			l.settle(e.synced, func(int) bool { return true })
		}
		for _, c := range e.changes {
			l.open[c.folder] = append(l.open[c.folder], step{i, c})
		}
	}
	l.decide(cut, pick)
	t := Tree{}
	l.write(d.root, "", t, pick)
	return t
}

// A leftover is what is known of each node at the moment of a power cut.
type leftover struct {
	names map[*node]map[string]*node // that are sure
	open  map[*node][]step           // changes since
	sure  map[*node][]byte
	all   map[*node][]byte
	lies  map[*node]bool // syncs of this file do nothing any more
}

// A step is a change with its place in the log.
type step struct {
	i int
	change
}

func (l leftover) namesOf(n *node) map[string]*node {
	if l.names[n] == nil {
		l.names[n] = map[string]*node{}
		if n.first != nil {
			maps.Copy(l.names[n], n.first.names)
		}
	}
	return l.names[n]
}

func (l leftover) dataOf(n *node) []byte {
	if data, ok := l.all[n]; ok {
		return data[:len(data):len(data)]
	}
	if n.first != nil {
		return n.first.data
	}
	return nil
}

func (l leftover) sureOf(n *node) []byte {
	if data, ok := l.sure[n]; ok || n.first == nil {
		return data
	}
	return n.first.data
}

// settle makes the kept ones of a folder's open changes sure.
func (l leftover) settle(folder *node, kept func(i int) bool) {
	names := l.namesOf(folder)
	for _, s := range l.open[folder] {
		if kept(s.i) {
			s.apply(names)
		}
	}
	delete(l.open, folder)
}

// decide decides for each step that left an open change whether it is kept.
func (l leftover) decide(steps int, pick func(int) int) {
	undecided := make([]bool, steps)
	for _, changes := range l.open {
		for _, s := range changes {
			undecided[s.i] = true
		}
	}
	kept := make([]bool, steps)
	for i := range undecided {
		kept[i] = undecided[i] && pick(2) == 0
	}
	for folder := range l.open {
		l.settle(folder, func(i int) bool { return kept[i] })
	}
}

// write writes what is in a folder into t.
func (l leftover) write(folder *node, at string, t Tree, pick func(int) int) {
	names := l.namesOf(folder)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n := names[name]
		if n.names != nil {
			t[at+name+"/"] = ""
			l.write(n, at+name+"/", t, pick)
			continue
		}
		t[at+name] = torn(l.sureOf(n), l.dataOf(n), pick)
	}
}

// torn is what becomes of a file of which only the beginning is sure.
func torn(sure, all []byte, pick func(int) int) string {
	open := len(all) - len(sure)
	if open == 0 {
		return string(all)
	}
	switch pick(4) {
	case 0:
		return string(all)
	case 1: // nothing of it, as with allocation that is delayed
		return string(sure)
	case 2: // the length was written, the blocks were not
		return string(sure) + string(make([]byte, open))
	default:
		return string(all[:len(sure)+open/2])
	}
}
