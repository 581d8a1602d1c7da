package ledgerfs

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// waker wakes a waiting process: by fsnotify on the folder of each lease that is in the way and on the
// queue file of the one ahead, by the end of processes, and always by a timer too. Where no watcher is to
// be had (the kernel allows 128 inotify instances a user) it polls, silently.
type waker struct {
	l      *Ledger
	c      chan struct{}
	stop   chan struct{}
	notify *fsnotify.Watcher

	mu      sync.Mutex
	names   map[string]bool   // files whose events count
	watched map[string]bool   // paths that fsnotify watches
	deaths  map[string]func() // by process: how to stop watching its end
	polling bool
}

// NewWaker returns a waker. It makes the watcher at the first Watch: after a first refusal, so that an
// uncontended command never pays for one.
func (l *Ledger) NewWaker() fslease.Waker {
	return &waker{l: l, c: make(chan struct{}, 1), stop: make(chan struct{}), watched: map[string]bool{}, deaths: map[string]func(){}}
}

func (w *waker) C() <-chan struct{} { return w.c }

// Poll returns 1 to 2 s, so that many waiters do not look at the same moment; 200 to 400 ms without a watcher.
func (w *waker) Poll() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	base := time.Second
	if w.polling {
		base = 200 * time.Millisecond
	}
	return base + rand.N(base)
}

func (w *waker) hint() {
	select {
	case w.c <- struct{}{}:
	default:
	}
}

// Watch sets what is waited for. New watches are made before old ones are dropped.
func (w *waker) Watch(i fslease.Interest) {
	names, paths := map[string]bool{}, map[string]bool{}
	for _, k := range i.Keys {
		file := filepath.Join(w.l.path, leasePath(k))
		names[file] = true
		paths[filepath.Dir(file)] = true
	}
	if i.Ahead != nil {
		file := filepath.Join(w.l.path, placePath(fslease.Place{Key: i.Ahead.Keys[0], Number: i.Ahead.Number}))
		names[file] = true
		paths[file] = true
	}
	w.watchPaths(names, paths)
	w.watchDeaths(i)
}

func (w *waker) watchPaths(names, paths map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = names
	if len(paths) > 0 && w.notify == nil && !w.polling && w.l.local() {
		n, err := fsnotify.NewWatcher()
		if err == nil {
			w.notify = n
			go w.forward(n)
		}
	}
	w.polling = w.notify == nil && len(paths) > 0
	if w.notify == nil {
		return
	}
	for p := range paths {
		if !w.watched[p] {
			if err := w.notify.Add(p); err != nil {
				w.polling = w.polling || !errors.Is(err, fs.ErrNotExist) // the user has no watch left
				w.hint()                                                 // or it is gone already: look again
				continue
			}
			w.watched[p] = true
		}
	}
	for p := range w.watched {
		if !paths[p] {
			_ = w.notify.Remove(p) // gone by itself if the file was removed
			delete(w.watched, p)
		}
	}
}

// forward turns events on the files of interest into hints. A renewal is seen as the creation of the name
// by a rename; what is written to and the mode of files do not matter. An overflow is a hint too.
func (w *waker) forward(n *fsnotify.Watcher) {
	for {
		select {
		case <-w.stop:
			return
		case e, ok := <-n.Events:
			if !ok {
				return
			}
			w.mu.Lock()
			counts := w.names[e.Name] && e.Op&(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) != 0
			if w.watched[e.Name] && e.Op&(fsnotify.Remove|fsnotify.Rename) != 0 {
				delete(w.watched, e.Name)
				counts = true
			}
			w.mu.Unlock()
			if counts {
				w.hint()
			}
		case _, ok := <-n.Errors:
			if !ok {
				return
			}
			w.hint()
		}
	}
}

// watchDeaths watches the ends of the processes of i, and no others any more.
func (w *waker) watchDeaths(i fslease.Interest) {
	targets := map[string]fslease.Holder{}
	for _, h := range i.Holders {
		if h.Evidence == fslease.EvidenceLock || h.Evidence == fslease.EvidencePid {
			targets[h.ID] = h
		}
	}
	if i.Ahead != nil {
		targets[i.Ahead.Holder.ID] = i.Ahead.Holder
	}
	for _, k := range i.Keepers {
		h := fslease.Holder{Kind: fslease.KindProcess, PID: k.PID}
		if k.Process != nil {
			h = *k.Process
		}
		targets[fslease.DescribeKeepers([]fslease.Keeper{k})] = h
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.deaths == nil {
		return // closed
	}
	for id, stop := range w.deaths {
		if _, wanted := targets[id]; !wanted {
			stop()
			delete(w.deaths, id)
		}
	}
	for id, h := range targets {
		if w.deaths[id] == nil {
			w.deaths[id] = w.watchDeath(h)
		}
	}
}

// watchDeath hints when the process of h has ended: by its pidfd, or if it cannot be seen from here by its
// liveness lock. It returns how to stop.
func (w *waker) watchDeath(h fslease.Holder) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	dead, stopPidfd, err := w.l.opt.Processes.Death(h)
	if err != nil {
		if h.Evidence != fslease.EvidenceLock {
			return cancel
		}
		dead, stopPidfd = w.l.lockFreed(h), func() {}
	}
	go func() {
		defer stopPidfd()
		select {
		case <-dead:
			w.hint()
		case <-ctx.Done():
		}
	}()
	return cancel
}

// lockFreed returns a channel that is closed once the liveness lock of h is free. The thread that waits
// for it stays until then.
func (l *Ledger) lockFreed(h fslease.Holder) <-chan struct{} {
	freed := make(chan struct{})
	fd, _, err := l.dir.openRegular(holderPath(h.ID), unix.O_RDONLY)
	if err != nil {
		close(freed)
		return freed
	}
	go func() {
		defer close(freed)
		_ = ignoreEINTR(func() error { return unix.Flock(fd, unix.LOCK_SH) })
		_ = unix.Close(fd)
	}()
	return freed
}

// Close ends all watching.
func (w *waker) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.stop)
	for _, stop := range w.deaths {
		stop()
	}
	w.deaths = nil
	if w.notify == nil {
		return nil
	}
	return w.notify.Close()
}
