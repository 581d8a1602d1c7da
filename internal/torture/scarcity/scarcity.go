// Package scarcity takes away what lease needs: room, inodes, descriptors, file size, permission, the directory itself,
// notifications, processor time. Every command then works or says clearly what is missing, with nothing changed; what is
// held can be given back; and with plenty again all is well and nothing lies about.
package scarcity

import (
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"fslease/internal/torture/kit"
)

// Part plays stories, in which commands meet a scarcity one by one, and scenes with holders and waiters who live on
// through one.
var Part = kit.Part{
	Name: "scarcity",
	Does: "takes away room, inodes, descriptors, permission, the ledger itself, notifications and processor time",
	Counts: []kit.Count{{Name: "stories", Floor: stories}, {Name: "commands in want", Floor: 15 * stories}, {Name: "lives in want", Floor: lives},
		{Name: "waiters in a crowd", Floor: 130 * crowds}, {Name: "overflows", Floor: overflows}, {Name: "runs under load", Floor: loads}},
	Faults: faults,
	Run:    run,
}

const (
	stories   = 140
	lives     = 32
	crowds    = 2
	overflows = 10
	loads     = 400
)

func run(t *kit.T) {
	if os.Geteuid() != 0 {
		t.NotRun("needs root: to mount, and to work as other users")
		return
	}
	defer t.InMemory()()
	alone(t, func() {
		for i := range max(t.Scale(stories), len(wants)) {
			if t.Ended() {
				return
			}
			w := wants[i%len(wants)]
			story(t, w)
			t.Made("stories", 1)
		}
	})
	each(t, t.Scale(lives), 4, func(i int) { live(t, i) })
	each(t, t.Scale(overflows), 2, func(int) { overflow(t) })
	for i := range t.Scale(crowds) {
		if !t.Ended() {
			crowd(t, max(20, min(130, t.Scale(10*130))), i%2 == 0) // more than a user has inotify instances
		}
	}
	if !t.Ended() {
		underLoad(t, t.Scale(loads))
	}
}

// each calls f n times, so many at once.
func each(t *kit.T, n, atOnce int, f func(i int)) {
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			if !t.Ended() {
				f(i)
			}
			<-slots
		})
	}
	all.Wait()
}

// alone calls f in a mount namespace that ends with it: f and the processes that it starts see what it mounts, and
// nobody else does.
func alone(t *kit.T, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and it is never unlocked: the thread ends, and the namespace with it
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err != nil {
			t.NotRun("needs a mount namespace: %v", err)
			return
		}
		f()
	}()
	<-done
}
