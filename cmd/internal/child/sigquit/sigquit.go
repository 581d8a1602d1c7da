//go:build amd64 || arm64

package sigquit

const (
	sigINT  = 2
	sigQUIT = 3

	byDefault = 0
	ignored   = 1
)

// An action is the kernel's struct for rt_sigaction: handler, flags, restorer, mask.
type action [4]uint64

// In sigquit_*.s, since package syscall is initialised later. It cannot fail with the signals of this package.
//
//go:noescape
func rtSigaction(sig uint64, act, old *action)

func init() {
	// Whether QUIT was ignored cannot be seen any more, but mostly it was if INT is. Until package child has looked closer,
	// a signal is rather lost than the end of somebody's background job.
	var interrupt action
	rtSigaction(sigINT, nil, &interrupt)
	quit := action{byDefault}
	if interrupt[0] == ignored {
		quit[0] = ignored
	}
	rtSigaction(sigQUIT, &quit, nil)
}
