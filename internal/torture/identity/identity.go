// Package identity asks who is alive, of real processes in real namespaces: over a table of where holder and observer
// are, of what became of the holder, and of what there is to tell it by.
package identity

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"fslease/internal/torture/kit"
)

// Part plays every cell of the table several times with different casts, and besides has holders fall silent, and
// crowds look at a dead one.
var Part = kit.Part{
	Name:   "identity",
	Does:   "judges processes over namespaces, boot ids, users, hidepid, and all that can become of a process",
	Counts: []kit.Count{{Name: "cells", Floor: rounds * 768}, {Name: "silences", Floor: silences}, {Name: "crowds", Floor: crowds}},
	Edits:  []kit.Edit{firstThread},
	Faults: faults,
	Run:    run,
}

const (
	rounds   = 3
	silences = 60
	crowds   = 60
)

func run(t *kit.T) {
	if os.Geteuid() != 0 {
		t.NotRun("needs root: pid and time namespaces, mounts, other users")
		return
	}
	defer t.InMemory()()
	w, err := newWorld(t)
	defer w.close()
	if err != nil {
		t.NotRun("needs pid, time and mount namespaces: %v", err)
		return
	}
	first := t.IntN(len(watchers))
	var meanwhile sync.WaitGroup // most of it is sleep
	meanwhile.Go(func() { w.silences(t, t.Scale(silences), first) })
	meanwhile.Go(func() { w.crowds(t, t.Scale(crowds)) })
	w.table(t, t.Scale(rounds*768))
	meanwhile.Wait()
}

// table plays n cells.
func (w *world) table(t *kit.T, n int) {
	var scenes []scene
	for _, c := range choose(t.Rand, n) {
		scenes = append(scenes, cast(t.Rand, c))
	}
	for i, g := range groupScenes(scenes, 12) {
		if t.Ended() {
			return
		}
		pause := time.Duration(0) // the next process starts in the same tick, perhaps: the pidfd's inode tells
		if t.IntN(2) == 0 {
			pause = 20 * time.Millisecond
		}
		if err := w.play(t, fmt.Sprintf("g%d", i), g, pause); err != nil {
			t.Violate("group %d, %v: the holder could not be made: %v", i, g[0], err)
		}
	}
}

// play makes one holder and lets the observers of all scenes look at it, each at a key of its own.
func (w *world) play(t *kit.T, name string, scenes []scene, pause time.Duration) error {
	s := scenes[0]
	agent, err := w.at(s.holder.Place)
	if err != nil {
		return err
	}
	var keys []string
	for i := range scenes {
		keys = append(keys, fmt.Sprintf("%s-%d", name, i))
	}
	var pid int
	var made string
	err = agent.Call("Agent.Hold", HoldOrder{w.binary, s.evidence, keys, s.holder.uid}, &pid)
	if err != nil {
		return err
	}
	if err := agent.Call("Agent.Put", PutOrder{pid, s.state, pause, s.holder.uid}, &made); err != nil {
		return err
	}
	for i, s := range scenes {
		if err := w.observe(t, s, keys[i], made); err != nil {
			return err
		}
	}
	return agent.Call("Agent.Drop", pid, new(struct{}))
}

// observe lets the observer of a scene judge by looking, by checking and by trying to take the key, which all have to
// agree.
func (w *world) observe(t *kit.T, s scene, key, made string) error {
	want := s.demands()
	show, err := w.lease(s.observer, "show", "--json", key)
	if err != nil {
		return err
	}
	check, err := w.lease(s.observer, "check", key)
	if err != nil {
		return err
	}
	try, err := w.lease(s.observer, "acquire", "-n", "--ttl", "1h", key)
	if err != nil {
		return err
	}
	t.Made("cells", 1)
	t.Logf("%v: %s in %v as user %d, seen from %v as user %d: %s", s.cell, made, s.holder.Place, s.holder.uid, s.observer.Place, s.observer.uid, want.verdict)
	var seen struct{ Verdict, Reason string }
	err = json.Unmarshal([]byte(show.Stdout), &seen)
	because := false
	for _, words := range want.reasons {
		because = because || strings.Contains(seen.Reason, words)
	}
	checked, tried := 0, 75
	if want.verdict == "dead" {
		checked, tried = 1, 0
	}
	if err != nil || seen.Verdict != want.verdict || !because || check.Code != checked || try.Code != tried {
		t.Violate("%v\n%s in %v as user %d, seen from %v as user %d\nshould be %s because of %q, check %d, acquire -n %d\nshow: %v\ncheck: %v\nacquire: %v",
			s.cell, made, s.holder.Place, s.holder.uid, s.observer.Place, s.observer.uid, want.verdict, want.reasons, checked, tried, show, check, try)
	}
	return nil
}
