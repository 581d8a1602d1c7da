//go:build linux

package procinfo

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// initialPIDNS is the inode of the pid namespace in which the kernel starts, the same on every machine.
const initialPIDNS = 0xEFFFFFFC

var knownPlace atomic.Pointer[Identity]

// here returns what all processes around this one share: the Identity without the process. It is looked
// up once: the boot and the pid namespace of a process never change, nor does the time namespace of one
// with several threads.
func here() (Identity, error) {
	if known := knownPlace.Load(); known != nil {
		return *known, nil
	}
	id, err := proc.place()
	if err == nil {
		knownPlace.Store(&id)
	}
	return id, err
}

func (p procfs) place() (id Identity, err error) {
	id.Host, _ = os.Hostname()
	id.MachineID = machineID("/etc/machine-id")
	if id.BootID, id.BootIDGenuine, err = p.bootID(); err != nil {
		return Identity{}, err
	}
	if id.PIDNS, err = p.namespace("pid"); err != nil {
		return Identity{}, err
	}
	if id.TimeNS, err = p.namespace("time"); err != nil {
		return Identity{}, err
	}
	return id, nil
}

// bootID reads the id of this boot. It is genuine if the very file that was read is the kernel's:
// containers mount files of their own over it. Where that cannot be told, it is not.
func (p procfs) bootID() (id string, genuine bool, err error) {
	name := p.path("sys/kernel/random/boot_id")
	fd, err := openFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer unix.Close(fd)
	text, err := readAll(fd, name, 128)
	if err != nil {
		return "", false, err
	}
	return strings.TrimSpace(string(text)), kernelsOwn(fd), nil
}

// kernelsOwn reports whether fd is a file of procfs, seen in its own place and not mounted onto another.
func kernelsOwn(fd int) bool {
	var fsys unix.Statfs_t
	if err := unix.Fstatfs(fd, &fsys); err != nil || int64(fsys.Type) != unix.PROC_SUPER_MAGIC {
		return false
	}
	var st unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, 0, &st)
	return err == nil && st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0 && st.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0
}

// namespace returns the inode of a namespace of this process, 0 if the kernel has no such kind.
func (p procfs) namespace(kind string) (uint64, error) {
	name := p.path("self/ns", kind)
	var st unix.Stat_t
	err := unix.Stat(name, &st)
	if err == unix.ENOENT {
		return 0, nil
	}
	if err != nil {
		return 0, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return st.Ino, nil
}

// machineID returns a hash of the machine's id that only fslease makes: the id itself is confidential.
// It is empty where there is none to be read, or none yet (an image that was never started).
func machineID(name string) string {
	raw, err := readFile(name, 128)
	if err != nil {
		return ""
	}
	key := bytes.TrimSpace(raw)
	if _, err := hex.DecodeString(string(key)); err != nil || len(key) != 32 {
		return ""
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("fslease machine id 1"))
	return hex.EncodeToString(mac.Sum(nil))[:32]
}
