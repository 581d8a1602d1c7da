//go:build linux

package procinfo

import (
	"strconv"
	"strings"
)

// userName returns the name of a user in /etc/passwd, else the number. Package os/user would ask the
// name services, which load libraries and may wait for a network.
func userName(uid int) string {
	passwd, _ := readFile("/etc/passwd", maxText)
	return findUser(string(passwd), strconv.Itoa(uid))
}

func findUser(passwd, uid string) string {
	for line := range strings.Lines(passwd) {
		// name:password:uid:...
		fields := strings.SplitN(line, ":", 4)
		if len(fields) == 4 && fields[2] == uid && fields[0] != "" {
			return fields[0]
		}
	}
	return uid
}
