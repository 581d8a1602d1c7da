package githook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fslease/fslease"
)

// The test binary is the lease that the hooks find by PATH, too.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "lease" {
		os.Exit(standIn(os.Args[1:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "githook")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	templateDir = dir
	return m.Run()
}

// A fakeLedger is what the stand-in for lease reads from $FAKE_LEDGER.
type fakeLedger struct {
	Missing bool   // there is none
	Broken  string // why it cannot be read
	Held    []fakeReservation
	Own     string // own ticket
	Scope   []fslease.Key
}

type fakeReservation struct {
	Key    fslease.Key
	Ticket string // empty: a process holds it
	Mine   bool
	Broken string
}

func (f fakeLedger) Reservations(_ context.Context, prefix fslease.Key) ([]Reservation, error) {
	switch {
	case f.Missing:
		return nil, ErrNoLedger
	case f.Broken != "":
		return nil, errors.New(f.Broken)
	}
	var all []Reservation
	for _, h := range f.Held {
		kind := fslease.KindProcess
		if h.Ticket != "" {
			kind = fslease.KindTicket
		}
		r := Reservation{Lease: fslease.Record{Key: h.Key, Holder: fslease.Holder{Kind: kind, Ticket: h.Ticket}}, Mine: h.Mine}
		if h.Broken != "" {
			r.Err = errors.New(h.Broken)
		}
		if h.Key.Overlaps(prefix) {
			all = append(all, r)
		}
	}
	return all, nil
}

func (f fakeLedger) OwnTicket(context.Context) (string, []fslease.Key, error) {
	return f.Own, f.Scope, nil
}

// standIn is lease hook run NAME [--strict] ARG..., on a fake ledger. It writes what it saw to $FAKE_LOG.
func standIn(args []string) int {
	var ledger fakeLedger
	text, err := os.ReadFile(os.Getenv("FAKE_LEDGER"))
	if err == nil {
		err = json.Unmarshal(text, &ledger)
	}
	if err != nil || len(args) < 3 || args[0] != "hook" || args[1] != "run" {
		fmt.Fprintln(os.Stderr, "stand-in:", args, err)
		return 125
	}
	result := Run(context.Background(), Request{Hook: args[2], Args: args[3:], Stdin: os.Stdin, Repo: At(".", os.Environ())}, ledger)
	log := fmt.Sprintf("ran %s %s answer=%d bypassed=%v", args[2], strings.Join(args[3:], " "), result.Answer, result.Bypassed())
	f, err := os.OpenFile(os.Getenv("FAKE_LOG"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 125
	}
	defer f.Close()
	fmt.Fprintln(f, log)
	if result.Bypassed() {
		return 0 // and in the journal
	}
	for _, refusal := range result.Refusals {
		switch {
		case refusal.Outside:
			fmt.Fprintf(os.Stderr, "lease: outside the scope of %q\n", result.Ticket)
		default:
			fmt.Fprintf(os.Stderr, "lease: %s reserved by %q\n", refusal.Lease.Key, refusal.Lease.Holder.Ticket)
		}
		for _, c := range refusal.Changes {
			fmt.Fprintf(os.Stderr, "lease:   %s %s\n", Escape(c.Path), c.Commit)
		}
	}
	if result.Err != nil {
		fmt.Fprintln(os.Stderr, "lease: cannot tell:", result.Err)
	}
	switch {
	case !result.Refused():
		return 0
	case result.Answer == Refuse:
		return 1
	}
	return 74
}

// A world is a directory with a git of its own: nothing of the machine's configuration counts in it.
type world struct {
	t      testing.TB
	dir    string
	env    []string
	ledger fakeLedger
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir}
	w.env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "LEASE_") || strings.HasPrefix(v, "XDG_")
	})
	w.setenv("HOME", dir)
	w.setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
	w.setenv("GIT_CONFIG_GLOBAL", filepath.Join(dir, "global"))
	w.setenv("GIT_CONFIG_SYSTEM", filepath.Join(dir, "system"))
	w.setenv("FAKE_LEDGER", filepath.Join(dir, "ledger"))
	w.setenv("FAKE_LOG", filepath.Join(dir, "log"))
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		w.setenv("GIT_"+who+"_NAME", "Ann")
		w.setenv("GIT_"+who+"_EMAIL", "ann@example.org")
	}
	w.write("system", "")
	w.write("global", "[init]\ndefaultBranch = main\ntemplateDir = ~/template\n[protocol \"file\"]\nallow = always\n[advice]\ndetachedHead = false\n[gc]\nauto = 0\n[maintenance]\nauto = false\n[receive]\nautogc = false\n[core]\neditor = true\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"bin", "template/hooks"} { // of what git copies into a new repository only this
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(self, filepath.Join(dir, "bin", "lease")); err != nil {
		t.Fatal(err)
	}
	w.hold()
	return w
}

