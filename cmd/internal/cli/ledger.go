package cli

import (
	"errors"

	"fslease/fslease"
	"fslease/hostproc"
	"fslease/ledgerfs"
	"fslease/procinfo"
)

// An opened is the ledger that a command works on, the manager of its leases, and the processes around it.
type opened struct {
	*ledgerfs.Ledger
	leases    *fslease.Manager
	processes *hostproc.Processes
}

// open opens the ledger that is named, or found. Looking at one that is missing makes none.
func (c *call) open() (*opened, error) {
	path, err := ledgerfs.Find(ledgerfs.FindOptions{Dir: c.ledgerDir})
	if err != nil {
		return nil, err
	}
	forgetOthers(path)
	processes := hostproc.New()
	l, err := ledgerfs.Open(path, ledgerfs.Options{Processes: processes})
	if err != nil {
		return nil, err
	}
	leases, err := fslease.NewManager(l, fslease.Options{Kin: processes.Kin, KinPID: processes.KinPID, UnderFence: l.UnderFence})
	if err != nil {
		return nil, err
	}
	return &opened{l, leases, processes}, nil
}

// heir is the process pid as one that a lease is handed to: it holds as long as it lives.
func (l *opened) heir(pid int) (fslease.Handover, error) {
	h, err := l.processes.Of(pid)
	switch {
	case errors.Is(err, procinfo.ErrNoProcess):
		return fslease.Handover{}, usage("name one that runs: $$ is the shell itself", "there is no process %d", pid)
	case err != nil:
		return fslease.Handover{}, err
	}
	h.ID = ledgerfs.NewHolderID()
	return fslease.Handover{Holder: h}, nil
}
