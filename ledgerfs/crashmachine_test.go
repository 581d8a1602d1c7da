package ledgerfs

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"fslease/fslease"
	"fslease/fslease/ledgermem"
	"fslease/internal/crashstate"
)

// A machine is one boot of a computer with a ledger on a disk that remembers what was synced.
type machine struct {
	t       testing.TB
	dir     string // real, for locks
	disk    *crashstate.Disk
	clock   *ledgermem.Clock
	number  int
	boot    string
	genuine bool // the boot id is the kernel's own
	sync    bool // the setting that syncs every grant
	pids    atomic.Int64
	dead    map[int64]bool
	started []*program
}

// start starts a machine on what is on its disk, an hour after the boot before.
func start(t testing.TB, dir string, tree crashstate.Tree, boot int, genuine bool) *machine {
	for _, folder := range []string{journalDir, holdersDir} { // of which nothing is needed
		if err := os.RemoveAll(filepath.Join(dir, folder)); err != nil {
			t.Fatal(err)
		}
	}
	m := &machine{t: t, dir: dir, disk: crashstate.New(tree), number: boot, boot: fmt.Sprintf("boot-%d", boot), genuine: genuine, dead: map[int64]bool{}}
	wall := time.Date(2026, 3, 1, boot, 0, 0, 0, time.UTC)
	m.clock = ledgermem.NewClock(fslease.Instant{Wall: wall, BootID: m.boot, TimeNS: 1, Mono: int64(time.Minute)})
	return m
}

// A program is a process that has the ledger open.
type program struct {
	*process
	*fslease.Manager
	pid int64
}

// program starts one.
func (m *machine) program() *program {
	m.t.Helper()
	dir, err := openRoot(m.dir)
	if err != nil {
		m.t.Fatal(err)
	}
	pid := m.pids.Add(1)
	l := &Ledger{path: m.dir, clock: m.clock, dir: dir, fsys: crashFS{m.disk, dir}, opt: Options{Processes: crashProcesses{m, pid}, LockWait: time.Minute}}
	p := &program{process: &process{Ledger: l}, pid: pid}
	p.Manager, err = fslease.NewManager(p.process, fslease.Options{})
	if err != nil {
		m.t.Fatal(err)
	}
	m.started = append(m.started, p)
	return p
}

// kill ends a program without its doing anything about it.
func (m *machine) kill(p *program) {
	m.dead[p.pid] = true
	p.kill()
}

// off is the end of the boot.
func (m *machine) off() {
	for _, p := range m.started {
		m.kill(p)
		if err := p.Close(); err != nil {
			m.t.Error(err)
		}
	}
	m.started = nil
}

// heir is a process that a lease may be handed to: another program, or nobody but a token (evidence none).
func (m *machine) heir(evidence fslease.Evidence) fslease.Holder {
	h, _ := crashProcesses{m, m.pids.Add(1)}.Self()
	h.ID, h.Evidence = newID(), evidence
	return h
}

// crashProcesses are the processes of a machine, as one of them sees them.
type crashProcesses struct {
	m   *machine
	pid int64
}

func (p crashProcesses) Self() (fslease.Holder, error) {
	return fslease.Holder{Kind: fslease.KindProcess, Host: "h", MachineID: "m", BootID: p.m.boot, BootIDGenuine: p.m.genuine, PID: p.pid, StartTime: p.pid, PIDNS: 1, TimeNS: 1}, nil
}

func (p crashProcesses) Judge(h fslease.Holder, local bool) fslease.Verdict {
	switch {
	case h.BootID != p.m.boot && h.BootIDGenuine && p.m.genuine:
		return fslease.Verdict{Life: fslease.Dead, Reason: "the machine was restarted since"}
	case h.BootID != p.m.boot:
		return fslease.Verdict{Life: fslease.Unknown, Reason: "other boot"}
	case p.m.dead[h.PID]:
		return fslease.Verdict{Life: fslease.Dead, Reason: "it is gone"}
	}
	return fslease.Verdict{Life: fslease.Alive, Reason: "it is running"}
}

func (crashProcesses) Ancestor(int) bool { return false }

func (crashProcesses) Death(fslease.Holder) (<-chan struct{}, func(), error) {
	return nil, nil, fmt.Errorf("not watched")
}

// emptyTree is a ledger as init leaves it, with settings.
func emptyTree(s Settings) crashstate.Tree {
	return crashstate.Tree{configFile: string(config{Schema: fslease.Schema, ID: newID(), Ceiling: generationStep, Settings: s}.encode())}
}

// realDir is where the locks of a machine are: in memory too, if there is such a place.
func realDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "fslease-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
