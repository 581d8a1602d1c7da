package history

import (
	"slices"

	"github.com/anishathalye/porcupine"

	"fslease/internal/torture/kit"
)

// A state is what a model of leases knows of the keys of one family, by their places in it.
type state [most]slot

// A slot is one key.
type slot struct {
	token   int64 // 0: nobody holds it, unknown: somebody holds it whom nobody was told of
	until   int64 // from when on it may be taken over
	highest int64 // generation that was given out
}

const unknown = -1

// What may happen to a family.
type verb int

const (
	grants    verb = iota // the keys are given to one who asked
	refuses               // one who asked does not get them
	vanishes              // one who asked was killed
	ends                  // a token is given up
	loses                 // a token is not current, whoever has it was told
	mayEnd                // a token was given up, or its holder killed before
	stops                 // what ran under a token ended, and it was lost or given up
	renews                // a token is current, and is from now on
	counts                // a token is current
	countsNot             // it is not, or its holder is dead or silent
	takesAway             // an operator took the key
	findsNone             // an operator found nobody
	mayBreak              // an operator was killed
	moves                 // a token was exchanged for another
	mayMove               // who wanted that was killed
)

// A step is one thing that happened, at some moment between its call and its return.
type step struct {
	verb    verb
	names   []string // of the family
	keys    []int    // places in it
	tokens  []int64  // that were given, beside keys
	token   int64    // that was named
	until   int64    // from when on what was given may be taken over
	at      int64    // it happened at this moment at the latest
	excused bool     // it may have met something that the model does not see
}

// model says which histories of a family are possible.
var model = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{state{}} },
	Step: func(s, input, _ any) []any {
		var next []any
		for _, n := range input.(step).from(s.(state)) {
			next = append(next, n)
		}
		return next
	},
}).ToModel()

// from returns the states that may follow s; none if the step cannot happen in it.
func (p step) from(s state) []state {
	switch p.verb {
	case grants:
		return p.grant(s)
	case refuses:
		cleared, _ := p.clear(s)
		return when(p.met(s) || p.excused, s, cleared)
	case vanishes:
		cleared, free := p.clear(s)
		if !free {
			return distinct(s, cleared)
		}
		taken := cleared
		for _, k := range p.keys {
			taken[k].token, taken[k].until = unknown, 0
		}
		return distinct(s, cleared, taken)
	}
	k := p.keys[0]
	current := s[k].token == p.token
	next := s
	switch p.verb {
	case ends:
		next[k].token = 0
		return when(current, next)
	case loses:
		return when(!current, s)
	case mayEnd:
		if current {
			next[k].token = 0
		}
		return distinct(s, next)
	case stops:
		if current {
			next[k].token = 0
		}
		return []state{next}
	case renews:
		next[k].until = p.until
		return when(current, next)
	case counts:
		return when(current, s)
	case countsNot:
		return when(!current || s[k].until <= p.at, s)
	case takesAway:
		if s[k].token == unknown && p.token > s[k].highest {
			current, next[k].highest = true, p.token
		}
		next[k].token = 0
		if p.excused && p.token > s[k].highest {
			s[k].highest = p.token
			return when(true, s, next)
		}
		return when(current, next)
	case findsNone:
		return when(s[k].token == 0, s)
	case mayBreak:
		next[k].token = 0
		return distinct(s, next)
	case moves:
		next[k] = slot{token: p.tokens[0], until: p.until, highest: p.tokens[0]}
		return when(current && p.tokens[0] > s[k].highest, next)
	case mayMove:
		if current {
			next[k].token, next[k].until = unknown, 0
		}
		return distinct(s, next)
	}
	panic("no such step")
}

// grant gives keys that nobody holds any more, each at a generation above all before.
func (p step) grant(s state) []state {
	next, free := p.clear(s)
	for i, k := range p.keys {
		free = free && p.tokens[i] > s[k].highest
		next[k] = slot{token: p.tokens[i], until: p.until, highest: p.tokens[i]}
	}
	return when(free, next)
}

// clear takes away what may be taken over of all that overlaps the keys, and reports whether nothing else is held of it.
func (p step) clear(s state) (state, bool) {
	free := true
	for i, name := range p.names {
		switch {
		case s[i].token == 0 || !p.concerns(name):
		case s[i].until <= p.at:
			s[i].token = 0
		default:
			free = false
		}
	}
	return s, free
}

// met reports whether anything that overlaps the keys is held.
func (p step) met(s state) bool {
	for i, name := range p.names {
		if s[i].token != 0 && p.concerns(name) {
			return true
		}
	}
	return false
}

// concerns reports whether one of the keys overlaps another.
func (p step) concerns(name string) bool {
	return slices.ContainsFunc(p.keys, func(k int) bool { return kit.Overlap(p.names[k], name) })
}

func when(possible bool, states ...state) []state {
	if possible {
		return distinct(states...)
	}
	return nil
}

func distinct(states ...state) []state {
	var all []state
	for _, s := range states {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
