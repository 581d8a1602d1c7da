package ledgerfs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"fslease/fslease"
	"fslease/hostproc"
)

// onEach runs a benchmark on a disk and in memory, as far as the machine has both.
func onEach(b *testing.B, run func(b *testing.B, dir string)) {
	b.Run("disk", func(b *testing.B) { run(b, filepath.Join(b.TempDir(), "ledger")) })
	b.Run("tmpfs", func(b *testing.B) {
		dir, err := os.MkdirTemp("/dev/shm", "lease-bench-")
		if err != nil {
			b.Skip("not run: needs /dev/shm: ", err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		run(b, filepath.Join(dir, "ledger"))
	})
}

// managerOn opens the ledger anew, as another process would.
func managerOn(b *testing.B, dir string) *fslease.Manager {
	b.Helper()
	l, err := Open(dir, Options{Processes: hostproc.New()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	m, err := fslease.NewManager(l, fslease.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return m
}

func leaseOn(b *testing.B, m *fslease.Manager, key string) *fslease.Lease {
	b.Helper()
	lease, err := m.Acquire(context.Background(), key)
	if err != nil {
		b.Fatal(err)
	}
	return lease
}

func BenchmarkAcquireAndRelease(b *testing.B) {
	onEach(b, func(b *testing.B, dir string) {
		m := managerOn(b, dir)
		for _, key := range []string{"k", strings.Repeat("a/", 15) + "k"} {
			b.Run(map[bool]string{true: "depth16", false: "depth1"}[len(key) > 1], func(b *testing.B) {
				for b.Loop() {
					if err := leaseOn(b, m, key).Release(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	})
}

func BenchmarkRenew(b *testing.B) {
	onEach(b, func(b *testing.B, dir string) {
		lease := leaseOn(b, managerOn(b, dir), "k")
		for b.Loop() {
			if err := lease.Renew(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
		_ = lease.Release()
	})
}

func BenchmarkCheck(b *testing.B) {
	onEach(b, func(b *testing.B, dir string) {
		m := managerOn(b, dir)
		lease := leaseOn(b, m, "k")
		for b.Loop() {
			if held, err := m.Check(context.Background(), "k", lease.Token()); err != nil || !held {
				b.Fatal(held, err)
			}
		}
		_ = lease.Release()
	})
}

// Two who always want the key that the other one has: an operation is one grant.
func BenchmarkHandover(b *testing.B) {
	onEach(b, func(b *testing.B, dir string) {
		var both sync.WaitGroup
		rounds := (b.N + 1) / 2
		for range 2 {
			m := managerOn(b, dir)
			both.Go(func() {
				for range rounds {
					lease, err := m.AcquireWait(context.Background(), "k")
					if err == nil {
						err = lease.Release()
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		both.Wait()
	})
}

// What the others are measured by: the lock that the kernel keeps, and nothing else.
func BenchmarkFlock(b *testing.B) {
	onEach(b, func(b *testing.B, file string) {
		for b.Loop() {
			fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
			if err == nil {
				err = unix.Flock(fd, unix.LOCK_EX)
			}
			if err == nil {
				err = unix.Close(fd)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
