// Package loop cuts the power for real: a file system on a loop device is shut down by its shutdown ioctl while many
// processes work on the ledger in it, mounted again, and gone on from in another boot.
package loop

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"fslease/internal/torture/kit"
	"fslease/internal/torture/power"
)

// Part is the whole of it.
var Part = kit.Part{
	Name: "loop",
	Does: "ext4 and xfs are shut down while 8 processes work on a ledger in them, and mounted again",
	Counts: []kit.Count{
		{Name: "shutdowns of ext4", Floor: 100},
		{Name: "shutdowns of xfs", Floor: 100},
	},
	Edits: power.Boot,
	Run:   run,
}

// kinds are the file systems, and how they are made.
var kinds = []kind{
	{"ext4", 64 << 20, "mkfs.ext4", []string{"-q", "-F"}, "e2fsprogs"},
	{"xfs", 320 << 20, "mkfs.xfs", []string{"-q", "-f"}, "xfsprogs"},
}

type kind struct {
	name     string
	size     int64 // of the image, in bytes; mkfs.xfs makes none below 300 MiB
	mkfs     string
	args     []string
	packaged string // in which package of Debian
}

// rounds on one file system, before the next one is made.
const roundsPerImage = 25

func run(t *kit.T) {
	if os.Geteuid() != 0 {
		t.NotRun("needs root: mounts")
		return
	}
	for _, k := range kinds {
		if err := k.found(t); err != nil {
			t.NotRun("%s: needs %s: %v", k.name, k.mkfs, err)
			continue
		}
		for left := t.Scale(102); left > 0 && !t.Ended(); left -= roundsPerImage {
			inNamespace(func() error { return rounds(t, k, min(left, roundsPerImage)) }, func(err error) {
				t.NotRun("%s: cannot be mounted here: %v", k.name, err)
			})
		}
	}
}

// found looks for the program that makes the file system. A long run tries to install it.
func (k kind) found(t *kit.T) error {
	_, err := exec.LookPath(k.mkfs)
	if err == nil || t.Share < 0.05 {
		return err
	}
	ctx, cancel := context.WithTimeout(t, 2*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "apt-get", "install", "-y", "--no-install-recommends", k.packaged)
	install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := install.CombinedOutput(); err != nil {
		t.Logf("apt-get install %s: %v\n%.2000s", k.packaged, err, out)
	}
	_, err = exec.LookPath(k.mkfs)
	return err
}

// inNamespace calls f on a thread of its own in a mount namespace of its own. Whatever happens, what is mounted in it is
// gone with the thread, and so is the loop device.
func inNamespace(f func() error, failed func(error)) {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNS)
		if err == nil {
			err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		failed(err)
	}
}
