package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// onTmpfs is a ledger on a small file system of its own. The mount is seen by this test and its commands alone: it lives
// in a mount namespace of the test's thread, which ends with the test.
func onTmpfs(t *testing.T, options string) *Ledger {
	t.Helper()
	needs(t, "root")
	l := NewLedger(t)
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Skip("not run: needs a mount namespace: ", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Skip("not run: needs private mounts: ", err)
	}
	if err := os.Mkdir(l.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", l.Dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700,"+options); err != nil {
		t.Skip("not run: needs a tmpfs: ", err)
	}
	t.Cleanup(func() { unix.Unmount(l.Dir, unix.MNT_DETACH) })
	return l
}

// fill takes what is left of the file system: with size > 0 its room, else its inodes. The returned function gives it back.
func fill(t *testing.T, dir string, size int) (empty func()) {
	t.Helper()
	filler := filepath.Join(dir, "filler")
	if err := os.Mkdir(filler, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		err := os.WriteFile(filepath.Join(filler, fmt.Sprint(i)), make([]byte, size), 0o600)
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := os.RemoveAll(filler); err != nil {
			t.Fatal(err)
		}
	}
}

// litter lists temporary files: their names begin with a dot.
func litter(t testing.TB, dir string) (names []string) {
	t.Helper()
	for path := range everything(t, dir) {
		if strings.HasPrefix(filepath.Base(path), ".") {
			names = append(names, path)
		}
	}
	return names
}

// Where nothing more can be written every command says so and leaves the records as they are, release works all the same,
// and with room again all is well.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options string
		size    int
	}{
		"no room":   {"size=1m", 4096},
		"no inodes": {"size=8m,nr_inodes=150", 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := onTmpfs(t, c.options)
			l.Run("acquire", "--ttl", "1h", "held", "repo/api").Want(t, 0)
			l.Run("acquire", "--ttl", "1h", "free").Want(t, 0)
			l.Run("release", "free", "--token", "1").Want(t, 0)
			record := l.Record("leases/held.json")
			empty := fill(t, l.Dir, c.size)

			for code, commands := range map[int][][]string{
				74: {
					{"acquire", "-n", "--ttl", "1h", "free"},
					{"acquire", "--ttl", "1h", "free"},
					{"acquire", "-n", "--ttl", "1h", "never/seen"},
					{"renew", "held", "--token", "1"},
					{"transfer", "held", "--token", "1", "--to-pid", fmt.Sprint(os.Getpid())},
				},
				125: {
					{"run", "-n", "free", "--", "touch", "ran"},
					{"run", "free", "--", "touch", "ran"},
				},
			} {
				for _, args := range commands {
					r := l.Run(args...)
					if r.Code != code || r.Stdout != "" {
						t.Errorf("want exit %d and nothing on stdout\n%v", code, r)
					}
					oneClearLine(t, r, "no space left")
					if now := l.Record("leases/held.json"); fmt.Sprint(now) != fmt.Sprint(record) {
						t.Errorf("the record was\n%v and is\n%v\n%v", record, now, r)
					}
				}
			}
			if l.File("ran") != "" || l.Lease("free") != nil {
				t.Error("something was granted")
			}

			// Looking needs no room, and giving back must not need any.
			l.Run("check", "held", "--token", "1").Want(t, 0)
			l.Run("show", "held").Want(t, 0)
			l.Run("ls").Want(t, 0)
			l.Run("release", "held", "--token", "1").Want(t, 0)
			l.Run("check", "held").Want(t, 1)
			l.Run("release", "repo/api", "--token", "1").Want(t, 0)
			l.Run("release", "repo/api", "--token", "1").Want(t, 76)

			empty()
			for _, key := range []string{"held", "free", "repo/api"} {
				if r := l.Run("acquire", "-n", "--ttl", "1h", key).Want(t, 0); strings.TrimSpace(r.Stdout) != "2" {
					t.Errorf("want generation 2 of %s\n%v", key, r)
				}
			}
			l.Run("run", "-n", "never/seen", "--", "true").Want(t, 0)
			if names := litter(t, l.Dir); len(names) > 0 {
				t.Errorf("left behind: %v", names)
			}
		})
	}
}

// Where no file may grow (ulimit -f) nothing can be taken, but what is held can be given back as on a full disk.
func TestNoFileMayGrow(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	l.Run("acquire", "--ttl", "1h", "held", "repo/api").Want(t, 0)
	small := l.In("sh", "-c", `ulimit -f 1; exec "$@"`, "sh") // 512 bytes
	oneClearLine(t, small.Run("acquire", "-n", "--ttl", "1h", "free").Want(t, 74), "file too large")
	oneClearLine(t, small.Run("run", "free", "--", "touch", "ran").Want(t, 125), "file too large")
	small.Run("release", "held", "--token", "1").Want(t, 0)
	small.Run("release", "repo/api", "--token", "1").Want(t, 0)
	l.Run("check", "held").Want(t, 1)
	wantGrant(t, l.Run("acquire", "-n", "--ttl", "1h", "held"), "2")
	wantGrant(t, l.Run("acquire", "-n", "--ttl", "1h", "repo/api"), "2")
	if names := litter(t, l.Dir); len(names) > 0 || l.File("ran") != "" {
		t.Errorf("left behind: %v", names)
	}
}