func (w *world) setenv(name, value string) { w.env = append(w.env, name+"="+value) }

// write writes a file of the world.
func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	alone(func() {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			w.t.Fatal(err)
		}
	})
}

// alone runs f, which writes a file that is executed later, while no other test starts a process: between
// fork and exec the child would have the file open for writing, and executing it would fail.
func alone(f func()) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	f()
}

func (w *world) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return string(text)
}

// hold makes held the whole content of the ledger.
func (w *world) hold(held ...fakeReservation) {
	w.t.Helper()
	w.ledger.Held = held
	w.saveLedger()
}

func (w *world) saveLedger() {
	w.t.Helper()
	text, err := json.Marshal(w.ledger)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write("ledger", string(text))
}

// try runs a shell script in a directory of the world, and returns what it printed and its exit status.
func (w *world) try(dir, script string) (string, int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute) // only against hanging
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", script)
	cmd.Dir, cmd.Env = filepath.Join(w.dir, dir), w.env
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return string(out), 0
}

// do runs a shell script that must succeed.
func (w *world) do(dir, script string) string {
	w.t.Helper()
	out, code := w.try(dir, script)
	if code != 0 {
		w.t.Fatalf("%s\nexit status %d:\n%s", script, code, out)
	}
	return out
}

func (w *world) repo(dir string) Repo { return At(filepath.Join(w.dir, dir), w.env) }

// install installs our hooks.
func (w *world) install(dir string) Plan {
	w.t.Helper()
	plan, err := Install(w.t.Context(), w.repo(dir))
	if err == nil {
		alone(func() { err = plan.Do() })
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return plan
}

// base makes r and there, clones of origin.git with api/handler.go and docs/guide.md in a first commit, and the
// empty mirror.git. The hooks are in place in r, and the ticket 42 of somebody else has repo/api.
func (w *world) base() {
	w.t.Helper()
	template.Do(func() {
		made := *w
		made.dir = templateDir
		made.makeBase("")
	})
	alone(func() {
		if err := os.CopyFS(w.dir, os.DirFS(templateDir)); err != nil {
			w.t.Fatal(err)
		}
	})
	w.hold(others("repo/api")...)
}

// What base copies is made once: starting git is what takes the time.
var (
	template    sync.Once
	templateDir string
)

// makeBase makes what base says.
func (w *world) makeBase(initOptions string) {
	w.t.Helper()
	w.do(".", `git init -q `+initOptions+` first; cd first; mkdir api docs; seq 20 >api/handler.go; seq 20 >docs/guide.md; git add .; git commit -qm base
		cd ..; git clone -q --bare first origin.git; rm -rf first; git init -q --bare `+initOptions+` mirror.git
		for c in r there; do git clone -q origin.git $c; git -C $c remote set-url origin ../origin.git; done`)
	w.install("r")
}

// others is a reservation by somebody else's ticket.
func others(keys ...fslease.Key) []fakeReservation {
	var held []fakeReservation
	for _, k := range keys {
		held = append(held, fakeReservation{Key: k, Ticket: "42"})
	}
	return held
}
