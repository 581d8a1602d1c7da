package main_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// notFiles makes, at a path, what may stand there by mistake or by malice. Elsewhere is a path outside the ledger.
var notFiles = map[string]func(t *testing.T, path, elsewhere string) error{
	"symlink": func(t *testing.T, path, elsewhere string) error {
		if err := os.WriteFile(elsewhere, goldenFile(t, "good/lease.json"), 0o600); err != nil {
			return err
		}
		return os.Symlink(elsewhere, path)
	},
	"dangling symlink": func(t *testing.T, path, elsewhere string) error { return os.Symlink(elsewhere, path) },
	"fifo":             func(t *testing.T, path, elsewhere string) error { return unix.Mkfifo(path, 0o600) },
	"directory":        func(t *testing.T, path, elsewhere string) error { return os.Mkdir(path, 0o700) },
	"device": func(t *testing.T, path, elsewhere string) error {
		needs(t, "root")
		return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 5))) // like /dev/zero, which never ends
	},
	"socket": func(t *testing.T, path, elsewhere string) error {
		return unix.Mknod(path, unix.S_IFSOCK|0o600, 0)
	},
}

// everything lists the content of a folder, of whatever kind, by path: mode and, of files, content.
func everything(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := ""
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(b)
		}
		found[path] = info.Mode().String() + content
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Where a file of the ledger should be and something else is, it is refused: not followed, not waited for, not replaced.
func TestNotAFile(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"leases/repo/api.json", "tombstones/repo/api.json", "locks/repo/api.lock", "locks/repo/api.fence", "locks/repo.lock", "locks/repo.fence", "ledger.json"} {
		for kind, placeIt := range notFiles {
			t.Run(place+" is a "+kind, func(t *testing.T) {
				t.Parallel()
				l := made(t)
				l.Run("run", "repo/api", "--", "true").Want(t, 0) // all folders are made
				path := filepath.Join(l.Dir, place)
				if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				outside := t.TempDir()
				if err := placeIt(t, path, filepath.Join(outside, "elsewhere")); err != nil {
					t.Fatal(err)
				}
				before, target := kindOf(t, path), everything(t, outside)

				r := l.Run("run", "-n", "repo/api", "--", "touch", "ran").Want(t, 125)
				oneClearLine(t, r, place)
				r = l.Run("run", "repo/api", "--", "touch", "ran").Want(t, 125)
				oneClearLine(t, r, place)
				r = l.Run("acquire", "-n", "--ttl", "1h", "repo/api").Want(t, 74)
				oneClearLine(t, r, place)
				for _, args := range [][]string{{"show", "repo/api"}, {"check", "repo/api"}, {"ls"}} {
					if r := l.Run(args...); r.Code == 0 && filepath.Ext(place) == ".json" && r.Stdout != "" {
						t.Errorf("read through it\n%v", r)
					}
				}
				if filepath.Dir(place) == "leases/repo" {
					l.Run("check", "repo/api").Want(t, 74)
					l.Run("show", "repo/api").Want(t, 74)
				}
				if place != "ledger.json" && place != "locks/repo.lock" && place != "locks/repo.fence" {
					l.Run("run", "-n", "repo/web", "--", "true").Want(t, 0)
				}

				if now := kindOf(t, path); now != before {
					t.Errorf("what stood there was %v and is %v", before, now)
				}
				same(t, target, everything(t, outside))
				if _, err := os.Stat(filepath.Join(l.Work, "ran")); err == nil {
					t.Error("the command was started")
				}
			})
		}
	}
}

func kindOf(t testing.TB, path string) uint32 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Mode & syscall.S_IFMT
}

func same(t testing.TB, before, after map[string]string) {
	t.Helper()
	for path, was := range before {
		if now, ok := after[path]; !ok {
			t.Errorf("%s is gone", path)
		} else if now != was {
			t.Errorf("%s was %.200q and is %.200q", path, was, now)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%s is new", path)
		}
	}
}

// A symlink where a folder of the ledger should be is not followed, whatever it points to, nor is a file taken for one.
func TestNotAFolder(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"leases", "tombstones", "locks", "holders", "leases/repo", "tombstones/repo", "locks/repo"} {
		for _, kind := range []string{"symlink", "dangling symlink", "file", "fifo"} {
			t.Run(place+" is a "+kind, func(t *testing.T) {
				t.Parallel()
				l := made(t)
				l.Run("run", "repo/api", "--", "true").Want(t, 0)
				path, outside := filepath.Join(l.Dir, place), t.TempDir()
				elsewhere := filepath.Join(outside, "elsewhere")
				var err error
				if kind == "symlink" {
					err = os.Rename(path, elsewhere)
				} else {
					err = os.RemoveAll(path)
				}
				if err == nil {
					switch kind {
					case "file":
						err = os.WriteFile(path, []byte("a note\n"), 0o600)
					case "fifo":
						err = unix.Mkfifo(path, 0o600)
					default:
						err = os.Symlink(elsewhere, path)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				before, target := kindOf(t, path), everything(t, outside)

				r := l.Run("run", "-n", "repo/api", "--", "touch", "ran").Want(t, 125)
				oneClearLine(t, r, place)
				r = l.Run("run", "repo/api", "--", "touch", "ran").Want(t, 125)
				oneClearLine(t, r, place)
				r = l.Run("acquire", "-n", "--ttl", "1h", "repo/api").Want(t, 74)
				oneClearLine(t, r, place)
				l.Run("ls")
				l.Run("show", "repo/api")

				if now := kindOf(t, path); now != before {
					t.Errorf("what stood there was %v and is %v", before, now)
				}
				same(t, target, everything(t, outside))
				if _, err := os.Stat(filepath.Join(l.Work, "ran")); err == nil {
					t.Error("the command was started")
				}
			})
		}
	}
}

// History is a hint, not a condition: where the journal cannot be kept the lease can, and nothing is written through a link.
func TestJournalElsewhere(t *testing.T) {
	t.Parallel()
	l := made(t)
	outside := t.TempDir()
	if err := os.RemoveAll(filepath.Join(l.Dir, "journal")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(l.Dir, "journal")); err != nil {
		t.Fatal(err)
	}
	l.Run("run", "task:42", "--", "true")
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("written through the link: %v %v", entries, err)
	}
}

// Locks below a folder that is a link are nobody's: who has a token changes nothing under them either.
func TestLinkedLocksProtectNothing(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"locks", "locks/repo"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			l := made(t)
			token := l.Run("acquire", "--ttl", "1h", "repo/api").Want(t, 0).Stdout
			path, elsewhere := filepath.Join(l.Dir, place), filepath.Join(t.TempDir(), "elsewhere")
			if err := errors.Join(os.Rename(path, elsewhere), os.Symlink(elsewhere, path)); err != nil {
				t.Fatal(err)
			}
			before := everything(t, l.Dir)
			for _, args := range [][]string{
				{"renew", "repo/api", "--token", strings.TrimSpace(token)},
				{"release", "repo/api", "--token", strings.TrimSpace(token)},
				{"break", "repo/api", "--reason", "test"},
				{"acquire", "--ttl", "1h", "repo/web"},
			} {
				oneClearLine(t, l.Run(args...).Want(t, 74), place)
			}
			same(t, before, everything(t, l.Dir))
		})
	}
}