// A new ledger that finds no room is no half-made ledger afterwards.
func TestFullDiskFromTheStart(t *testing.T) {
	t.Parallel()
	l := onTmpfs(t, "size=256k")
	l = l.Env("LEASE_LEDGER=" + filepath.Join(l.Dir, "sub"))
	empty := fill(t, l.Dir, 4096)
	r := l.Run("run", "k", "--", "touch", "ran").Want(t, 125)
	oneClearLine(t, r, "no space left")
	l.Run("ls")
	empty()
	l.Run("run", "k", "--", "touch", "ran").Want(t, 0)
	l.Run("ls").Want(t, 0)
}

// On a read-only file system what only looks works, and what would change anything says why it cannot.
func TestReadOnlyLedger(t *testing.T) {
	t.Parallel()
	l := onTmpfs(t, "size=8m")
	l.Run("acquire", "--ttl", "1h", "held").Want(t, 0)
	l.Run("run", "free", "--", "true").Want(t, 0)
	holder := l.Start("run", "alive", "--", "sh", "-c", "echo yes >started; until test -e stop; do sleep 0.05; done")
	l.UntilFile("started")
	untilNoted(l)
	// The holder goes on writing where it may; everybody else sees the ledger through a mount that is read-only.
	readOnly := filepath.Join(filepath.Dir(l.Dir), "read-only")
	if err := os.Mkdir(readOnly, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(l.Dir, readOnly, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(readOnly, unix.MNT_DETACH) })
	if err := unix.Mount("", readOnly, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	writable := l
	l = l.Env("LEASE_LEDGER=" + readOnly)
	before := everything(t, l.Dir)

	l.Run("check", "held", "--token", "1").Want(t, 0)
	l.Run("check", "alive").Want(t, 0)
	l.Run("check", "free").Want(t, 1)
	l.Run("show", "held").Want(t, 0)
	if r := l.Run("show", "--json", "alive").Want(t, 0); parseRecord(t, "show", []byte(r.Stdout)).Str("verdict") != "alive" {
		t.Errorf("want the verdict alive\n%v", r)
	}
	if r := l.Run("ls").Want(t, 0); !strings.Contains(r.Stdout, "held") || !strings.Contains(r.Stdout, "alive") {
		t.Errorf("want both leases\n%v", r)
	}
	for code, commands := range map[int][][]string{
		74: {
			{"acquire", "-n", "--ttl", "1h", "free"},
			{"renew", "held", "--token", "1"},
			{"release", "held", "--token", "1"},
			{"break", "held", "--reason", "it is in the way"},
		},
		125: {{"run", "-n", "free", "--", "touch", "ran"}, {"run", "free", "--", "touch", "ran"}},
	} {
		for _, args := range commands {
			oneClearLine(t, l.Run(args...).Want(t, code), "read-only file system")
		}
	}
	same(t, before, everything(t, l.Dir))

	l.Sh("echo yes >stop").Want(t, 0)
	holder.Wait().Want(t, 0)
	writable.Run("release", "held", "--token", "1").Want(t, 0)
	writable.Run("run", "-n", "free", "--", "true").Want(t, 0)
}

// A ledger that is somebody else's, and closed, is named with its owner; it is not taken for an empty one.
func TestLedgerWithoutPermission(t *testing.T) {
	t.Parallel()
	needs(t, "root")
	l := made(t)
	l.Run("acquire", "--ttl", "1h", "held").Want(t, 0)
	before := everything(t, l.Dir)
	l.Open()
	other := l.As(65534)
	for code, commands := range map[int][][]string{
		74: {
			{"acquire", "-n", "--ttl", "1h", "free"},
			{"renew", "held", "--token", "1"},
			{"release", "held", "--token", "1"},
			{"check", "held"},
			{"show", "held"},
			{"ls"},
		},
		125: {{"run", "-n", "free", "--", "touch", "ran"}, {"fenced", "held", "--token", "1", "--", "touch", "ran"}},
	} {
		for _, args := range commands {
			r := other.Run(args...)
			if r.Code != code || r.Stdout != "" {
				t.Errorf("want exit %d and nothing on stdout\n%v", code, r)
			}
			oneClearLine(t, r, l.Dir, "permission denied")
			r.Says(t, "root")
		}
	}
	same(t, before, everything(t, l.Dir))
	l.Run("release", "held", "--token", "1").Want(t, 0)
}

// A lease that survives a power cut is transferred to a process, whose lease need not. If the tombstone of the old one cannot
// be made durable, the new lease is: otherwise the token that was given away would be current again after a power cut.
func TestTransferOfALastingLeaseSurvives(t *testing.T) {
	t.Parallel()
	needs(t, "strace")
	l := NewLedger(t)
	l.Run("acquire", "--ttl", "1h", "k").Want(t, 0)
	trace := filepath.Join(l.Work, "trace")
	l.In("strace", "-f", "-y", "-o", trace, "-e", "trace=fsync,renameat,renameat2").Run("transfer", "k", "--token", "1", "--to-pid", strconv.Itoa(os.Getpid())).Want(t, 0)
	var did []string
	for line := range strings.Lines(l.File("trace")) {
		for _, what := range []string{"fsync", "renameat"} {
			if strings.Contains(line, what) && strings.Contains(line, l.Dir+"/leases") {
				did = append(did, what)
			}
		}
	}
	if want := []string{"fsync", "renameat", "fsync"}; !slices.Equal(did, want) {
		t.Errorf("the lease was written by %v, not %v", did, want)
	}
}
