package steps

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"

	"fslease/internal/torture/kit"
)

// A Bench is where commands are broken: a directory in memory, if there is one, and a process that lives on.
type Bench struct {
	t     *kit.T
	dir   string
	lives *exec.Cmd
	work  string
}

// work is what a command under a lease runs: it notes that it began, says under which tokens, lasts for as long as it is told, and notes that it ended.
const work = `#!/bin/sh
echo "begin $LEASE_KEYS" >>"$WORKED"
echo "$LEASE_KEYS"
[ -z "$1" ] || sleep "$1"
echo "end $LEASE_KEYS" >>"$WORKED"
`

// NewBench makes a bench, or says what the machine lacks.
func NewBench(t *kit.T) (*Bench, error) {
	if _, err := exec.LookPath("strace"); err != nil {
		return nil, fmt.Errorf("strace: %w", err)
	}
	b := &Bench{t: t, dir: t.Dir}
	if dir, err := os.MkdirTemp("/dev/shm", "lease-torture-"); err == nil {
		b.dir = dir
	}
	b.work = filepath.Join(b.dir, "work.sh")
	if err := os.WriteFile(b.work, []byte(work), 0o700); err != nil {
		return nil, err
	}
	b.lives = exec.Command("sleep", "100000")
	b.lives.Dir = "/"
	return b, b.lives.Start()
}

// Close ends and removes what belongs to the bench.
func (b *Bench) Close() {
	if b.lives.Process != nil {
		_ = b.lives.Process.Kill()
		_ = b.lives.Wait()
	}
	if b.dir != b.t.Dir {
		_ = os.RemoveAll(b.dir)
	}
}

// Rows returns the table of commands, after it was compared with the command line's own list.
func (b *Bench) Rows() []Row {
	commands, err := b.commands()
	if err != nil {
		b.t.Violate("the command line does not list its commands: %v", err)
	}
	without, unknown := Missing(commands)
	for _, c := range without {
		b.t.Violate("lease %s changes something, as far as anybody said, and has no row in the table of commands", c)
	}
	for _, c := range unknown {
		b.t.Violate("the table of commands has a row for lease %s, which the command line does not list", c)
	}
	return Table()
}

// ledger is a place for a ledger, and the environment of its commands.
func (b *Bench) ledger() *kit.Ledger {
	l := b.t.LedgerIn(b.dir)
	return l.Env("PATH="+filepath.Dir(b.t.Binary)+":/usr/bin:/bin", "GODEBUG=asyncpreemptoff=1", "WORKED="+filepath.Join(l.Work, "worked"))
}

// A Template is the ledger that a row begins with.
type Template struct {
	Row    Row
	Steps  []Step
	ledger *kit.Ledger
	before State
}

// Template makes the ledger of a row.
func (b *Bench) Template(r Row) (*Template, error) {
	t := &Template{Row: r, ledger: b.ledger()}
	if r.Prepare != "" {
		if res := t.ledger.Sh(r.Prepare); res.Hung {
			return nil, fmt.Errorf("%s: the ledger cannot be made: %v", r.Name(), res)
		}
	}
	t.before = look(t.ledger.Dir)
	return t, nil
}

// copyTo copies the ledger of the template and what is around it.
func (t *Template) copyTo(l *kit.Ledger) error {
	return exec.Command("cp", "-a", filepath.Dir(t.ledger.Dir)+"/.", filepath.Dir(l.Dir)).Run()
}

// pid is the process that lives on.
func (b *Bench) pid() string { return strconv.Itoa(b.lives.Process.Pid) }

// each calls f for each of n things, several at a time, until the run ends.
func (b *Bench) each(n int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range 3 {
		wg.Go(func() {
			for i := range next {
				if !b.t.Ended() {
					f(i)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
