package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fslease/fslease"
)

// A subject is a ledger in which one key is free, and another one held by a process.
type subject struct {
	count      int // what makes it differ from the others that it is compared with
	dir        string
	free, held string
	ours       contestant // takes the free one
	holder     *child     // no ancestor of the commands that are measured, which would not wait for one
	seed       fslease.Record
}

// subject makes a ledger whose keys begin with prefix.
func (b *bench) subject(p place, prefix string, count int) (s subject, err error) {
	folder, err := p.folder()
	if err != nil {
		return s, err
	}
	s = subject{count: count, dir: filepath.Join(folder, "ledger"), free: prefix + "k", held: prefix + "held"}
	if s.ours, err = ours(s.dir, s.free, false); err != nil {
		return s, err
	}
	// Nothing is renewed meanwhile.
	s.holder, err = b.start([]string{"LEASE_LEDGER=" + s.dir}, b.binary("lease"), "run", "--ttl", "1d", s.held, "--", "sh", "-c", "echo; cat")
	if err != nil {
		return s, err
	}
	if _, err := s.holder.line(); err != nil {
		return s, err
	}
	data, err := os.ReadFile(filepath.Join(s.dir, "leases", s.held+".json"))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s.seed)
}

// remove takes a ledger away that may be large.
func (s subject) remove() {
	_ = s.ours.close()
	_ = s.holder.in.Close()
	_ = s.holder.Wait()
	_ = os.RemoveAll(s.dir)
}

// lease prepares a command of ours on the subject's ledger.
func (b *bench) lease(s subject, args ...string) (func() (time.Duration, error), error) {
	c, err := b.command([]string{"LEASE_LEDGER=" + s.dir}, append([]string{b.binary("lease")}, args...)...)
	if err != nil {
		return nil, err
	}
	return c.once, nil
}

// A cost is something that should not depend on what else is in a ledger, as far as it has a floor.
type cost struct {
	name       string
	rounds     int
	floor, aim float64
	of         func(*bench, subject) (func() (time.Duration, error), error)
}

var costs = []cost{
	{"library: acquire + release", 200, 1.3, 1.1, func(_ *bench, s subject) (func() (time.Duration, error), error) {
		return timed(1, s.ours.toAndFro), nil
	}},
	{"lease run", 60, 1.3, 1.1, func(b *bench, s subject) (func() (time.Duration, error), error) {
		return b.lease(s, "run", s.free, "--", "true")
	}},
	{"lease run --wait 20ms of a held key", 3, 0, 0, func(b *bench, s subject) (func() (time.Duration, error), error) {
		return b.lease(s, "run", "--wait", "20ms", "-E", "0", s.held, "--", "true")
	}},
	{"lease reconcile", 40, 0, 0, func(b *bench, s subject) (func() (time.Duration, error), error) {
		return b.lease(s, "reconcile")
	}},
	{"lease ls", 3, 0, 0, func(b *bench, s subject) (func() (time.Duration, error), error) {
		return b.lease(s, "ls")
	}},
}

// compareCosts adds a row for each cost: the last subject's, compared with the first one's.
func (b *bench) compareCosts(subjects []subject, judged bool, what func(subject) string) error {
	first, last := subjects[0], subjects[len(subjects)-1]
	for _, c := range costs {
		var runs []func() (time.Duration, error)
		for _, s := range subjects {
			run, err := c.of(b, s)
			if err != nil {
				return err
			}
			runs = append(runs, run)
		}
		took, err := race(b.times(c.rounds, 1), runs...)
		if err != nil {
			return fmt.Errorf("%s%s: %w", c.name, what(last), err)
		}
		r := row{figure: c.name + what(last), ours: took[len(took)-1], peer: fmt.Sprint(first.count), theirs: took[0]}
		for i := 1; i < len(subjects)-1; i++ {
			r.also += fmt.Sprintf("; %d: %s", subjects[i].count, duration(took[i].median()))
		}
		if judged {
			r.floor, r.aim = c.floor, c.aim
		}
		b.add(r)
	}
	return nil
}

// scale measures what a ledger costs that is full of what does not concern a command.
func scale(b *bench) error {
	for _, p := range slices.Backward(b.places) { // a disk takes its time
		for _, f := range fillings {
			if err := b.scaleIn(p, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) scaleIn(p place, f filling) error {
	var subjects []subject
	defer func() {
		for _, s := range subjects {
			s.remove()
		}
	}()
	for _, n := range []int{b.times(100, 1), b.times(10_000, 2), b.times(100_000, 3)} {
		s, err := b.subject(p, "", n)
		if err != nil {
			return err
		}
		subjects = append(subjects, s)
		if err := f.fill(s.dir, n, s.seed); err != nil {
			return err
		}
	}
	return b.compareCosts(subjects, true, func(s subject) string { return fmt.Sprintf(" beside %d %s, %s", s.count, f.name, p.name) })
}

// depth measures what keys of many segments cost.
func depth(b *bench) error {
	for _, p := range b.places {
		var subjects []subject
		for _, d := range []int{1, 2, 4, 8, 16} {
			s, err := b.subject(p, strings.Repeat("a/", d-1), d)
			if err != nil {
				return err
			}
			defer s.remove()
			subjects = append(subjects, s)
		}
		if err := b.compareCosts(subjects, false, func(s subject) string { return fmt.Sprintf(", key of %d segments, %s", s.count, p.name) }); err != nil {
			return err
		}
	}
	return nil
}
