package ledgerfs

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// InheritedFence reports whether this process was started with the fence of key, or of a key above it,
// and that fence is still kept: it runs under it, and would wait for itself.
func (l *Ledger) InheritedFence(key fslease.Key) bool {
	if l.attach() != nil {
		return false
	}
	here := fencesHere()
	if len(here) == 0 {
		return false
	}
	for _, k := range append(key.Ancestors(), key) {
		kept, err := l.fsys.Stat(fencePath(k))
		if err != nil {
			continue // nobody has a fence that is not there
		}
		for fd := range here {
			var st unix.Stat_t
			n, _ := strconv.Atoi(fd)
			if unix.Fstat(n, &st) != nil || !sameFile(st, kept) { // by whatever path it was opened
				continue
			}
			if _, exclusive := flockOn("self", fd); exclusive {
				return true
			}
		}
	}
	return false
}

// fencesHere returns the descriptors of this process that lead to a file which is named like a fence, and its path.
func fencesHere() map[string]string {
	found := map[string]string{}
	fds, _ := os.ReadDir("/proc/self/fd")
	for _, fd := range fds {
		if link, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasSuffix(link, ".fence") {
			found[fd.Name()] = link
		}
	}
	return found
}

// UnderFence reports whether this process runs under a fence in the way of keys: it inherited that of an overlapping
// key, or descends from a command that is noted in orphans/. Whoever takes keys waits for its end.
func (l *Ledger) UnderFence(keys []fslease.Key) bool {
	if l.attach() != nil {
		return false
	}
	l.lookAround.Do(func() { // no more come later, and who waits asks often
		for fd := range fencesHere() {
			if inherited(fd) {
				l.around = append(l.around, fd)
			}
		}
	})
	for _, fd := range l.around {
		link, _ := os.Readlink("/proc/self/fd/" + fd) // of one that was closed there is none
		if name, ok := fenceName(link, l.realPath()); ok && shutOut(keys, name, true) != "" {
			if _, exclusive := flockOn("self", fd); exclusive {
				return true
			}
		}
	}
	orphans, _ := l.orphans(keys, false) // what cannot be read keeps the next holder from its fence, which says so
	return slices.ContainsFunc(orphans, func(k fslease.Keeper) bool { return k.Own })
}
