package ledgerfs

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// Magic numbers of file systems that other machines reach, or whose locks do not mean what ours must.
var networkMagic = map[int64]string{
	unix.NFS_SUPER_MAGIC:  "nfs",
	unix.SMB_SUPER_MAGIC:  "smb",
	unix.CIFS_SUPER_MAGIC: "cifs",
	unix.SMB2_SUPER_MAGIC: "smb",
	unix.V9FS_MAGIC:       "9p",
	unix.CEPH_SUPER_MAGIC: "ceph",
	unix.FUSE_SUPER_MAGIC: "fuse",
	unix.AFS_SUPER_MAGIC:  "afs",
	unix.CODA_SUPER_MAGIC: "coda",
}

// networkFS names the network file system that fd lies on, "" if it is local.
func networkFS(fd int) (string, error) {
	var st unix.Statfs_t
	if err := ignoreEINTR(func() error { return unix.Fstatfs(fd, &st) }); err != nil {
		return "", &fslease.RepositoryError{Fault: fslease.FaultLedger, What: "cannot tell the file system of the ledger", Err: err}
	}
	return networkMagic[int64(st.Type)], nil
}

// allowNetwork lets a ledger on a network file system pass only if its settings say so.
func allowNetwork(dir *dirFS, path, network string) error {
	l := &Ledger{path: path, fsys: dir, dir: dir}
	c, err := l.readConfig()
	if errors.Is(err, fs.ErrNotExist) {
		return refuseNetwork(path, network)
	}
	if err == nil && !c.Settings.AllowNetwork {
		return refuseNetwork(path, network)
	}
	return err
}

func refuseNetwork(path, network string) error {
	return &fslease.RepositoryError{Fault: fslease.FaultLedger, Path: path,
		What: "the ledger " + path + " lies on a network file system (" + network + "), where locks and process evidence cannot be relied on",
		Hint: "keep it on a local disk (--ledger, LEASE_LEDGER), or set allow_network to true in its " + configFile}
}

// home returns the user's home directory, "" if there is none.
func home() string {
	h, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return h
}
