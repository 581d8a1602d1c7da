package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A lock is one way to have a command wait for its turn.
type lock struct {
	name string
	env  []string
	argv []string         // what comes before the command
	wait func(n int) bool // whether n commands wait
}

// locks returns ours and flock's, in one place, each fresh. Where there is no flock, it returns only ours.
func (b *bench) locks(p place) ([]lock, error) {
	dir, err := p.folder()
	if err != nil {
		return nil, err
	}
	ledger, file := filepath.Join(dir, "ledger"), filepath.Join(dir, "f")
	ours := lock{
		name: "lease", env: []string{"LEASE_LEDGER=" + ledger}, argv: []string{b.binary("lease"), "run", "k", "--"},
		wait: func(n int) bool {
			waiters, _ := filepath.Glob(filepath.Join(ledger, "queue", "k", "*.json"))
			return len(waiters) == n
		},
	}
	if b.missing("flock") != "" {
		return []lock{ours}, nil
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, err
	}
	var info unix.Stat_t
	if err := unix.Stat(file, &info); err != nil {
		return nil, err
	}
	inode := fmt.Sprintf(":%d ", info.Ino)
	theirs := lock{name: "flock", argv: []string{"flock", file}, wait: func(n int) bool {
		waiters := 0
		all, _ := os.ReadFile("/proc/locks")
		for line := range strings.Lines(string(all)) {
			if strings.Contains(line, "-> FLOCK") && strings.Contains(line, inode) {
				waiters++
			}
		}
		return waiters == n
	}}
	return []lock{ours, theirs}, nil
}

// compared adds the row for what both locks took.
func (b *bench) compared(r row, took []series) {
	r.ours, r.peer = took[0], "flock"
	if len(took) > 1 {
		r.theirs = took[1]
	} else {
		r.notRun = b.missing("flock")
	}
	b.add(r)
}

// raceLocks lets both locks take turns at what do does with each.
func (b *bench) raceLocks(p place, rounds int, do func(lock) (time.Duration, error)) ([]series, error) {
	locks, err := b.locks(p)
	if err != nil {
		return nil, err
	}
	var runs []func() (time.Duration, error)
	for _, l := range locks {
		runs = append(runs, func() (time.Duration, error) { return do(l) })
	}
	return race(rounds, runs...)
}

// contend measures how long processes take that all want the same key over and over.
func contend(b *bench) error {
	processes, each := b.times(8, 2), b.times(50, 1)
	for _, p := range b.places {
		took, err := b.raceLocks(p, b.times(5, 1), func(l lock) (time.Duration, error) { return b.contention(l, processes, each) })
		if err != nil {
			return err
		}
		b.compared(row{figure: fmt.Sprintf("%d processes, %d rounds each, one key, %s", processes, each, p.name), floor: 2.5, aim: 1.5}, took)
	}
	return nil
}

func (b *bench) contention(l lock, processes, each int) (time.Duration, error) {
	argv := append([]string{b.self, "loop", strconv.Itoa(each)}, append(l.argv, "true")...)
	var children []*child
	defer func() {
		for _, c := range children {
			c.kill()
		}
	}()
	for range processes {
		c, err := b.start(l.env, argv...)
		if err != nil {
			return 0, err
		}
		children = append(children, c)
	}
	for _, c := range children {
		if _, err := c.line(); err != nil {
			return 0, err
		}
	}
	start := time.Now()
	for _, c := range children {
		if err := c.in.Close(); err != nil {
			return 0, err
		}
	}
	for _, c := range children {
		if _, err := c.line(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// loop is a process that runs a command n times, once its standard input ends: loop N COMMAND [ARG...].
func loop(args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	b := &bench{errors: os.Stderr}
	c, err := b.command(nil, args[1:]...)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	for range n {
		if _, err := c.once(); err != nil {
			return err
		}
	}
	fmt.Println("done")
	return nil
}

// drain measures how long a crowd of waiters takes from when its holder ends until the last of them has.
func drain(b *bench) error {
	crowd := b.times(200, 3)
	for _, p := range b.places {
		took, err := b.raceLocks(p, b.times(5, 1), func(l lock) (time.Duration, error) { return b.drained(l, crowd) })
		if err != nil {
			return err
		}
		b.compared(row{figure: fmt.Sprintf("%d waiters drained, %s", crowd, p.name), floor: 2.5, aim: 1.5}, took)
	}
	return nil
}

func (b *bench) drained(l lock, crowd int) (time.Duration, error) {
	holder, err := b.start(l.env, append(l.argv, "sh", "-c", "echo; cat")...)
	if err != nil {
		return 0, err
	}
	children := []*child{holder}
	defer func() {
		for _, c := range children {
			c.kill()
		}
	}()
	if _, err := holder.line(); err != nil {
		return 0, err
	}
	for range crowd {
		c, err := b.start(l.env, append(l.argv, "true")...)
		if err != nil {
			return 0, err
		}
		children = append(children, c)
	}
	if err := until("all of them wait", func() bool { return l.wait(crowd) }); err != nil {
		return 0, err
	}
	time.Sleep(time.Duration(b.times(2000, 10)) * time.Millisecond) // they have said why they wait, and sleep
	start := time.Now()
	if err := holder.in.Close(); err != nil {
		return 0, err
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			return 0, err
		}
	}
	took := time.Since(start)
	children = nil
	return took, nil
}

// takeover measures how long after the kill of a holder and its command the successor's command starts.
func takeover(b *bench) error {
	for _, p := range b.places {
		took, err := b.raceLocks(p, b.times(40, 1), b.takenOver)
		if err != nil {
			return err
		}
		b.compared(row{figure: "kill -9 of the holder to the successor's command, " + p.name, absolute: true, floor: 20e6, aim: 5e6}, took)
	}
	return nil
}

// holding starts a command under l that says its pid and stays.
func (b *bench) holding(l lock) (*child, error) {
	return b.start(l.env, append(l.argv, "sh", "-c", "echo $$; exec sleep 300")...)
}

func (b *bench) takenOver(l lock) (time.Duration, error) {
	holder, err := b.holding(l)
	if err != nil {
		return 0, err
	}
	defer holder.kill()
	command, err := holder.number()
	if err != nil {
		return 0, err
	}
	next, err := b.holding(l)
	if err != nil {
		return 0, err
	}
	defer next.kill()
	if err := until("the successor waits", func() bool { return l.wait(1) }); err != nil {
		return 0, err
	}
	time.Sleep(time.Duration(b.times(50, 5)) * time.Millisecond) // it sleeps
	start := time.Now()
	for _, pid := range []int{holder.Process.Pid, int(command)} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return 0, err
		}
	}
	successor, err := next.number()
	if err != nil {
		return 0, err
	}
	took := time.Since(start)
	return took, syscall.Kill(int(successor), syscall.SIGKILL)
}
