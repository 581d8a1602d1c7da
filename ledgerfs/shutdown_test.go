package ledgerfs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A file system that shut down because its disk failed has forgotten what was not synced. Then no sync may succeed.
func TestNoSyncSucceedsAfterAFileSystemShutDown(t *testing.T) {
	for _, mkfs := range [][]string{{"mkfs.xfs", "-q", "-f"}, {"mkfs.ext4", "-q", "-F"}} {
		t.Run(mkfs[0], func(t *testing.T) {
			if os.Geteuid() != 0 {
				t.Skip("not run: needs root: for mounts")
			}
			if _, err := exec.LookPath(mkfs[0]); err != nil {
				t.Skip("not run: needs ", mkfs[0], ": ", err)
			}
			image, at := filepath.Join(t.TempDir(), "image"), t.TempDir()
			if err := os.WriteFile(image, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(image, 320<<20); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(mkfs[0], append(mkfs[1:], image)...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				runtime.LockOSThread() // and never unlock: the mount ends with the thread
				err := unix.Unshare(unix.CLONE_NEWNS)
				if err == nil {
					err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
				}
				if err == nil {
					err = exec.Command("mount", "-o", "loop", image, at).Run()
				}
				if err != nil {
					t.Log("not run: needs a mount: ", err)
					return
				}
				d, err := openRoot(at)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = d.Close() }()
				if err := errors.Join(d.Mkdir("sub"), d.SyncDir("."), d.WriteTemp("sub/a", []byte("data"), true), d.Rename("sub/a", "sub/b")); err != nil {
					t.Error(err)
				}
				sub, err := d.open("sub", unix.O_RDONLY|unix.O_DIRECTORY, 0)
				if err != nil {
					t.Error(err)
					return
				}
				defer func() { _ = unix.Close(sub) }()
				const shutdown, nothingIsWritten = 0x8004587d, 2
				if err := unix.IoctlSetPointerInt(d.root, shutdown, nothingIsWritten); err != nil {
					t.Error(err)
				}
				if err := syncFolder(sub); !errors.Is(err, unix.EIO) {
					t.Errorf("a folder is synced, and nothing of it is on the disk: %v", err)
				}
				if err := d.WriteTemp("sub/c", []byte("data"), true); !errors.Is(err, unix.EIO) {
					t.Errorf("a file is written: %v", err)
				}
			}()
			<-done
		})
	}
}
