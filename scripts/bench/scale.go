package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fslease/fslease"
	"fslease/hostproc"
	"fslease/ledgerfs"
)

// A fullLedger has many things in it, and a key that is free.
type fullLedger struct {
	dir  string
	ours contestant
}

// filled makes a ledger with n things in it.
func (b *bench) filled(p place, f filling, n int) (full fullLedger, err error) {
	folder, err := p.folder()
	if err != nil {
		return full, err
	}
	full.dir = filepath.Join(folder, "ledger")
	seed, err := seed(full.dir)
	if err != nil {
		return full, err
	}
	if err := f.fill(full.dir, n, seed); err != nil {
		return full, err
	}
	full.ours, err = ours(full.dir, "k", false)
	return full, err
}

// seed takes a lease in the ledger and returns its record; this process keeps it. A day is its TTL.
func seed(dir string) (fslease.Record, error) {
	if _, err := ledgerfs.Init(dir, false); err != nil {
		return fslease.Record{}, err
	}
	l, err := ledgerfs.Open(dir, ledgerfs.Options{Processes: hostproc.New()})
	if err != nil {
		return fslease.Record{}, err
	}
	m, err := fslease.NewManager(l, fslease.Options{TTL: 24 * time.Hour})
	if err != nil {
		return fslease.Record{}, err
	}
	lease, err := m.Acquire(context.Background(), "seed")
	if err != nil {
		return fslease.Record{}, err
	}
	return lease.Records()[0], nil
}

// scale measures what a ledger costs that is full of what does not concern a command.
func scale(b *bench) error {
	counts := []int{100, 10_000, 100_000}
	if b.quick {
		counts = []int{1, 2, 3}
	}
	for _, p := range b.places {
		for _, f := range fillings {
			if err := b.scaleIn(p, f, counts); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) scaleIn(p place, f filling, counts []int) error {
	var ledgers []fullLedger
	defer func() {
		for _, l := range ledgers {
			_ = l.ours.close()
			_ = os.RemoveAll(l.dir)
		}
	}()
	for _, n := range counts {
		l, err := b.filled(p, f, n)
		if err != nil {
			return err
		}
		ledgers = append(ledgers, l)
	}
	lease := func(args ...string) func(fullLedger) (func() (time.Duration, error), error) {
		return func(l fullLedger) (func() (time.Duration, error), error) {
			c, err := b.command([]string{"LEASE_LEDGER=" + l.dir}, append([]string{b.binary("lease")}, args...)...)
			return c.once, err
		}
	}
	for _, op := range []struct {
		name       string
		rounds     int
		floor, aim float64
		of         func(fullLedger) (func() (time.Duration, error), error)
	}{
		{"library: acquire + release", b.times(300, 1), 1.3, 1.1, func(l fullLedger) (func() (time.Duration, error), error) {
			return timed(1, l.ours.toAndFro), nil
		}},
		{"lease run k -- true", b.times(60, 1), 1.3, 1.1, lease("run", "k", "--", "true")},
		{"lease run --wait 1ms of a held key", b.times(20, 1), 0, 0, lease("run", "--wait", "1ms", "-E", "0", "seed", "--", "true")},
		{"lease reconcile", b.times(60, 1), 0, 0, lease("reconcile")},
		{"lease ls", b.times(3, 1), 0, 0, lease("ls")},
	} {
		var runs []func() (time.Duration, error)
		for _, l := range ledgers {
			run, err := op.of(l)
			if err != nil {
				return err
			}
			runs = append(runs, run)
		}
		took, err := race(op.rounds, runs...)
		if err != nil {
			return fmt.Errorf("%s beside %s: %w", op.name, f.name, err)
		}
		last := len(counts) - 1
		b.add(row{
			figure: fmt.Sprintf("%s beside %d %s, %s", op.name, counts[last], f.name, p.name), ours: took[last],
			peer: fmt.Sprint(counts[0]), theirs: took[0], also: between(counts, took), floor: op.floor, aim: op.aim,
		})
	}
	return nil
}

// between shows the medians of what lies between the first and the last of counts.
func between(counts []int, took []series) string {
	var said strings.Builder
	for i := 1; i < len(counts)-1; i++ {
		fmt.Fprintf(&said, "; %d: %s", counts[i], duration(took[i].median()))
	}
	return said.String()
}

// depth measures what keys of many segments cost.
func depth(b *bench) error {
	depths := []int{1, 2, 4, 8, 16}
	for _, p := range b.places {
		var library, whole []func() (time.Duration, error)
		for _, d := range depths {
			dir, err := p.folder()
			if err != nil {
				return err
			}
			key := strings.Repeat("a/", d-1) + "k"
			c, err := ours(filepath.Join(dir, "ledger"), key, false)
			if err != nil {
				return err
			}
			defer c.close()
			library = append(library, timed(1, c.toAndFro))
			command, err := b.run("lease", dir, key)
			if err != nil {
				return err
			}
			whole = append(whole, command.once)
		}
		for _, op := range []struct {
			name string
			runs []func() (time.Duration, error)
		}{{"library: acquire + release", library}, {"lease run", whole}} {
			took, err := race(b.times(100, 1), op.runs...)
			if err != nil {
				return err
			}
			last := len(depths) - 1
			b.add(row{
				figure: fmt.Sprintf("%s of a key of %d segments, %s", op.name, depths[last], p.name), ours: took[last],
				peer: fmt.Sprint(depths[0]), theirs: took[0], also: between(depths, took),
			})
		}
	}
	return nil
}
