//go:build linux

package procinfo

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// readFile returns the first limit bytes of a small file. Self is part of every start of a command, and
// package os would make a poller and register every file of /proc with it, which takes as long as all the
// rest.
func readFile(name string, limit int) ([]byte, error) {
	fd, err := openFile(name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readAll(fd, name, limit)
}

// About returns what a file in /proc says of a process, given by number or as "self". The error is a *fs.PathError; fs.ErrNotExist
// also where /proc hides the process.
func About(pid, name string) ([]byte, error) { return readFile(proc.path(pid, name), maxText) }

func openFile(name string) (int, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return -1, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return fd, nil
}

func readAll(fd int, name string, limit int) ([]byte, error) {
	buf := make([]byte, min(limit, 1<<10))
	for n := 0; ; {
		m, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: name, Err: err}
		}
		if n += m; m == 0 || n == limit {
			return buf[:n], nil
		}
		if n == len(buf) {
			buf = append(buf, make([]byte, min(n, limit-n))...)
		}
	}
}
