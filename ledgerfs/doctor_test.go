package ledgerfs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// shown is what an examination found, one a line.
func shown(findings []Finding) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s %s: %s [%s %s] (%s)\n", f.Level, f.Check, f.What, f.Path, f.Key, f.Hint)
	}
	return b.String()
}

// finds fails the test unless there is a finding of that check and level that says text.
func finds(t *testing.T, findings []Finding, check string, level Level, text string) Finding {
	t.Helper()
	for _, f := range findings {
		if f.Check == check && f.Level == level && strings.Contains(f.What, text) {
			return f
		}
	}
	t.Fatalf("no finding %q of %s: %q\n%s", level, check, text, shown(findings))
	return Finding{}
}

// nothingBroken fails the test if a promise does not hold.
func nothingBroken(t *testing.T, findings []Finding) {
	t.Helper()
	if slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Broken }) {
		t.Fatalf("broken\n%s", shown(findings))
	}
}

// repair repairs, and fails the test if anything could not be done.
func repair(t *testing.T, l *Ledger) []Mending {
	t.Helper()
	all := l.Repair(ctx)
	for _, m := range all {
		if m.Err != nil {
			t.Fatalf("%s: %v", m.Finding.What, m.Err)
		}
	}
	return all
}

// acquired acquires a key at once and returns its generation.
func acquired(t *testing.T, m *fslease.Manager, key string) int64 {
	t.Helper()
	lease, err := m.Acquire(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lease.Release() })
	return lease.Token()
}

func TestExamineAHealthyLedger(t *testing.T) {
	l, m := made(t)
	if _, err := m.Acquire(ctx, "repo/api", "task:42"); err != nil {
		t.Fatal(err)
	}
	released, err := m.Acquire(ctx, "other")
	if err != nil || released.Release() != nil {
		t.Fatal(err)
	}
	if _, err := m.AddTicket(ctx, "7", "", []fslease.Key{"docs"}, "ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.TicketAct(ctx, "7", fslease.Act{Verb: fslease.VerbApprove}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.StartTicket(ctx, fslease.Start{Ticket: "7"}); err != nil {
		t.Fatal(err)
	}
	before := filesBelow(t, l, ".")
	found := l.Examine(ctx, nil)
	for _, check := range []string{"ledger", "boot", "proc", "inotify", "filesystem", "space", "write", "sync", "link", "lock", "watch", "permissions", "records", "tickets", "locks", "journal", "litter"} {
		finds(t, found, check, OK, "")
	}
	for _, f := range found {
		if f.Level != OK && f.Check != "namespace" {
			t.Errorf("%+v", f)
		}
	}
	if after := filesBelow(t, l, "."); !slices.Equal(before, after) {
		t.Errorf("it left\n%v, there were\n%v", after, before)
	}
	if done := repair(t, l); len(done) > 0 {
		t.Errorf("there was nothing to repair, but %+v", done)
	}
}

func TestExamineWhatIsNoLedger(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	finds(t, opened(t, missing).Examine(ctx, nil), "ledger", OK, "there is none yet")
	if done := opened(t, missing).Repair(ctx); len(done) > 0 {
		t.Errorf("%+v", done)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a ledger was made")
	}
	empty := t.TempDir()
	finds(t, opened(t, empty).Examine(ctx, nil), "ledger", OK, "is empty")
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	finds(t, opened(t, foreign).Examine(ctx, nil), "ledger", Broken, "is not a ledger")
	if done := opened(t, foreign).Repair(ctx); len(done) > 0 {
		t.Errorf("%+v", done)
	}
	if names, err := os.ReadDir(foreign); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}

// A lock that keeps nobody out is found, whoever the second one is.
func TestExamineLocksThatKeepNobodyOut(t *testing.T) {
	l, _ := made(t)
	for text, second := range map[string]Elsewhere{
		"a second process gets a lock that is held": func(context.Context, string) (bool, error) { return true, nil },
		"not to be had":      func(context.Context, string) (bool, error) { return false, nil },
		"no locks available": func(context.Context, string) (bool, error) { return false, unix.ENOLCK },
	} {
		finds(t, l.Examine(ctx, second), "lock", Broken, text)
	}
}

