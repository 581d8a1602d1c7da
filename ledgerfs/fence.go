package ledgerfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// firstFenceFD is the lowest descriptor of a fence: a shell's own `exec 3>file` must not close it.
const firstFenceFD = 100

// Fence is the locks on the fence files of some keys and their ancestors.
type Fence struct{ fds []int }

// Descriptors returns the descriptors that keep the fence, for a command to inherit. They are 100 or
// above, unless the limit is lower, and close-on-exec.
func (f *Fence) Descriptors() []int { return f.fds }

// Unlock frees the fence for every process that inherited it, and closes this one's part.
func (f *Fence) Unlock() error {
	var first error
	for _, fd := range f.fds {
		if err := unix.Flock(fd, unix.LOCK_UN); err != nil && first == nil {
			first = err
		}
	}
	return errors.Join(first, f.Close())
}

// Close closes this process's descriptors. Those that others inherited go on keeping the fence.
func (f *Fence) Close() error {
	var first error
	for _, fd := range f.fds {
		if err := unix.Close(fd); err != nil && first == nil {
			first = err
		}
	}
	f.fds = nil
	return first
}

// TryFence takes the fences of keys exclusively and those of their ancestors shared: all or none, without
// waiting. (The command inherits the very descriptors.)
func (l *Ledger) TryFence(_ context.Context, keys []fslease.Key) (fslease.Fence, []fslease.Keeper, error) {
	if err := l.ready(); err != nil {
		return nil, nil, err
	}
	f := &Fence{}
	for _, p := range fslease.LockPlan(keys) {
		ok, err := l.addFence(f, fencePath(p.Key), p.Exclusive)
		if err != nil {
			_ = f.Close()
			return nil, nil, err
		}
		if !ok {
			_ = f.Unlock()
			keepers, err := l.keepers(keys)
			return nil, keepers, err
		}
	}
	orphans, err := l.orphans(keys, true)
	if err != nil || len(orphans) > 0 {
		_ = f.Unlock()
		return nil, orphans, err
	}
	return f, nil, nil
}

// addFence locks one fence file, which is made if it is missing.
func (l *Ledger) addFence(f *Fence, name string, exclusive bool) (bool, error) {
	mode := unix.LOCK_SH | unix.LOCK_NB
	if exclusive {
		mode = unix.LOCK_EX | unix.LOCK_NB
	}
	for {
		fd, st, err := l.dir.openRegular(name, l.lockable())
		if errors.Is(err, fs.ErrNotExist) {
			err = l.makeEmpty(name)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return false, l.fail(name, err)
		}
		fd = raise(fd)
		err = flock(fd, mode)
		if err != nil {
			_ = unix.Close(fd)
			if err == unix.EWOULDBLOCK {
				return false, nil
			}
			return false, l.fail(name, &fs.PathError{Op: "lock", Path: name, Err: err})
		}
		now, err := l.fsys.Stat(name)
		if err == nil && sameFile(now, st) {
			f.fds = append(f.fds, fd)
			return true, nil
		}
		_ = unix.Close(fd) // replaced meanwhile
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, l.fail(name, err)
		}
	}
}

// raise moves a descriptor to firstFenceFD or above, or where the limit is lower to the highest that is
// free. If there is none it stays.
func raise(fd int) int {
	from := firstFenceFD
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && limit.Cur <= firstFenceFD {
		from = int(limit.Cur) - 1
	}
	for ; from > fd; from-- {
		high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, from)
		if err == nil {
			_ = unix.Close(fd)
			return high
		}
	}
	return fd
}

// Keepers returns who keeps the fence of key, without taking it.
func (r *reader) Keepers(key fslease.Key) ([]fslease.Keeper, error) {
	keepers, err := r.l.keepers([]fslease.Key{key})
	if err != nil {
		return nil, err
	}
	states, err := r.Overlapping(key)
	if err != nil {
		return nil, err
	}
	for _, st := range states {
		cur := st.Current()
		if cur == nil || r.l.Probe(cur.Holder).Life != fslease.Dead {
			continue
		}
		k, err := r.l.Working(cur.Holder) // nobody has buried the holder yet, and noted its command
		if err != nil {
			return nil, err
		}
		if k != nil && !slices.ContainsFunc(keepers, func(o fslease.Keeper) bool { return o.PID == k.PID }) {
			k.Key = key
			keepers = append(keepers, *k)
		}
	}
	return keepers, nil
}

