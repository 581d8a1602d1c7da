//go:build linux

package procinfo

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// State is what is known of a process.
type State int

const (
	Unknown State = iota // could not be told: every error, missing permission or foreign namespace
	Alive
	Dead // positively proven
)

func (s State) String() string {
	return [...]string{"unknown", "alive", "dead"}[s]
}

// A Verdict is a state with its reason in words, such as "process 4242 is gone".
type Verdict struct {
	State  State
	Reason string
}

// Judge tells whether the process id still lives.
//
// A pid counts only where it was recorded: on the same boot, in the same pid and time namespace. There
// the process is dead if nobody has its number, if somebody else has it (another start time or pidfd
// inode), or if it has ended and was not yet reaped. A stopped one is alive, and so is one whose first
// thread has exited while others run.
//
// After a reboot it is dead only if that was provably a reboot of this machine: both boot ids are the
// kernel's own, both sides are in the initial pid namespace, the machine ids are equal, and the record of
// id was found on a local file system (local).
func Judge(id Identity, local bool) Verdict {
	fd, v := probe(id, local)
	if v.State == Alive {
		fd.close()
	}
	return v
}

// probe judges id. If it is alive, the caller also gets a pidfd of exactly that process, to close.
func probe(id Identity, local bool) (pidfd, Verdict) {
	me, err := here()
	if err != nil {
		return -1, Verdict{Unknown, err.Error()}
	}
	if reason := elsewhere(id, me); reason != "" {
		if reason == otherBoot && local && rebooted(id, me) {
			return -1, Verdict{Dead, "the machine was restarted since"}
		}
		return -1, Verdict{Unknown, reason}
	}
	if err := proc.checkOwn(); err != nil {
		return -1, Verdict{Unknown, err.Error()}
	}
	fd, err := openPidfd(id.PID)
	if err != nil {
		return -1, judgeUnopened(id, err)
	}
	v := judgeOpened(id, fd)
	if v.State != Alive {
		fd.close()
	}
	return fd, v
}

// judgeOpened judges id by the process that has its number. It polls last: a process that has not ended
// then had the number all the while, so what was read in between was read of it.
func judgeOpened(id Identity, fd pidfd) Verdict {
	if inode := fd.inode(); inode != 0 && id.PidfdInode != 0 && inode != id.PidfdInode {
		return reused(id, "pidfd inode")
	}
	st, statErr := proc.stat(strconv.Itoa(id.PID))
	if statErr == nil && st.start != id.StartTime {
		return reused(id, "start time")
	}
	ended, err := fd.ended()
	switch {
	case err != nil:
		return Verdict{Unknown, fmt.Sprintf("cannot poll process %d: %v", id.PID, err)}
	case ended && st.state == 'Z':
		return Verdict{Dead, fmt.Sprintf("process %d is a zombie", id.PID)}
	case ended:
		return gone(id)
	case hidden(statErr):
		return Verdict{Unknown, fmt.Sprintf("not allowed to look at process %d (hidepid?)", id.PID)}
	case statErr != nil:
		return Verdict{Unknown, statErr.Error()}
	case st.state == 'Z':
		return Verdict{Alive, fmt.Sprintf("process %d runs on in another thread than its first", id.PID)}
	case st.state == 'T', st.state == 't':
		return Verdict{Alive, fmt.Sprintf("process %d is stopped", id.PID)}
	}
	return Verdict{Alive, fmt.Sprintf("process %d is running", id.PID)}
}

// judgeUnopened judges id when pidfd_open failed with err. A thread that has the number now cannot be
// opened, but its start time is proof too.
func judgeUnopened(id Identity, err error) Verdict {
	if errors.Is(err, unix.ESRCH) {
		return gone(id)
	}
	if st, statErr := proc.stat(strconv.Itoa(id.PID)); statErr == nil && st.start != id.StartTime {
		return reused(id, "start time")
	}
	return Verdict{Unknown, fmt.Sprintf("cannot open process %d: %v", id.PID, err)}
}

func gone(id Identity) Verdict {
	return Verdict{Dead, fmt.Sprintf("process %d is gone", id.PID)}
}

func reused(id Identity, what string) Verdict {
	return Verdict{Dead, fmt.Sprintf("pid %d was reused (%s differs)", id.PID, what)}
}

const otherBoot = "other boot"

// elsewhere says why the number of id means nothing at me, empty if it does.
func elsewhere(id, me Identity) string {
	switch {
	case id.PID <= 0 || id.StartTime == 0:
		return "no process recorded"
	case id.BootID == "" || me.BootID == "":
		return "boot not known"
	case id.BootID != me.BootID:
		return otherBoot
	case id.PIDNS == 0 || me.PIDNS == 0:
		return "pid namespace not known"
	case id.PIDNS != me.PIDNS:
		return "other pid namespace"
	case id.TimeNS != me.TimeNS:
		return "other time namespace"
	}
	return ""
}

// rebooted reports whether the boot of id, which is not that of me, was provably an earlier one of the
// same machine. A container may show a boot id of its own, and a machine id of its image.
func rebooted(id, me Identity) bool {
	return id.BootIDGenuine && me.BootIDGenuine &&
		id.PIDNS == initialPIDNS && me.PIDNS == initialPIDNS &&
		id.MachineID != "" && id.MachineID == me.MachineID
}
