package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const (
	ann    = 4711 // two users that exist by number alone
	mallet = 4712
)

func owner(t testing.TB, path string) uint32 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Uid
}

// folder makes a directory that belongs to uid.
func folder(t testing.TB, path string, mode os.FileMode, uid int) string {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, uid, uid); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// A user's ledger in which root worked once, as with sudo, still is the user's: root leaves files of the ledger's owner.
func TestLedgerUsedOnceWithSudo(t *testing.T) {
	t.Parallel()
	needs(t, "root")
	l := NewLedger(t)
	l.Open()
	folder(t, filepath.Dir(l.Dir), 0o755, ann)
	user := l.As(ann)
	user.Run("run", "task:42", "--", "true").Want(t, 0)
	l.Run("run", "task:42", "repo/api", "--", "true").Want(t, 0)
	l.Run("acquire", "--ttl", "1h", "deep/down/here").Want(t, 0)
	l.Run("acquire", "-n", "--ttl", "1h", "deep/down/here").Want(t, 75)
	for path := range everything(t, l.Dir) {
		if uid := owner(t, path); uid != ann {
			t.Errorf("%s belongs to %d, not to the ledger's owner", path, uid)
		}
	}
	user.Run("release", "deep/down/here", "--token", "1").Want(t, 0)
	user.Run("run", "-n", "deep/down/here", "--", "true").Want(t, 0)
	user.Run("run", "-n", "repo/api", "--", "true").Want(t, 0)
	if r := user.Run("acquire", "-n", "--ttl", "1h", "task:42").Want(t, 0); strings.TrimSpace(r.Stdout) != "3" {
		t.Errorf("want generation 3\n%v", r)
	}
}

// A ledger that root made for a user, by a first use with sudo, is named with its owner or just works.
func TestLedgerMadeWithSudo(t *testing.T) {
	t.Parallel()
	needs(t, "root")
	l := NewLedger(t)
	l.Open()
	folder(t, filepath.Dir(l.Dir), 0o755, ann)
	l.Run("run", "task:42", "--", "true").Want(t, 0)
	r := l.As(ann).Run("acquire", "--ttl", "1h", "task:42")
	if r.Code != 0 {
		r.Want(t, 74)
		oneClearLine(t, r, l.Dir)
		r.Says(t, "root")
	}
}

// whichLedger runs a command where dir is the working directory and nothing is named, and returns the ledger that was used.
func whichLedger(t *testing.T, l *Ledger, dir string) string {
	t.Helper()
	r := l.At(dir).Env("LEASE_LEDGER=").Run("run", "k", "--", "sh", "-c", "echo $LEASE_LEDGER").Want(t, 0)
	return strings.TrimSpace(r.Stdout)
}

// A .lease/ in a folder where everybody may write, such as /tmp, is used only if it is mine or root's and closed to others.
func TestForeignLedgerIsNotUsed(t *testing.T) {
	t.Parallel()
	needs(t, "root")
	for name, c := range map[string]struct {
		me, owner int
		mode      os.FileMode
		used      bool
	}{
		"mine":                        {ann, ann, 0o700, true},
		"mine, others may read":       {ann, ann, 0o755, true},
		"mine, others may write":      {ann, ann, 0o777, false},
		"mine, a group may write":     {ann, ann, 0o770, false},
		"mine, all but a group may":   {ann, ann, 0o707, false},
		"shared, and open to all":     {ann, ann, 0o777 | os.ModeSetgid, false},
		"shared by my group":          {ann, ann, 0o770 | os.ModeSetgid, true},
		"shared by another group":     {ann, mallet, 0o770 | os.ModeSetgid, false},
		"somebody's":                  {ann, mallet, 0o755, false},
		"somebody's, open to all":     {ann, mallet, 0o777, false},
		"somebody's, open and sticky": {ann, mallet, 0o777 | os.ModeSticky, false},
		"somebody's, and I am root":   {0, mallet, 0o755, false},
		"root's, and I am root":       {0, 0, 0o700, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			l.Open()
			home := folder(t, filepath.Join(filepath.Dir(l.Dir), "home"), 0o755, c.me)
			tmp := folder(t, filepath.Join(filepath.Dir(l.Dir), "tmp"), 0o777|os.ModeSticky, 0)
			work := folder(t, filepath.Join(tmp, "work"), 0o777, c.me)
			found := filepath.Join(tmp, ".lease")
			l.At(tmp).Run("init", "--ledger", found).Want(t, 0)
			for path := range everything(t, found) {
				if err := os.Lchown(path, c.owner, c.owner); err != nil {
					t.Fatal(err)
				}
				if info, _ := os.Lstat(path); info.IsDir() {
					os.Chmod(path, c.mode)
				}
			}
			me := l.Env("HOME=" + home)
			if c.me != 0 {
				me = me.As(uint32(c.me))
			}
			want := filepath.Join(home, ".local/state/lease")
			if c.used {
				want = found
			}
			before := everything(t, found)
			if got := whichLedger(t, me, work); got != want {
				t.Errorf("%s was used, want %s", got, want)
			}
			if !c.used {
				same(t, before, everything(t, found))
			}
		})
	}
}

