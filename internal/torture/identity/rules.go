package identity

// What is demanded of an observer: its verdict, and words of which the reason has one.
type demand struct {
	verdict string
	reasons []string
}

// demands computes the verdict from the rules alone. The liveness lock is seen from anywhere and is kept as long as
// one thread lives. A pid says something only on its own boot, in its own pid and time namespace. There a process that
// has ended is dead, hidden from this user or not, reaped or not, whoever has its number now; one that has not is alive
// if it can be looked at.
func (s scene) demands() demand {
	lives := s.state == running || s.state == stopped || s.state == leader
	if s.evidence == "lock" {
		if lives {
			return demand{"alive", []string{"keeps its liveness lock"}}
		}
		return demand{"dead", []string{"liveness lock is free"}}
	}
	var strange []string
	if s.relation != same {
		strange = append(strange, "other pid namespace")
	}
	if s.shifted {
		strange = append(strange, "other time namespace")
	}
	if s.bound {
		strange = append(strange, "other boot")
	}
	unseen := s.hidden && s.other && s.observer.uid != 0
	switch {
	case len(strange) > 0:
		return demand{"unknown", strange}
	case !lives:
		return demand{"dead", map[state][]string{zombie: {"zombie", "gone"}, gone: {"gone"}, reused: {"reused"}}[s.state]}
	case unseen:
		return demand{"unknown", []string{"hidepid"}}
	}
	return demand{"alive", map[state][]string{running: {"running"}, stopped: {"stopped"}, leader: {"another thread"}}[s.state]}
}
