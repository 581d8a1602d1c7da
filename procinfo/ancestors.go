//go:build linux

package procinfo

import (
	"os"
	"strconv"
)

// Ancestors returns the parent of this process, its parent and so on, as far as they are in its pid
// namespace and can be seen: where they are (host to namespaces), PID and StartTime. Empty if /proc shows
// another pid namespace.
func Ancestors() []Identity {
	me, err := here()
	if err != nil || proc.checkOwn() != nil {
		return nil
	}
	return proc.ancestors(me, os.Getpid())
}

// ancestors returns the ancestors of pid, which is at the same place as they are.
func (p procfs) ancestors(place Identity, pid int) []Identity {
	var chain []Identity
	st, err := p.stat(strconv.Itoa(pid))
	for err == nil && st.ppid > 0 {
		id := place
		id.PID = st.ppid
		young := st.start
		if st, err = p.stat(strconv.Itoa(id.PID)); err != nil || st.start > young {
			break // hidden, or it ended meanwhile; nobody is younger than a child
		}
		id.StartTime = st.start
		chain = append(chain, id)
	}
	return chain
}
