package ledgerfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// The list of all locks, read while others come and go, leaves out some that were there all the time.
func TestLockOwnersAmongManyLocks(t *testing.T) {
	l, _ := made(t)
	f, err := l.lockFile("locks/k.lock", true, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.unlock()

	const crowd, each, rounds = 2, 40, 4000
	stop := make(chan struct{})
	done := make(chan error)
	for range crowd {
		go func() { done <- lockAndUnlock(t.TempDir(), each, stop) }()
	}
	unseen := 0
	for range rounds {
		if !slices.Contains(l.lockOwners("locks/k.lock"), os.Getpid()) {
			unseen++
		}
	}
	close(stop)
	for range crowd {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if unseen > 0 {
		t.Errorf("an owner was not seen in %d of %d looks", unseen, rounds)
	}
}

// lockAndUnlock has half of n files locked, and others all the time.
func lockAndUnlock(dir string, n int, stop chan struct{}) error {
	var fds []int
	for i := range n {
		fd, err := unix.Open(filepath.Join(dir, fmt.Sprint(i)), unix.O_CREAT|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		fds = append(fds, fd)
	}
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		default:
		}
		how := unix.LOCK_EX
		if i/n%2 == 1 {
			how = unix.LOCK_UN
		}
		if err := unix.Flock(fds[(i*7)%n], how); err != nil {
			return err
		}
	}
}