// What a file system does not do is found by trying.
func TestExamineAFileSystemThatCannot(t *testing.T) {
	l, _ := made(t)
	l.fsys = cannot{l.dir}
	found := l.Examine(ctx, nil)
	finds(t, found, "sync", Broken, "cannot be synced")
	finds(t, found, "link", Broken, "cannot be made at once")
	finds(t, found, "watch", Warning, "does not tell of a rename")
}

type cannot struct{ fsys }

func (cannot) SyncDir(string) error            { return unix.EINVAL }
func (cannot) Link(string, []byte, bool) error { return unix.EOPNOTSUPP }
func (cannot) Rename(string, string) error     { return unix.EIO }

// On a network file system that is allowed much is weaker, which is said.
func TestExamineANetworkFileSystem(t *testing.T) {
	l, _ := made(t)
	l.network = "nfs"
	if f := finds(t, l.Examine(ctx, nil), "filesystem", Warning, "it is nfs, a network file system"); !strings.Contains(f.Hint, "local disk") {
		t.Errorf("%+v", f)
	}
}

// Owner and mode are those of the ledger; what strangers may change is broken, what they may read is not.
func TestExamineModes(t *testing.T) {
	for name, c := range map[string]struct {
		shared bool
		spoil  func(l *Ledger) error
		level  Level
		text   string
	}{
		"a record that everybody can write":   {false, func(l *Ledger) error { return os.Chmod(l.file("leases/k.json"), 0o666) }, Broken, "writable by users"},
		"a folder that everybody can write":   {false, func(l *Ledger) error { return os.Chmod(l.file("leases"), 0o777) }, Broken, "writable by users"},
		"readable":                            {false, func(l *Ledger) error { return os.Chmod(l.file("leases/k.json"), 0o644) }, Warning, "readable by users"},
		"unreadable":                          {false, func(l *Ledger) error { return os.Chmod(l.file("leases/k.json"), 0) }, Broken, "not usable by those"},
		"closed to the group":                 {true, func(l *Ledger) error { return os.Chmod(l.file("leases/k.json"), 0o600) }, Broken, "not usable by those"},
		"sticky":                              {true, func(l *Ledger) error { return os.Chmod(l.file("leases"), os.ModeSticky|os.ModeSetgid|0o770) }, Broken, "sticky"},
		"of somebody else":                    {false, func(l *Ledger) error { return os.Chown(l.file("leases/k.json"), 54321, -1) }, Broken, "of somebody else than"},
		"of another group":                    {true, func(l *Ledger) error { return os.Chown(l.file("leases/k.json"), -1, 54321) }, Broken, "of another group than"},
		"a file of another's in a shared one": {true, func(l *Ledger) error { return os.Chown(l.file("leases/k.json"), 54321, -1) }, OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() != 0 {
				t.Skip("not run: needs root: to give files away")
			}
			dir := filepath.Join(t.TempDir(), "ledger")
			if _, err := Init(dir, c.shared); err != nil {
				t.Fatal(err)
			}
			l := opened(t, dir)
			acquired(t, manager(t, l), "k")
			if err := c.spoil(l); err != nil {
				t.Fatal(err)
			}
			finds(t, l.Examine(ctx, nil), "permissions", c.level, c.text)
			if done := repair(t, l); len(done) == 0 && c.level != OK {
				t.Error("nothing was done")
			}
			finds(t, l.Examine(ctx, nil), "permissions", OK, "")
		})
	}
}

func TestExamineTheModeOfTheLedgerItself(t *testing.T) {
	for mode, level := range map[os.FileMode]Level{0o777: Broken, os.ModeSticky | 0o777: Warning, 0o775: Warning, 0o755: OK} {
		l, _ := made(t)
		if err := os.Chmod(l.path, mode); err != nil {
			t.Fatal(err)
		}
		finds(t, l.Examine(ctx, nil), "permissions", level, "")
	}
}

// A stopped process that has a lock of a moment is named.
func TestExamineAStoppedOwnerOfALock(t *testing.T) {
	l, _ := made(t)
	f, err := l.lockFile("locks/k.lock", true, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.unlock()
	p := helper(t, "lock", l.file("locks/k.lock"))
	if err := unix.Kill(p, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); len(stoppedOwners()) == 0 && time.Since(start) < time.Minute; {
		time.Sleep(time.Millisecond)
	}
	found := finds(t, l.Examine(ctx, nil), "locks", Warning, fmt.Sprintf("process %d, which is stopped", p))
	if found.Path != l.file("locks/k.lock") {
		t.Errorf("%+v", found)
	}
}
