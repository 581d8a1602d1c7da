// Command bench measures lease beside what a user could use instead, and prints one table. scripts/bench/run builds
// it and what it measures.
//
// The machine may be shared and noisy, so contestants take turns, round by round, and what is compared is of one run.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
)

// A figure is a group of rows that are measured together.
type figure struct {
	name, about string
	make        func(*bench) error
}

var figures = []figure{
	{"startup", "what it costs to start, with and without the build tag", startup},
	{"run", "whole commands: lease run k -- true", wholeCommands},
	{"contend", "eight processes that contend for one key, 50 rounds each", contend},
	{"drain", "200 waiters drained", drain},
	{"takeover", "kill -9 of the holder to the start of the successor's command", takeover},
	{"memory", "memory of a waiting lease run", memory},
	{"cpu", "CPU of a holder over a minute", holderCPU},
	{"library", "the library in one process: acquire and release, renew, check", library},
	{"handover", "from a release to the grant of who waited", handover},
	{"scale", "beside 100, 10,000 and 100,000 keys held, tombstones and tickets that are DONE", scale},
	{"depth", "keys of 1 to 16 segments", depth},
}

const usage = `usage: scripts/bench/run [--quick] [--only-ours] [--list] [NAME...]

Measures lease beside its peers, side by side in one run, and prints one table: median, spread (p25-p75), ratio to the
peer, floor, aim, and what was reached. Without a NAME everything is measured, which takes about a quarter of an hour.

  --quick      makes every figure with a few runs each: tells whether it can be made, nothing about time
  --only-ours  installs nothing, and compares with nothing but flock
  --list       prints the names
`

func main() {
	runtime.LockOSThread() // children are killed when the thread that started them ends
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		if part, ok := parts[args[0]]; ok {
			return part(args[1:])
		}
	}
	b := &bench{}
	var names []string
	for _, arg := range args {
		switch arg {
		case "--quick":
			b.quick = true
		case "--only-ours":
			b.onlyOurs = true
		case "--list":
			for _, f := range figures {
				fmt.Printf("%-10s %s\n", f.name, f.about)
			}
			return nil
		case "-h", "--help":
			fmt.Print(usage)
			return nil
		default:
			if !slices.ContainsFunc(figures, func(f figure) bool { return f.name == arg }) {
				return fmt.Errorf("no figure is called %q: --list prints the names", arg)
			}
			names = append(names, arg)
		}
	}
	return b.measure(names)
}

// parts are what copies of this program do as children of it.
var parts = map[string]func([]string) error{"loop": loop, "worker": worker}

// A bench is one run: where it works, and what it can use.
type bench struct {
	quick, onlyOurs bool

	self   string // this program; lease, lease-plain and minimal stand beside it
	places []place
	errors *os.File // what the commands said on stderr
}

// A place is a folder to work in, on one kind of storage.
type place struct{ name, dir string }

func (b *bench) measure(names []string) error {
	done, err := b.prepare()
	defer done()
	if err != nil {
		return err
	}
	b.header()
	for _, f := range figures {
		if len(names) > 0 && !slices.Contains(names, f.name) {
			continue
		}
		if err := f.make(b); err != nil {
			return fmt.Errorf("%s: %w%s", f.name, err, b.said())
		}
	}
	return nil
}

// prepare makes the folders to work in; done removes them.
func (b *bench) prepare() (done func(), err error) {
	done = func() {
		for _, p := range b.places {
			_ = os.RemoveAll(p.dir)
		}
	}
	if b.self, err = os.Executable(); err != nil {
		return done, err
	}
	_ = os.Unsetenv("LEASE_LEDGER")
	_ = os.Unsetenv("LEASE_KEYS")
	for _, p := range []place{{"disk", os.TempDir()}, {"tmpfs", "/dev/shm"}} {
		if p.dir, err = os.MkdirTemp(p.dir, "lease-bench-"); err != nil {
			return done, err
		}
		b.places = append(b.places, p)
	}
	b.removedOnSignal(done)
	b.errors, err = os.OpenFile(filepath.Join(b.places[0].dir, "stderr"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	return done, err
}

// removedOnSignal makes a run that is interrupted leave nothing behind.
func (b *bench) removedOnSignal(remove func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		remove()
		os.Exit(130)
	}()
}

// said is the end of what commands said on stderr.
func (b *bench) said() string {
	data, _ := os.ReadFile(b.errors.Name())
	if len(data) == 0 {
		return ""
	}
	return "\nlast said on stderr:\n" + string(data[max(0, len(data)-1000):])
}

// disk is the place that floors are judged by.
func (b *bench) disk() place { return b.places[0] }

// folder makes a new folder for one use.
func (p place) folder() (string, error) { return os.MkdirTemp(p.dir, "") }

// times is how often something is done: full, or with --quick a few times.
func (b *bench) times(full, quick int) int {
	if b.quick {
		return quick
	}
	return full
}

// binary is the path of a program of ours.
func (b *bench) binary(name string) string { return filepath.Join(filepath.Dir(b.self), name) }
