package ledgerfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// probes tries in a folder of its own what the ledger relies on.
func (e *examination) probes(ctx context.Context) {
	const left = "left out were the lock, the watcher, and syncing: "
	switch {
	case e.readOnly:
		e.warn("write", left+"the file system is mounted read-only", "reading commands work, all others will not")
		return
	case unix.Faccessat(e.l.dir.root, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS) != nil:
		e.warn("write", left+"this user may not write the ledger", e.l.permissionHint())
		return
	}
	dir := ".doctor-" + newID()[:8]
	if err := e.l.fsys.Mkdir(dir); err != nil {
		e.trouble("write", Broken, e.l.fail(dir, err))
		return
	}
	defer e.l.removeProbes(dir)
	if err := e.l.fsys.WriteTemp(dir+"/a", []byte("a file can be written\n"), true); err != nil {
		e.trouble("write", Broken, e.l.fail(dir+"/a", err))
		return
	}
	e.ok("write", "a file can be written and synced")
	e.syncs(dir)
	e.links(dir + "/c")
	e.locks(ctx, dir+"/a")
	e.watches(ctx, dir)
}

// permissionHint is what fail would say.
func (l *Ledger) permissionHint() string {
	return hintOf(l.fail("", unix.EACCES))
}

func (l *Ledger) removeProbes(dir string) {
	for _, n := range []string{"a", "b", "c"} {
		_ = l.fsys.Remove(dir + "/" + n) // what was not made is not there
	}
	_ = l.fsys.Rmdir(dir)
}

func (e *examination) syncs(dir string) {
	if err := e.l.fsys.SyncDir(dir); err != nil {
		f := e.trouble("sync", Broken, e.l.fail(dir, err))
		f.What, f.Hint = "a folder cannot be synced ("+f.What+"): what is granted may be forgotten in a power cut", "keep the ledger on another file system"
		return
	}
	e.ok("sync", "a folder can be synced")
}

// links makes a file appear with its content at once, as a holder makes its own.
func (e *examination) links(name string) {
	if err := e.l.fsys.Link(name, []byte("at once\n"), false); err != nil {
		f := e.trouble("link", Broken, e.l.fail(name, err))
		f.What, f.Hint = "a file cannot be made at once ("+f.What+"): no holder can make itself known", "keep the ledger on another file system"
		return
	}
	e.ok("link", "a file can be made at once")
}

// locks holds a lock and looks that nobody else gets it, and that somebody does once it is free.
func (e *examination) locks(ctx context.Context, name string) {
	second := e.elsewhere
	if second == nil {
		second = tryLock
	}
	file := e.l.file(name)
	fd, _, err := e.l.dir.openRegular(name, unix.O_RDWR)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
		err = ignoreEINTR(func() error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	}
	var during, after bool
	if err == nil {
		during, err = second(ctx, file)
	}
	if err == nil {
		_ = unix.Flock(fd, unix.LOCK_UN)
		after, err = second(ctx, file)
	}
	const hint = "keep the ledger on another file system: here locks keep nobody out"
	switch {
	case err != nil:
		e.broken("lock", "a file cannot be locked: "+err.Error(), hint)
	case during:
		e.broken("lock", "a second process gets a lock that is held", hint)
	case !after:
		e.broken("lock", "a lock that was given up is not to be had", hint)
	default:
		e.ok("lock", "a second process is refused a lock that is held")
	}
}

// tryLock is an Elsewhere with a second descriptor.
func tryLock(_ context.Context, file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	err = ignoreEINTR(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err == unix.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}

// watchPatience is how long a change may take until it is told. It is told at once, or never.
const watchPatience = 5 * time.Second

// watches renames a file and looks that the watcher tells of it.
func (e *examination) watches(ctx context.Context, dir string) {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return // the finding about inotify says so
	}
	defer func() { _ = n.Close() }()
	if err = n.Add(e.l.file(dir)); err == nil {
		err = e.l.fsys.Rename(dir+"/a", dir+"/b")
	}
	timer := time.NewTimer(watchPatience)
	defer timer.Stop()
	for err == nil {
		select {
		case event := <-n.Events:
			if event.Name == e.l.file(dir+"/b") {
				e.ok("watch", "the watcher tells of a rename")
				return
			}
		case err = <-n.Errors:
		case <-timer.C:
			err = errors.New("it told of nothing")
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	e.warn("watch", "the watcher does not tell of a rename ("+err.Error()+"): waiters look again every one to two seconds", "")
}
