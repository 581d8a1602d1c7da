//go:build linux

package procinfo

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// procfs is the root of a proc file system.
type procfs string

const proc procfs = "/proc"

// Bounds of what is read.
const (
	maxText    = 1 << 20  // status has a line with all groups, of which a process may have 65,536
	maxCommand = 16 << 10 // arguments may be megabytes
)

func (p procfs) path(elem ...string) string {
	return filepath.Join(append([]string{string(p)}, elem...)...)
}

// stat reads the stat file of a process, given by number or as "self".
func (p procfs) stat(pid string) (stat, error) {
	name := p.path(pid, "stat")
	line, err := readFile(name, maxText)
	if err != nil {
		return stat{}, err
	}
	st, err := parseStat(line)
	if err != nil {
		return stat{}, fmt.Errorf("%s: %w", name, err)
	}
	return st, nil
}

// Stopped reports whether a process is stopped by a signal; false also where /proc does not show it.
func Stopped(pid int) bool {
	st, err := proc.stat(strconv.Itoa(pid))
	return err == nil && st.state == 'T'
}

// status returns the words of one field of the status file of a process.
func (p procfs) status(pid, field string) ([]string, error) {
	name := p.path(pid, "status")
	text, err := readFile(name, maxText)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.Fields(value), nil
		}
	}
	return nil, fmt.Errorf("%s: no field %s", name, field)
}

// checkOwn returns an error unless p shows the pid namespace of this process. In the /proc of another one
// the same number is another process. NSpid lists the numbers of a process from the namespace of p down
// to its own, so that exactly one means that they are the same; the target of /proc/self alone could
// agree by chance.
func (p procfs) checkOwn() error {
	pids, err := p.status("self", "NSpid")
	if err != nil {
		return fmt.Errorf("%s does not show this process: %w", p, err)
	}
	if len(pids) != 1 || pids[0] != strconv.Itoa(os.Getpid()) {
		return fmt.Errorf("%s shows another pid namespace", p)
	}
	return nil
}

// describe fills in what p tells of the process id.PID.
func (p procfs) describe(id *Identity) error {
	pid := strconv.Itoa(id.PID)
	st, err := p.stat(pid)
	if err != nil {
		return err
	}
	id.StartTime = st.start
	uids, err := p.status(pid, "Uid")
	if err != nil {
		return err
	}
	if len(uids) > 0 {
		id.UID, err = strconv.Atoi(uids[0])
	}
	if len(uids) == 0 || err != nil {
		return fmt.Errorf("%s: no user in field Uid", p.path(pid, "status"))
	}
	id.User = userName(id.UID)
	id.Command = p.command(pid)
	if len(id.Command) == 0 {
		id.Command = []string{st.name}
	}
	id.Cwd, _ = os.Readlink(p.path(pid, "cwd"))
	return nil
}

// command returns the arguments of a process, none if there are none to be seen.
func (p procfs) command(pid string) []string {
	text, err := readFile(p.path(pid, "cmdline"), maxCommand)
	text = bytes.TrimSuffix(text, []byte{0})
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(string(text), "\x00")
}