// The search upward stops at the home folder: a .lease above it is none of the user's business.
func TestDiscoveryEndsAtHome(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	above := filepath.Dir(l.Dir)
	home := filepath.Join(above, "home")
	below := filepath.Join(home, "project/sub")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	l.Run("init", "--ledger", filepath.Join(above, ".lease")).Want(t, 0)
	me := l.Env("HOME=" + home)
	if got, want := whichLedger(t, me, below), filepath.Join(home, ".local/state/lease"); got != want {
		t.Errorf("%s was used, want %s", got, want)
	}
	l.Run("init", "--ledger", filepath.Join(home, ".lease")).Want(t, 0)
	if got, want := whichLedger(t, me, below), filepath.Join(home, ".lease"); got != want {
		t.Errorf("%s was used, want %s", got, want)
	}
}

// A shared ledger serves the members of its group, and files made in it are the group's, whoever made them and whatever their umask.
func TestSharedLedger(t *testing.T) {
	t.Parallel()
	needs(t, "root", "setpriv")
	const group = "4720"
	l := NewLedger(t)
	l.Open()
	as := func(uid string, groups ...string) *Ledger {
		return l.In("setpriv", "--reuid", uid, "--regid", uid, "--groups", strings.Join(append(groups, uid), ","), "sh", "-c", `umask 077; exec "$@"`, "sh")
	}
	l.Run("init", "--shared").Want(t, 0)
	for path := range everything(t, l.Dir) {
		if err := os.Lchown(path, 0, 4720); err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(l.Dir, 0o770|os.ModeSetgid)
	one, two, outsider := as("4711", group), as("4712", group), as("4713")
	one.Run("acquire", "--ttl", "1h", "repo/api").Want(t, 0)
	two.Run("acquire", "-n", "--ttl", "1h", "repo/api").Want(t, 75)
	two.Run("release", "repo/api", "--token", "1").Want(t, 0)
	two.Run("run", "-n", "repo/api", "--", "true").Want(t, 0)
	one.Run("run", "-n", "repo/api", "--", "true").Want(t, 0)
	oneClearLine(t, outsider.Run("acquire", "-n", "--ttl", "1h", "repo/api").Want(t, 74), l.Dir)
	for path := range everything(t, l.Dir) {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		want := os.FileMode(0o660)
		if info.IsDir() {
			want = 0o770 | os.ModeSetgid | os.ModeDir
		}
		if gid := info.Sys().(*syscall.Stat_t).Gid; info.Mode() != want || gid != 4720 {
			t.Errorf("%s is %v of group %d, want %v of group %s", path, info.Mode(), gid, want, group)
		}
	}
}

// Whatever the umask, a ledger is its owner's alone.
func TestModesWhateverTheUmask(t *testing.T) {
	t.Parallel()
	for _, umask := range []string{"000", "022", "077", "777"} {
		l := NewLedger(t)
		l.Sh("umask "+umask+`; lease run repo/api -- true && lease acquire --ttl 1h other && lease run -n other -- true`).Want(t, 75)
		for path := range everything(t, l.Dir) {
			info, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			want := os.FileMode(0o600)
			if info.IsDir() {
				want = 0o700 | os.ModeDir
			}
			if info.Mode() != want {
				t.Errorf("umask %s: %s is %v, want %v", umask, path, info.Mode(), want)
			}
		}
	}
}
