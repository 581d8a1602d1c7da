package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// memory measures how much memory processes keep that wait.
func memory(b *bench) error {
	locks, err := b.locks(b.disk())
	if err != nil {
		return err
	}
	const waiters = 5
	var kept []series
	for _, l := range locks {
		holder, err := b.holding(l)
		if err != nil {
			return err
		}
		defer holder.kill()
		command, err := holder.number()
		if err != nil {
			return err
		}
		defer unix.Kill(int(command), unix.SIGKILL)
		var crowd []*child
		for range waiters {
			c, err := b.start(l.env, append(l.argv, "true")...)
			if err != nil {
				return err
			}
			defer c.kill()
			crowd = append(crowd, c)
		}
		if err := until("all of them wait", func() bool { return l.wait(waiters) }); err != nil {
			return err
		}
		time.Sleep(time.Duration(b.times(10_000, 10)) * time.Millisecond)
		var rss series
		for _, c := range crowd {
			n, err := resident(c.Process.Pid)
			if err != nil {
				return err
			}
			rss = append(rss, n)
		}
		kept = append(kept, rss)
	}
	b.compared(row{figure: "memory (RSS) of a waiting lease run", in: size, absolute: true, floor: 12e6, aim: 8e6}, kept)
	return nil
}

// resident is the resident memory of a process, in bytes.
func resident(pid int) (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb * 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS: it has ended", pid)
}

// holderCPU measures the CPU time of wrappers that hold for a minute and do nothing but that.
func holderCPU(b *bench) error {
	dir, err := b.disk().folder()
	if err != nil {
		return err
	}
	env := []string{"LEASE_LEDGER=" + filepath.Join(dir, "ledger")}
	var holders []*child
	for i := range 5 {
		c, err := b.start(env, b.binary("lease"), "run", fmt.Sprint("k", i), "--", "cat")
		if err != nil {
			return err
		}
		defer c.kill()
		holders = append(holders, c)
	}
	time.Sleep(time.Duration(b.times(2000, 10)) * time.Millisecond) // their commands run
	before, err := used(holders)
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(b.times(60_000, 10)) * time.Millisecond)
	after, err := used(holders)
	if err != nil {
		return err
	}
	for i := range after {
		after[i] -= before[i]
	}
	b.add(row{figure: "CPU of a holder with default heartbeat over a minute", ours: after, absolute: true, floor: 10e6, aim: 3e6})
	return nil
}

// used is the CPU time that each process has used itself, in ns.
func used(processes []*child) (series, error) {
	var all series
	for _, c := range processes {
		var t unix.Timespec
		clock := int32(^c.Process.Pid)<<3 | 2 // the clock of another process, CPUCLOCK_SCHED
		if err := unix.ClockGettime(clock, &t); err != nil {
			return nil, fmt.Errorf("CPU time of process %d: %w", c.Process.Pid, err)
		}
		all = append(all, float64(t.Nano()))
	}
	return all, nil
}
