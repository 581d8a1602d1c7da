package ledgerfs

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// procLocksReadings is how often /proc/locks is read before a lock that is not in it counts as nobody's. The kernel hands the list out a page
// at a time, by position: what is unlocked between two pages moves the rest up, and as many lines are left out.
const procLocksReadings = 8

// flockOwners calls see with each pid that /proc/locks names for an flock, and the inode that it has locked, until see is satisfied or
// the list was read often enough. Waiters and owners in a foreign pid namespace are not among them.
func flockOwners(see func(inode string, pid int) (satisfied bool)) {
	for range procLocksReadings {
		data, _ := os.ReadFile("/proc/locks") // nothing can be seen without it
		satisfied := false
		// "1: FLOCK  ADVISORY  WRITE 4242 08:01:1234 0 EOF"; waiters have "->" in the second column.
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			if len(f) < 6 || f[1] != "FLOCK" {
				continue
			}
			if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
				satisfied = see(f[5], pid) || satisfied
			}
		}
		if satisfied {
			return
		}
	}
}

// lockOwners returns the pids that have locked a file of the ledger, as far as /proc/locks names them.
func (l *Ledger) lockOwners(name string) []int {
	st, err := l.fsys.Stat(name)
	if err != nil {
		return nil
	}
	var pids []int
	flockOwners(func(inode string, pid int) bool {
		ours := inode == inodeOf(st)
		if ours && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
		return ours
	})
	return pids
}

// inodeOf is how /proc/locks names a file.
func inodeOf(st unix.Stat_t) string {
	return fmt.Sprintf("%02x:%02x:%d", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
}
