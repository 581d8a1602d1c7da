// Package hostproc tells a ledger about the processes of this machine: it translates between what package
// procinfo knows and the holders of package fslease.
package hostproc

import (
	"os"
	"slices"
	"sync"

	"fslease/fslease"
	"fslease/procinfo"
)

// Processes answers a ledger's questions from the operating system. It implements ledgerfs.Processes.
type Processes struct {
	self      func() (procinfo.Identity, error)
	ancestors func() []procinfo.Identity
}

// New returns the processes of this machine, seen from this process.
func New() *Processes {
	return &Processes{self: sync.OnceValues(procinfo.Self), ancestors: sync.OnceValue(procinfo.Ancestors)}
}

// Self returns this process as a holder, without id and evidence.
func (p *Processes) Self() (fslease.Holder, error) {
	id, err := p.self()
	return holder(id), err
}

// Of returns another process of this pid namespace as a holder with evidence pid, without id. It fails
// with procinfo.ErrNoProcess or procinfo.ErrNotPermitted.
func (*Processes) Of(pid int) (fslease.Holder, error) {
	id, err := procinfo.Of(pid)
	h := holder(id)
	h.Evidence = fslease.EvidencePid
	return h, err
}

// Child returns a child of this process that it has not waited for yet: what a judge compares, and nothing for people.
func (*Processes) Child(pid int) (fslease.Holder, error) {
	id, err := procinfo.Child(pid)
	h := holder(id)
	h.Evidence = fslease.EvidencePid
	return h, err
}

// Judge says whether the process of a holder lives. local says that the record was found on a local file
// system.
func (*Processes) Judge(h fslease.Holder, local bool) fslease.Verdict {
	v := procinfo.Judge(identity(h), local)
	life := map[procinfo.State]fslease.Life{procinfo.Alive: fslease.Alive, procinfo.Dead: fslease.Dead}[v.State]
	return fslease.Verdict{Life: life, Reason: v.Reason}
}

// Ancestor reports whether this process descends from the process pid.
func (p *Processes) Ancestor(pid int) bool {
	return slices.ContainsFunc(p.ancestors(), func(a procinfo.Identity) bool { return a.PID == pid })
}

// Death returns a channel that is closed when the process of h has ended, and how to stop watching. A
// holder of which only the pid is known is taken to be the process that has it now.
func (*Processes) Death(h fslease.Holder) (<-chan struct{}, func(), error) {
	id := identity(h)
	if h.StartTime == 0 {
		var err error
		if id, err = procinfo.Of(int(h.PID)); err != nil {
			return nil, nil, err
		}
	}
	d, err := procinfo.OpenDeath(id)
	if err != nil {
		return nil, nil, err
	}
	return d.Done(), d.Close, nil
}

// KinPID reports whether this process or one of its ancestors has the number pid.
func (p *Processes) KinPID(pid int64) bool {
	return pid == int64(os.Getpid()) || p.Ancestor(int(pid))
}

// Kin reports whether h is this process or one of its ancestors.
func (p *Processes) Kin(h fslease.Holder) bool {
	if h.IsTicket() || h.Evidence == fslease.EvidenceNone || h.BootID == "" || h.StartTime == 0 {
		return false
	}
	self, err := p.self()
	if err != nil {
		return false
	}
	for _, a := range append(p.ancestors(), self) {
		if int64(a.PID) == h.PID && a.StartTime == h.StartTime && a.BootID == h.BootID && int64(a.PIDNS) == h.PIDNS && int64(a.TimeNS) == h.TimeNS {
			return true
		}
	}
	return false
}

func holder(id procinfo.Identity) fslease.Holder {
	return fslease.Holder{
		Kind:          fslease.KindProcess,
		Host:          id.Host,
		MachineID:     id.MachineID,
		BootID:        id.BootID,
		BootIDGenuine: id.BootIDGenuine,
		PID:           int64(id.PID),
		StartTime:     id.StartTime,
		PIDNS:         int64(id.PIDNS),
		TimeNS:        int64(id.TimeNS),
		PidfdInode:    int64(id.PidfdInode),
		UID:           int64(id.UID),
		User:          id.User,
		Command:       fslease.CommandWords(id.Command),
		Cwd:           id.Cwd,
	}
}

func identity(h fslease.Holder) procinfo.Identity {
	return procinfo.Identity{
		MachineID:     h.MachineID,
		BootID:        h.BootID,
		BootIDGenuine: h.BootIDGenuine,
		PID:           int(h.PID),
		StartTime:     h.StartTime,
		PIDNS:         uint64(h.PIDNS),
		TimeNS:        uint64(h.TimeNS),
		PidfdInode:    uint64(h.PidfdInode),
	}
}
