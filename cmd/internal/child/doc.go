// Package child starts the command of lease run and lease fenced, passes signals on to it, follows the
// shell's job control, and waits for its end. It knows nothing of leases.
//
// The command is to behave as under env(1): it stays in the wrapper's process group and session, gets
// descriptors 0, 1 and 2 as they are, its arguments byte for byte, and the signals that env would have
// got. What cannot be kept apart is a signal sent to the whole group with kill (kill -TERM -PGID, a
// shell's kill %1): wrapper and command each get it, the wrapper cannot tell it from one sent to itself
// alone, and passes it on. The other choice would lose signals.
//
// A process has one command at a time.
package child
