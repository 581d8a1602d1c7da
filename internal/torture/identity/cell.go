package identity

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// A relation says where the holder's pid namespace lies, seen from the observer's.
type relation string

const (
	same    relation = "same"
	child   relation = "child"
	sibling relation = "sibling"
	parent  relation = "parent"
)

// A state is what became of the holder's process.
type state string

const (
	running state = "running"
	stopped state = "stopped"
	zombie  state = "zombie"
	leader  state = "zombie leader with a live thread"
	gone    state = "gone"
	reused  state = "pid reused"
)

// A cell of the table: how observer and holder differ, what became of the holder, and by what it can be told.
type cell struct {
	relation relation
	shifted  bool // the two are in different time namespaces
	bound    bool // one of the two sees a boot id that was mounted over the kernel's
	state    state
	hidden   bool // the observer's /proc is mounted with hidepid=2
	other    bool // the two are different users
	evidence string
}

func (c cell) String() string {
	return fmt.Sprintf("holder in %s pid namespace, shifted time %v, bound boot id %v, %s, hidepid %v, other user %v, evidence %s",
		c.relation, c.shifted, c.bound, c.state, c.hidden, c.other, c.evidence)
}

// foreign counts in how much the two are apart: users and hidepid weigh less than what makes a pid say nothing.
func (c cell) foreign() int {
	n := 0
	for weight, apart := range map[int][]bool{2: {c.relation != same, c.shifted, c.bound}, 1: {c.hidden, c.other}} {
		for _, on := range apart {
			if on {
				n += weight
			}
		}
	}
	return n
}

// allCells is the whole table, first those cells in which the two are next to each other.
func allCells() []cell {
	var all []cell
	either := []bool{false, true}
	for _, r := range []relation{same, child, sibling, parent} {
		for _, s := range []state{running, stopped, zombie, leader, gone, reused} {
			for _, evidence := range []string{"lock", "pid"} {
				for _, shifted := range either {
					for _, bound := range either {
						for _, hidden := range either {
							for _, other := range either {
								all = append(all, cell{r, shifted, bound, s, hidden, other, evidence})
							}
						}
					}
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b cell) int { return a.foreign() - b.foreign() })
	return all
}

// choose returns n cells: the whole table as often as it goes into n, and of the rest a sample in which every value
// of every axis occurs.
func choose(r *rand.Rand, n int) []cell {
	all := allCells()
	var chosen []cell
	for ; n >= len(all); n -= len(all) {
		chosen = append(chosen, all...)
	}
	for {
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		if n == 0 || everyValue(all[:n]) {
			return append(chosen, all[:n]...)
		}
		if n < leastSample {
			n = leastSample
		}
	}
}

// leastSample is how many cells are drawn at least: with fewer it may take for ever until every value occurs.
const leastSample = 12

func everyValue(cells []cell) bool {
	values := map[any]bool{}
	for _, c := range cells {
		for axis, on := range []bool{c.shifted, c.bound, c.hidden, c.other} {
			values[[2]any{axis, on}] = true
		}
		values[c.relation], values[c.state], values[c.evidence] = true, true, true
	}
	return len(values) == 4*2+4+6+2
}

// A side is where one of the two is, and who.
type side struct {
	Place
	uid int
}

// Users of the ledger besides root.
const (
	nobody   = 65534
	somebody = 65532
	group    = 65533 // of both, and of the ledger
)

// A scene is a cell with its cast: the cell says that the two differ, and not which of them is the odd one.
type scene struct {
	cell
	holder, observer side
}

func cast(r *rand.Rand, c cell) scene {
	s := scene{cell: c}
	switch c.relation {
	case same:
		s.holder.NS = []string{outer, inner}[r.IntN(2)]
		s.observer.NS = s.holder.NS
	case child:
		s.holder.NS, s.observer.NS = inner, outer
	case sibling:
		s.holder.NS, s.observer.NS = inner, beside
	case parent:
		s.holder.NS, s.observer.NS = outer, inner
	}
	odd := func() *side { return []*side{&s.holder, &s.observer}[r.IntN(2)] }
	if c.shifted {
		odd().Shifted = true
	}
	if c.bound {
		odd().Bound = true
	}
	s.observer.Hide = c.hidden
	pairs := [][2]int{{0, 0}, {nobody, nobody}}
	if c.other {
		pairs = [][2]int{{0, nobody}, {nobody, somebody}, {nobody, 0}}
	}
	pair := pairs[r.IntN(len(pairs))]
	s.holder.uid, s.observer.uid = pair[0], pair[1]
	return s
}

// A casting is what scenes must have in common to be played with one holder.
type casting struct {
	holder   side
	state    state
	evidence string
}

// group puts scenes together that one holder can serve, at most so many.
func groupScenes(scenes []scene, most int) [][]scene {
	at := map[casting]int{}
	var groups [][]scene
	for _, s := range scenes {
		c := casting{s.holder, s.state, s.evidence}
		i, open := at[c]
		if !open || len(groups[i]) == most {
			i = len(groups)
			at[c] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	return slices.Clip(groups)
}
