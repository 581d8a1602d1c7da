package loop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"fslease/internal/torture/kit"
)

// A disk is a file system in a file.
type disk struct {
	t     *kit.T
	image string
	at    string // where it is mounted
}

// newDisk makes one. Where there is a memory file system, it is in memory.
func newDisk(t *kit.T, k kind) (*disk, error) {
	d := &disk{t: t, at: filepath.Join(t.Dir, "mnt")}
	if err := os.MkdirAll(d.at, 0o755); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("/dev/shm", "lease-torture-loop-")
	if err != nil {
		if f, err = os.CreateTemp(t.Dir, "image-"); err != nil {
			return nil, err
		}
	}
	d.image = f.Name()
	defer f.Close()
	if err := f.Truncate(k.size); err != nil {
		return d, err
	}
	return d, command(k.mkfs, append(k.args, d.image)...)
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// mount mounts it. The kernel frees the loop device when it is unmounted.
func (d *disk) mount() error { return command("mount", "-o", "loop", d.image, d.at) }

// unmount waits until nobody uses it any more.
func (d *disk) unmount() error {
	for deadline := time.Now().Add(kit.HangGuard); ; time.Sleep(time.Millisecond) {
		err := unix.Unmount(d.at, 0)
		if err != unix.EBUSY || time.Now().After(deadline) {
			return err
		}
	}
}

func (d *disk) remove() {
	_ = unix.Unmount(d.at, unix.MNT_DETACH) // it may not be mounted
	_ = os.Remove(d.image)
}

// shutdownIoctl is the same of ext4 and xfs: _IOR('X', 125, __u32).
const shutdownIoctl = 0x8004587d

// How much of its journal a file system still writes when it is shut down.
var shutdowns = []string{"everything is written", "the journal is written", "nothing is written"}

// shutdown ends the file system at once; how is the index of one of shutdowns.
func (d *disk) shutdown(how int) error {
	fd, err := unix.Open(d.at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.IoctlSetPointerInt(fd, shutdownIoctl, how)
}

// sync makes sure what is on it now.
func (d *disk) sync() error {
	fd, err := unix.Open(d.at, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Syncfs(fd)
}
