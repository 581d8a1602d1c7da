package crashstate

import (
	"maps"
	"slices"
)

// A Story is what programs did to some things (keys, tickets), and what was told to whom, each after how many steps of
// the disk. From it follows what must be true after a power cut. The zero value is empty.
type Story struct {
	acts map[string][]act
	told map[string][]told
}

// An act is under way between from and to; afterwards the thing is in its state.
type act struct {
	from, to int
	state    string
}

type told struct {
	at     int
	number int64
}

// Did adds an act that began after from steps and had ended after to.
func (s *Story) Did(thing string, from, to int, state string) {
	if s.acts == nil {
		s.acts = map[string][]act{}
	}
	s.acts[thing] = append(s.acts[thing], act{from, to, state})
}

// Told adds that somebody was told a number of the thing after at steps.
func (s *Story) Told(thing string, at int, number int64) {
	if s.told == nil {
		s.told = map[string][]told{}
	}
	s.told[thing] = append(s.told[thing], told{at, number})
}

// Things returns what acts were added of, sorted.
func (s *Story) Things() []string { return slices.Sorted(maps.Keys(s.acts)) }

// Highest returns the highest number of the thing that somebody was told before a power cut after cut steps.
func (s *Story) Highest(thing string, cut int) int64 {
	var highest int64
	for _, t := range s.told[thing] {
		if t.at <= cut {
			highest = max(highest, t.number)
		}
	}
	return highest
}

// May returns the states that the thing may be in after a power cut: that of the last act that had ended (first: none
// had), and those of the acts that were under way.
func (s *Story) May(thing string, cut int, first string) []string {
	states := []string{first}
	for _, a := range s.acts[thing] {
		if a.to <= cut {
			states = states[:0]
		}
		if a.to <= cut || a.from < cut {
			states = append(states, a.state)
		}
	}
	return states
}

// Ever reports whether the thing was to be in a state at any time.
func (s *Story) Ever(thing, state string) bool {
	return slices.ContainsFunc(s.acts[thing], func(a act) bool { return a.state == state })
}

// Last returns the state that the thing is in without a power cut.
func (s *Story) Last(thing, first string) string {
	acts := s.acts[thing]
	if len(acts) == 0 {
		return first
	}
	return acts[len(acts)-1].state
}

// Known is a number that is different for two cuts only if something else must be true after them.
func (s *Story) Known(cut int) (n int) {
	for _, acts := range s.acts {
		for _, a := range acts {
			if a.to <= cut {
				n++
			}
			if a.from < cut {
				n++
			}
		}
	}
	for _, all := range s.told {
		for _, t := range all {
			if t.at <= cut {
				n++
			}
		}
	}
	return n
}
