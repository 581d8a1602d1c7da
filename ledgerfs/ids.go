package ledgerfs

import (
	"encoding/hex"
	"strconv"

	"golang.org/x/sys/unix"
)

// newID returns 32 random hex digits. (The system call itself: the crypto packages cost start-up time.)
func newID() string {
	var b [16]byte
	for n := 0; n < len(b); {
		got, err := unix.Getrandom(b[n:], 0)
		if err != nil && err != unix.EINTR {
			panic("getrandom: " + err.Error()) // it cannot fail otherwise on the kernels we support
		}
		n += max(got, 0)
	}
	return hex.EncodeToString(b[:])
}

// NewHolderID returns an id for a holder that does not announce itself: the one a lease is handed to.
func NewHolderID() string { return newID() }

func procFD(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