// keepers names the processes that have a lock on a fence file in the way of keys, and the orphans.
func (l *Ledger) keepers(keys []fslease.Key) ([]fslease.Keeper, error) {
	keepers, err := l.orphans(keys, false)
	if err != nil {
		return nil, err
	}
	pids, at, err := l.fencePids(keys)
	if err != nil {
		return nil, err
	}
	for i, pid := range pids {
		if !slices.ContainsFunc(keepers, func(k fslease.Keeper) bool { return k.PID == int64(pid) }) {
			own := pid == os.Getpid() || l.opt.Processes.Ancestor(pid)
			keepers = append(keepers, fslease.Keeper{PID: int64(pid), Name: commandName(pid), Own: own, Key: at[i]})
		}
	}
	return keepers, nil
}

// fencePids looks through the descriptors of all processes that may be seen for locks on the fences that
// overlap keys. at are the keys in whose way they are.
func (l *Ledger) fencePids(keys []fslease.Key) (pids []int, at []fslease.Key, err error) {
	root := l.realPath()
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil, nil, nil // nothing can be seen
	}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		fds, err := os.ReadDir("/proc/" + d.Name() + "/fd")
		if err != nil {
			continue
		}
		for _, fd := range fds {
			link, err := os.Readlink("/proc/" + d.Name() + "/fd/" + fd.Name())
			name, ok := fenceName(link, root)
			if err != nil || !ok || shutOut(keys, name, true) == "" {
				continue
			}
			held, exclusive := flockOn(d.Name(), fd.Name())
			if key := shutOut(keys, name, exclusive); held && key != "" && (pid != os.Getpid() || inherited(fd.Name())) {
				pids, at = append(pids, pid), append(at, key)
				break
			}
		}
	}
	return pids, at, nil
}

// fenceName returns the key, as names of files have it, to whose fence a link leads.
func fenceName(link, root string) (name fslease.Key, ok bool) {
	s, ok := strings.CutPrefix(link, root+"/"+locksDir+"/")
	s, ok2 := strings.CutSuffix(s, ".fence")
	return fslease.Key(s), ok && ok2
}

// shutOut returns the first of keys that cannot have its fence while the one of name is locked: any lock is in the way on the key or
// below it, an exclusive one on an ancestor too.
func shutOut(keys []fslease.Key, name fslease.Key, exclusive bool) fslease.Key {
	for _, k := range keys {
		encoded := fslease.Key(encodeKey(k))
		if encoded.Covers(name) || exclusive && name.Covers(encoded) {
			return k
		}
	}
	return ""
}

// inherited reports whether this process was given a descriptor at its start: those that it opens itself
// are close-on-exec, and a fence that it took itself is no reason not to wait.
func inherited(fd string) bool {
	n, err := strconv.Atoi(fd)
	if err != nil {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(n), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}

// flockOn reports whether a descriptor of a process has an flock, and whether that is an exclusive one. One that was unlocked by
// whoever it came from has none.
func flockOn(pid, fd string) (held, exclusive bool) {
	data, err := os.ReadFile("/proc/" + pid + "/fdinfo/" + fd)
	if err != nil {
		return false, false
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "lock:") && strings.Contains(line, "FLOCK") {
			held, exclusive = true, exclusive || strings.Contains(line, "WRITE")
		}
	}
	return held, exclusive
}

// realPath is the ledger's path as the kernel shows it in links.
func (l *Ledger) realPath() string {
	if p, err := os.Readlink(procFD(l.dir.root)); err == nil {
		return p
	}
	p, _ := filepath.Abs(l.path)
	return p
}

// commandName returns the name of what a process runs, for people.
func commandName(pid int) string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
