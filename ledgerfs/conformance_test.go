package ledgerfs

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fslease/fslease"
	"fslease/fslease/ledgermem"
	"fslease/fslease/ledgertest"
	"fslease/hostproc"
)

func TestConformance(t *testing.T) { ledgertest.Run(t, harness) }

func harness(t *testing.T) ledgertest.Harness {
	processes := hostproc.New()
	self, err := processes.Self()
	if err != nil {
		t.Fatal(err)
	}
	clock := ledgermem.NewClock(fslease.Instant{Wall: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), BootID: self.BootID, TimeNS: self.TimeNS})
	dir := t.TempDir()
	opt := Options{Processes: processes, Clock: clock}
	h := ledgertest.Harness{Advance: clock.Advance, StepWall: clock.StepWall}
	h.Open = func() fslease.Ledger {
		l, err := Open(dir, opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return &process{Ledger: l}
	}
	h.Kill = func(l fslease.Ledger) { l.(*process).kill() }
	h.Fork = func(l fslease.Ledger) func() { return l.(*process).fork(t) }
	h.Plant = func(key fslease.Key, data []byte) {
		l := h.Open().(*process).Ledger
		name := l.file(leasePath(key))
		var err error
		if data == nil {
			err = os.Remove(name)
		} else {
			err = os.WriteFile(name, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// A process has a ledger open and can be killed: what the kernel closes for a dead process is closed, what
// it leaves behind stays, and whatever is still tried in its name fails.
type process struct {
	*Ledger
	mu        sync.Mutex
	dead      bool
	presences []*Presence
	fences    []*Fence
}

var errKilled = errors.New("this process was killed")

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	for _, presence := range p.presences {
		presence.drop()
	}
	for _, f := range p.fences {
		_ = f.Close()
	}
}

// fork starts a child that inherits the fences.
func (p *process) fork(t *testing.T) (kill func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd := exec.Command("sleep", "600")
	for _, f := range p.fences {
		for _, fd := range f.fds {
			own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			file := os.NewFile(uintptr(own), "fence")
			defer func() { _ = file.Close() }()
			cmd.ExtraFiles = append(cmd.ExtraFiles, file)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	return kill
}

func (p *process) living() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errKilled
	}
	return nil
}

func (p *process) Update(ctx context.Context, keys []fslease.Key, fn func(fslease.Tx) error) error {
	if err := p.living(); err != nil {
		return err
	}
	return p.Ledger.Update(ctx, keys, fn)
}

func (p *process) Announce(ctx context.Context, command []string) (fslease.Presence, error) {
	if err := p.living(); err != nil {
		return nil, err
	}
	presence, err := p.Ledger.Announce(ctx, command)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.presences = append(p.presences, presence.(*Presence))
	return presence, nil
}

func (p *process) TryFence(ctx context.Context, keys []fslease.Key) (fslease.Fence, []fslease.Keeper, error) {
	if err := p.living(); err != nil {
		return nil, nil, err
	}
	f, keepers, err := p.Ledger.TryFence(ctx, keys)
	if f != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fences = append(p.fences, f.(*Fence))
	}
	return f, keepers, err
}
