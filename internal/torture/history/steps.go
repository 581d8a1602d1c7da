package history

import (
	"math"
	"slices"

	"github.com/anishathalye/porcupine"
)

// pending is the return of what never returned.
const pending = math.MaxInt64

// A happening is a step on some keys, at some time between two moments.
type happening struct {
	step
	keys     []string
	tokens   map[string]int64
	from, to int64
}

// happenings are what a call did, one after the other.
func (c *call) happenings() []happening {
	at := func(v verb, from, to int64) happening {
		return happening{step{verb: v, token: c.token, until: c.until(), at: min(to, c.end)}, c.keys, c.tokens, from, to}
	}
	whole := func(v verb) []happening { return []happening{at(v, c.start, c.end)} }
	if c.unknown() {
		v := map[kind]verb{run1: vanishes, acquire: vanishes, release: mayEnd, transfer: mayMove, breaks: mayBreak}[c.kind]
		switch {
		case c.kind == renew || c.kind == check || c.kind == fenced:
			return nil // it may have been renewed: the model lets it be taken over sooner
		case c.work == nil:
			return []happening{at(v, c.start, pending)}
		}
	}
	switch c.kind {
	case run1:
		return c.ran(at)
	case acquire:
		return whole(map[int]verb{0: grants, 75: refuses, 76: vanishes}[c.result.Code]) // 76: somebody broke it before the answer
	case release:
		return whole(map[int]verb{0: ends, 76: loses}[c.result.Code])
	case renew:
		return whole(map[int]verb{0: renews, 76: loses}[c.result.Code])
	case transfer:
		return whole(map[int]verb{0: moves, 75: counts, 76: loses}[c.result.Code])
	case breaks:
		return whole(map[int]verb{0: takesAway, 1: findsNone}[c.result.Code])
	case check:
		return whole(map[int]verb{0: counts, 1: countsNot}[c.result.Code])
	}
	if c.work == nil {
		return whole(map[bool]verb{true: loses, false: counts}[c.result.Code == 76])
	}
	return []happening{at(counts, c.start, c.work.Start)}
}

// ran is what a run did: it was granted the keys before its command began, and gave each back after its end.
func (c *call) ran(at func(verb, int64, int64) happening) []happening {
	if c.work == nil {
		if c.result.Code == 75 {
			return []happening{at(refuses, c.start, c.end)}
		}
		return []happening{at(vanishes, c.start, c.end)} // its command was killed before it could say anything
	}
	began := at(grants, c.start, c.work.Start)
	began.tokens, began.at = c.work.Tokens, c.work.Start
	all := []happening{began}
	ended := max(c.work.Start, c.work.End)
	for _, key := range c.keys {
		v, to := ends, c.end
		switch {
		case c.killed:
			v, to = mayEnd, pending
		case c.result.Code == 76:
			v = stops
		}
		h := at(v, ended, to)
		h.keys, h.token = []string{key}, c.work.Tokens[key]
		all = append(all, h)
	}
	return all
}

// operations are the happenings of one family as the model takes them.
func operationsOf(family []string, calls []*call) []porcupine.Operation {
	var ops []porcupine.Operation
	for i, c := range calls {
		for _, h := range c.happenings() {
			s := h.step
			s.names = family
			for _, key := range h.keys {
				if k := slices.Index(family, key); k >= 0 {
					s.keys, s.tokens = append(s.keys, k), append(s.tokens, h.tokens[key])
				}
			}
			if len(s.keys) == 0 {
				continue
			}
			// A refusal may be for a key of another family, or for one that asked at the same time: it may have held the
			// keys for a moment, in which they may have been broken too, waited ahead, or kept a fence.
			s.excused = len(s.keys) < len(h.keys) || (s.verb == refuses || s.verb == takesAway) && accompanied(c, calls)
			ops = append(ops, porcupine.Operation{ClientId: i, Input: s, Call: h.from, Return: h.to})
		}
	}
	return ops
}

// accompanied reports whether another worker's call was on its way meanwhile that may be in the way without holding a token.
func accompanied(c *call, calls []*call) bool {
	return slices.ContainsFunc(calls, func(o *call) bool {
		return o != c && (o.asks() || o.kind == fenced || o.kind == transfer) && overlapping(o.keys, c.keys) && o.start <= c.end && c.start <= o.over()
	})
}

// over is when nothing of a call was left.
func (c *call) over() int64 {
	switch {
	case !c.killed || c.kind != run1 && c.kind != fenced:
		return c.end
	case c.work == nil || c.work.End == 0:
		return pending
	}
	return max(c.end, c.work.End)
}
