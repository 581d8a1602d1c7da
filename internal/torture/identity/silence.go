package identity

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"fslease/internal/torture/kit"
)

// The silences are of holders that nothing binds to a process: only the TTL decides. atOnce is how many are going on
// at the same time.
const (
	ttl    = 900 * time.Millisecond
	atOnce = 8
)

// An observer of a silence: on the holder's clock, which tells at once, or on another one, where silence counts from
// when the revision was first seen there.
var watchers = []side{
	{Place: Place{NS: outer}},
	{Place: Place{NS: inner}, uid: nobody},
	{Place: Place{NS: outer, Shifted: true}},
	{Place: Place{NS: outer, Bound: true}},
	{Place: Place{NS: beside, Shifted: true, Bound: true}, uid: somebody},
}

// silences has n holders fall silent, seen by one watcher after the other from the first on.
func (w *world) silences(t *kit.T, n, first int) {
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if t.Ended() {
				return
			}
			observer := watchers[(first+i)%len(watchers)]
			if i == 0 {
				observer = watchers[2] // another clock: that is where more can go wrong
			}
			if err := w.silence(t, fmt.Sprintf("s%d", i), observer); err != nil {
				t.Violate("silence %d, seen from %v: %v", i, observer, err)
			}
			t.Made("silences", 1)
		})
	}
	all.Wait()
}

// A span is when something happened, on CLOCK_MONOTONIC: not before from, not after to.
type span struct{ from, to time.Duration }

func now() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail for this clock
	return time.Duration(ts.Nano())
}

func (w *world) timed(s side, args ...string) (ans Answer, at span, err error) {
	at.from = now()
	ans, err = w.lease(s, args...)
	at.to = now()
	return ans, at, err
}

// silence grants a key for a TTL and has it tried again and again, over one renewal. However slow the machine is, a try
// that ended earlier than the TTL after the base can get nothing, and one that began later must get it.
func (w *world) silence(t *kit.T, key string, observer side) error {
	holder := side{Place: Place{NS: outer}}
	foreign := observer.Shifted || observer.Bound
	ans, base, err := w.timed(holder, "acquire", "-n", "--ttl", ttl.String(), key)
	if err != nil || ans.Code != 0 {
		return fmt.Errorf("acquire: %v %v", ans, err)
	}
	token := strings.TrimSpace(ans.Stdout)
	renewed, unseen := false, true // by a foreign observer, the revision on record
	for !t.Ended() {
		try, at, err := w.timed(observer, "acquire", "-n", "--ttl", "1h", key)
		if err != nil {
			return err
		}
		if foreign && unseen {
			base, unseen = at, false // silence counts from this first look
		}
		mustNot, must := at.to-base.from < ttl, at.from-base.to >= ttl
		if try.Code != 0 && try.Code != 75 || mustNot && try.Code == 0 || must && try.Code == 75 {
			t.Violate("silence of %s, renewed %v, seen from %v as user %d: tried %v to %v after the base of its silence, ttl %v: %v",
				key, renewed, observer.Place, observer.uid, at.from-base.from, at.to-base.from, ttl, try)
			return nil
		}
		switch {
		case try.Code == 0:
			return nil
		case !renewed && now()-base.from > ttl*2/3:
			ans, at, err := w.timed(holder, "renew", key, "--token", token)
			if err != nil || ans.Code != 0 {
				return fmt.Errorf("renew: %v %v", ans, err)
			}
			base, renewed, unseen = at, true, true
			// A look that is due only now, longer than the TTL after the one before the renewal.
			time.Sleep(ttl * 2 / 3)
		default:
			time.Sleep(ttl / 5)
		}
	}
	return nil
}

// crowds has many look at dead holders at once. All see the dead: their own looking is nothing that anybody sees.
func (w *world) crowds(t *kit.T, n int) {
	const watching, held = 8, 200
	observers := make([]side, watching)
	for i := range observers {
		observers[i] = side{Place{NS: outer}, []int{0, nobody, somebody}[i%3]}
	}
	for i := range n {
		if t.Ended() {
			return
		}
		name := fmt.Sprintf("c%d", i)
		if err := w.crowd(t, name, held, observers); err != nil {
			t.Violate("crowd %d: %v", i, err)
		}
		t.Made("crowds", 1)
	}
}

func (w *world) crowd(t *kit.T, name string, held int, observers []side) error {
	agent, err := w.at(Place{NS: inner}) // elsewhere, so that only the lock can tell
	if err != nil {
		return err
	}
	var keys []string
	for i := range held {
		keys = append(keys, fmt.Sprintf("%s/%d", name, i))
	}
	var pid int
	var made string
	if err := agent.Call("Agent.Hold", HoldOrder{w.binary, "lock", keys, 0}, &pid); err != nil {
		return err
	}
	if err := agent.Call("Agent.Put", PutOrder{PID: pid, State: gone}, &made); err != nil {
		return err
	}
	var all sync.WaitGroup
	for _, o := range observers {
		all.Go(func() {
			ls, err := w.lease(o, "ls", "--json", name)
			if err != nil || strings.Count(ls.Stdout, `"verdict":"dead"`) != held || strings.Count(ls.Stdout, "\n") != held {
				t.Violate("%d at once look at %d keys of a holder that is gone: user %d sees not %d dead ones (%v)\n%v", len(observers), held, o.uid, held, err, ls)
			}
		})
	}
	all.Wait()
	// One of them gets what all see to be free. The rest is not theirs to clear.
	ans, err := w.lease(observers[0], "acquire", "-n", "--ttl", "1h", name)
	if err != nil || ans.Code != 0 {
		t.Violate("a key above %d keys of a holder that is gone cannot be had (%v)\n%v", held, err, ans)
	}
	return agent.Call("Agent.Drop", pid, new(struct{}))
}
