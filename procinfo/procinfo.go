//go:build linux

// Package procinfo says who a process is, and whether that very process still lives.
//
// A pid alone names nobody: numbers are used again, and mean something else in another pid namespace, in
// another container, after a reboot. An [Identity] therefore holds all that tells one process from every
// other, as far as the kernel can tell, and where its number counts. [Self] and [Of] make one, [Judge]
// compares one with what runs now, [OpenDeath] waits for its end.
//
// Dead is said only with proof. Every error, missing permission or foreign namespace is Unknown: "I cannot
// see it" is never "it is dead".
package procinfo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

var (
	// ErrNoProcess says that no such process runs: it is gone, a zombie, or another one has its number.
	ErrNoProcess = errors.New("no such process")

	// ErrNotPermitted says that there is such a process, but /proc hides it from this user.
	ErrNotPermitted = errors.New("not allowed to look at the process (hidepid?)")
)

// An Identity tells one process from all others. Zero fields are not known.
//
// The numbers are those seen from the process that made the Identity, so PIDNS and TimeNS are the
// namespaces of that one: in them PID and StartTime mean this process, and nowhere else.
type Identity struct {
	Host          string // for people, never compared
	MachineID     string // hash of /etc/machine-id, 32 hex digits
	BootID        string // as /proc shows it
	BootIDGenuine bool   // the kernel's own, provably not a file mounted over it
	PID           int
	StartTime     int64  // clock ticks since boot
	PIDNS         uint64 // inode of the pid namespace
	TimeNS        uint64 // inode of the time namespace, which shifts StartTime; 0: the kernel has none
	PidfdInode    uint64 // never used again during a boot; 0 before Linux 6.9
	UID           int    // real user id
	User          string // from /etc/passwd, else UID in digits
	Command       []string
	Cwd           string
}

// Self identifies this process. Where no /proc is mounted, what only it tells is left zero, without an
// error: such an Identity can be shown, but proves nothing to a judge.
func Self() (Identity, error) {
	id, err := here()
	if err != nil {
		return Identity{}, err
	}
	id.PID = os.Getpid()
	st, err := proc.stat("self")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Identity{}, err
	}
	id.StartTime = st.start
	if fd, err := openPidfd(id.PID); err == nil {
		id.PidfdInode = fd.inode()
		fd.close()
	}
	id.UID = os.Getuid()
	id.User = userName(id.UID)
	id.Command = slices.Clone(os.Args)
	id.Cwd, _ = unix.Getwd() // none if it was removed
	return id, nil
}

// Of identifies another process by its number in this process's pid namespace. A zombie and the number of
// a mere thread are [ErrNoProcess]; a process that /proc hides is [ErrNotPermitted]. Cwd is empty where this
// user may not see it, and Command is the bare name where there is no command line (kernel threads).
func Of(pid int) (Identity, error) {
	if err := proc.checkOwn(); err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return of(pid, procfs.describe)
}

// Child identifies a child of this process that it has not waited for yet, so that its number is certainly its own. Only what a
// judge compares is found out: User, Command and Cwd stay empty, UID is 0. The errors are those of [Of].
func Child(pid int) (Identity, error) {
	if err := proc.checkOwn(); err != nil {
		return Identity{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return of(pid, func(p procfs, id *Identity) error {
		st, err := p.stat(strconv.Itoa(pid))
		id.StartTime = st.start
		return err
	})
}

// of identifies the process that has the number pid, with what describe reads about it.
func of(pid int, describe func(procfs, *Identity) error) (Identity, error) {
	id, err := here()
	if err != nil {
		return Identity{}, err
	}
	fd, err := openPidfd(pid)
	switch {
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOENT):
		return Identity{}, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	case err != nil:
		return Identity{}, fmt.Errorf("process %d: pidfd_open: %w", pid, err)
	}
	defer fd.close()
	id.PID = pid
	id.PidfdInode = fd.inode()
	readErr := describe(proc, &id)
	// Alive now means alive since fd was opened, so all that was read in between is of this process.
	ended, err := fd.ended()
	switch {
	case err != nil:
		return Identity{}, fmt.Errorf("process %d: poll: %w", pid, err)
	case ended:
		return Identity{}, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	case hidden(readErr):
		return Identity{}, fmt.Errorf("process %d: %w", pid, ErrNotPermitted)
	case readErr != nil:
		return Identity{}, readErr
	}
	return id, nil
}

// hidden reports whether err, from reading about a living process, means that /proc hides it: hidepid=1
// refuses, hidepid=2 denies that it exists.
func hidden(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}
