package cli

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fslease/fslease"
	"fslease/hostproc"
	"fslease/ledgerfs"
)

// A hookWorld is a repository with api/a and docs/a in its first commit, the working directory, and a ledger.
type hookWorld struct {
	t      *testing.T
	ledger string
	leases *fslease.Manager
}

func newHookWorld(t *testing.T) *hookWorld {
	t.Helper()
	dir := t.TempDir()
	w := &hookWorld{t: t, ledger: filepath.Join(dir, "ledger")}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "LEASE_") || strings.HasPrefix(name, "GIT_") {
			t.Setenv(name, "") // so that it is put back
			os.Unsetenv(name)
		}
	}
	t.Setenv("HOME", dir)
	t.Setenv("LEASE_LEDGER", w.ledger)
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "Ann")
		t.Setenv("GIT_"+who+"_EMAIL", "ann@example.org")
	}
	t.Chdir(dir)
	w.git("init", "-q", "-b", "main", "r")
	t.Chdir("r")
	w.stage("api/a", "docs/a")
	w.git("commit", "-qm", "base")

	processes := hostproc.New()
	l, err := ledgerfs.Open(w.ledger, ledgerfs.Options{Processes: processes})
	if err != nil {
		t.Fatal(err)
	}
	if w.leases, err = fslease.NewManager(l, fslease.Options{Kin: processes.Kin}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *hookWorld) git(args ...string) string {
	w.t.Helper()
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// stage makes a change to each path and stages it.
func (w *hookWorld) stage(paths ...string) {
	w.t.Helper()
	for _, p := range paths {
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			w.t.Fatal(err)
		}
		before, _ := os.ReadFile(p)
		if err := os.WriteFile(p, append(before, 'x', '\n'), 0o644); err != nil {
			w.t.Fatal(err)
		}
		w.git("add", p)
	}
}

// start adds, approves and starts a ticket, and returns its token.
func (w *hookWorld) start(id string, bound *fslease.Holder, scope ...fslease.Key) string {
	w.t.Helper()
	ctx := w.t.Context()
	_, err := w.leases.AddTicket(ctx, id, "", scope, "ann")
	if err == nil {
		_, err = w.leases.TicketAct(ctx, id, fslease.Act{Verb: fslease.VerbApprove, By: "ann"})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := w.leases.StartTicket(ctx, fslease.Start{Ticket: id, Bound: bound, By: "ann"})
	if err != nil {
		w.t.Fatal(err)
	}
	return strconv.FormatInt(s.Generation, 10)
}

func (w *hookWorld) act(id string, verb fslease.Verb, token string) {
	w.t.Helper()
	n, _ := strconv.ParseInt(token, 10, 64)
	if _, err := w.leases.TicketAct(w.t.Context(), id, fslease.Act{Verb: verb, Token: n, By: "ann"}); err != nil {
		w.t.Fatal(err)
	}
}

// lease runs a command line and returns what it wrote and its exit code.
func (w *hookWorld) lease(args ...string) (stdout, stderr string, code int) {
	w.t.Helper()
	var files [2]*os.File
	for i := range files {
		f, err := os.CreateTemp(w.t.TempDir(), "")
		if err != nil {
			w.t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	c := &call{stdout: files[0], stderr: files[1]}
	err := c.run(args)
	code = c.exit
	if err != nil {
		code = c.fail(err)
	}
	var text [2]string
	for i, f := range files {
		data, err := os.ReadFile(f.Name())
		if err != nil {
			w.t.Fatal(err)
		}
		text[i] = string(data)
	}
	return text[0], text[1], code
}

// preCommit checks the answer of the hook, and that it says so.
func (w *hookWorld) preCommit(code int, says string, options ...string) string {
	w.t.Helper()
	stdout, stderr, got := w.lease(append([]string{"hook", "run", "pre-commit"}, options...)...)
	if got != code || stdout != "" || !strings.Contains(stderr, says) || says == "" && stderr != "" {
		w.t.Errorf("pre-commit %v: exit code %d, want %d, saying %q:\n%s%s", options, got, code, says, stdout, stderr)
	}
	return stderr
}

const reserved = "lease: resource scope reserved by 42: repo/api\n"

func TestHookTicket(t *testing.T) {
	w := newHookWorld(t)
	token := w.start("42", nil, "repo/api", "terminal-1")
	w.preCommit(0, "")
	w.stage("docs/a")
	w.preCommit(0, "")
	w.stage("api/a")
	stderr := w.preCommit(1, reserved)
	for _, says := range []string{"repo/api is reserved by ticket 42 (IN_PROGRESS) since 20", "lease:   api/a\n", "hint: lease wait repo/api", "LEASE_TICKET=42", "git commit --no-verify"} {
		if !strings.Contains(stderr, says) {
			t.Errorf("it does not say %q:\n%s", says, stderr)
		}
	}

	w.act("42", fslease.VerbBlock, token)
	w.preCommit(1, "reserved by ticket 42 (BLOCKED)")
	w.act("42", fslease.VerbDone, "0")
	w.preCommit(0, "")
}

func TestHookJSON(t *testing.T) {
	w := newHookWorld(t)
	w.start("42", nil, "repo/api")
	w.stage("api/a")
	_, stderr, code := w.lease("--json", "hook", "run", "pre-commit")
	var said struct {
		Error struct {
			Kind, Message, Hint, Key string
			Holder                   struct{ Ticket string }
		}
	}
	if err := json.Unmarshal([]byte(stderr), &said); err != nil {
		t.Fatal(err)
	}
	e := said.Error
	if code != 1 || e.Kind != "held" || e.Key != "repo/api" || e.Holder.Ticket != "42" || e.Hint == "" || !strings.HasPrefix(e.Message, "resource scope reserved by 42: repo/api\n") || !strings.Contains(e.Message, "api/a") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestHookMine(t *testing.T) {
	self, err := hostproc.New().Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	self.ID = ledgerfs.NewHolderID()
	w := newHookWorld(t)
	token := w.start("42", nil, "repo/api")
	w.start("43", nil, "repo/docs")
	w.stage("api/a")

	for _, env := range [][]string{
		{"LEASE_TICKET=42", "LEASE_TOKEN=" + token},
		{"LEASE_TICKET=42", "LEASE_KEYS=ticket:42=" + token, "LEASE_TOKEN=99"},
		{"LEASE_KEYS=repo/api=1"},
	} {
		w.under(env, func() { w.preCommit(0, "") })
	}
	for _, env := range [][]string{
		{"LEASE_TICKET=42"},
		{"LEASE_TICKET=42", "LEASE_TOKEN=99"},
		{"LEASE_TICKET=42", "LEASE_TOKEN=x"},
		{"LEASE_TICKET=42", "LEASE_KEYS=ticket:42=99", "LEASE_TOKEN=" + token},
		{"LEASE_TICKET=43", "LEASE_TOKEN=" + token},
		{"LEASE_TICKET=no/id", "LEASE_TOKEN=" + token},
		{"LEASE_KEYS=repo/api=99"},
		{"LEASE_KEYS=repo=1"},
	} {
		w.under(env, func() { w.preCommit(1, reserved) })
	}
	w.preCommit(0, "", "--as", "42")
	w.preCommit(1, reserved, "--as", "43")
	w.preCommit(64, "there is no ticket 44", "--as", "44")
	w.preCommit(64, "--as", "--as", "4/4")

	// A session that is bound to a process above git.
	w = newHookWorld(t)
	w.start("42", &self, "repo/api")
	w.stage("api/a")
	w.preCommit(0, "")
	w.preCommit(0, "", "--strict")

	// A key that such a process holds, and one of a stranger.
	w = newHookWorld(t)
	for key, pid := range map[string]int{"repo/api": os.Getpid(), "repo/docs": stranger(t)} {
		if _, stderr, code := w.lease("acquire", "--pid", strconv.Itoa(pid), key); code != 0 {
			t.Fatal(stderr)
		}
	}
	w.stage("api/a")
	w.preCommit(0, "")
	w.stage("docs/a")
	w.preCommit(1, "lease: repo/docs is held by ")
}

// under runs f with variables in the environment.
func (w *hookWorld) under(env []string, f func()) {
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
		defer os.Unsetenv(name)
	}
	f()
}

// stranger starts a process that is no ancestor of ours.
func stranger(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd.Process.Pid
}

func TestHookStrict(t *testing.T) {
	w := newHookWorld(t)
	w.stage("docs/a")
	w.git("config", "lease.strict", "true")
	w.preCommit(0, "") // no ledger at all
	token := w.start("42", nil, "repo/api")
	w.preCommit(1, "lease: no ticket of yours declares:\nlease:   docs/a (repo/docs/a)\n")
	w.under([]string{"LEASE_TICKET=42", "LEASE_TOKEN=" + token}, func() {
		w.preCommit(1, "lease: the scope of your ticket 42 does not have:\nlease:   docs/a (repo/docs/a)\n")
		w.git("restore", "--staged", "docs")
		w.stage("api/a")
		w.preCommit(0, "")
	})
	w.git("config", "lease.strict", "false")
	w.stage("docs/a")
	w.preCommit(1, "docs/a (repo/docs/a)", "--strict", "--as", "42")
}

func TestHookCannotTell(t *testing.T) {
	damage := func(w *hookWorld, file, text string) {
		w.t.Helper()
		path := filepath.Join(w.ledger, file)
		if _, err := os.Stat(path); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	w := newHookWorld(t)
	w.start("42", nil, "repo/api", "repo/a b")
	w.stage("docs/a")
	damage(w, "leases/repo/api.json", "{")
	w.preCommit(0, "") // not in the way
	w.stage("api/a")
	w.preCommit(74, "leases/repo/api.json")
	damage(w, "leases/repo/api.json", `{"schema": 2, "key": "repo/api"}`)
	w.preCommit(74, "pre-commit cannot tell")
	w.git("config", "lease.onError", "allow")
	w.preCommit(0, "pre-commit cannot tell")
	w.git("config", "--unset", "lease.onError")
	w.git("restore", "--staged", "api")
	damage(w, "leases/repo/a%20b.json", "")
	w.stage("a b/c")
	w.preCommit(74, "leases/repo/a%20b.json")

	for file, text := range map[string]string{"ledger.json": "{}", "tickets/42.json": "x"} {
		w := newHookWorld(t)
		w.start("42", nil, "repo/api")
		w.stage("api/a")
		damage(w, file, text)
		w.preCommit(74, file)
	}
	for _, file := range []string{"ledger.json", "leases/repo/api.json"} { // not a file
		w := newHookWorld(t)
		w.start("42", nil, "repo/api")
		w.stage("api/a")
		path := filepath.Join(w.ledger, file)
		if err := errors.Join(os.Remove(path), os.Symlink("elsewhere", path)); err != nil {
			t.Fatal(err)
		}
		w.preCommit(74, file)
	}
	w = newHookWorld(t)
	w.stage("api/a")
	if err := os.MkdirAll(filepath.Join(w.ledger, "else"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.preCommit(74, "is not a ledger")
}

func TestHookBypass(t *testing.T) {
	w := newHookWorld(t)
	w.start("42", nil, "repo/api")
	w.stage("docs/a")
	run := func() {
		t.Helper()
		if stdout, stderr, code := w.lease("hook", "run", "prepare-commit-msg", ".git/COMMIT_EDITMSG", "message"); code != 0 || stdout+stderr != "" {
			t.Errorf("exit code %d: %s%s", code, stdout, stderr)
		}
	}
	run()
	if events := w.bypasses(); len(events) != 0 {
		t.Errorf("nothing was bypassed, but %v", events)
	}
	w.stage("api/a", "api/b\nc")
	run()
	events := w.bypasses()
	if len(events) != 1 || events[0].Key != "repo/api" || events[0].By.PID != int64(os.Getpid()) || events[0].Reason != `ticket 42 has it; committed: api/a, api/b\x0ac` {
		t.Errorf("noted: %+v", events)
	}
	w.git("config", "lease.strict", "true")
	w.stage(strings.Repeat(strings.Repeat("d", 200)+"/", 6) + "x")
	run()
	if events := w.bypasses(); len(events) != 3 {
		t.Errorf("noted: %+v", events)
	}
}

// bypasses returns the events of the journal that note a bypass.
func (w *hookWorld) bypasses() []fslease.Event {
	w.t.Helper()
	l, err := ledgerfs.Open(w.ledger, ledgerfs.Options{Processes: hostproc.New()})
	if err != nil {
		w.t.Fatal(err)
	}
	var found []fslease.Event
	_, err = l.Journal(w.t.Context(), ledgerfs.Filter{}, false, func(e fslease.Event) error {
		if e.Event == eventBypass {
			found = append(found, e)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func TestScopeCheck(t *testing.T) {
	w := newHookWorld(t)
	w.git("tag", "base")
	w.stage("docs/a")
	w.git("commit", "-qm", "docs")
	commit := strings.TrimSpace(w.git("rev-parse", "HEAD"))
	w.stage("api/a", "x\ty")
	check := func(want string, code int, args ...string) {
		t.Helper()
		stdout, stderr, got := w.lease(append([]string{"scope", "check"}, args...)...)
		if got != code || stdout != want {
			t.Errorf("scope check %v: exit code %d, want %d:\n%s%s", args, got, code, stdout, stderr)
		}
	}
	check("", 64)
	check("", 64, "--ticket", "42")
	w.start("42", nil, "repo/api", "repo/web", "terminal-1")
	token := w.start("43", nil, "repo/docs", `repo/x\x09y`)
	check("", 64, "--ticket", "44")
	check("", 64, "--ticket", "42", "--base", "nowhere")
	check("outside\trepo/docs/a\tdocs/a\t"+commit+"\noutside\trepo/x\\x09y\tx\\x09y\t\nuntouched\trepo/web\t\t\n", 1, "--ticket", "42", "--base", "base")
	check("outside\trepo/x\\x09y\tx\\x09y\t\nuntouched\trepo/web\t\t\n", 1, "--ticket", "42")
	w.under([]string{"LEASE_TICKET=43", "LEASE_TOKEN=" + token}, func() {
		check("outside\trepo/api/a\tapi/a\t\nuntouched\trepo/docs\t\t\n", 1)
		w.git("restore", "--staged", "--worktree", "api")
		check("untouched\trepo/docs\t\t\n", 0)
		check(`{"ticket":"43","outside":[],"untouched":["repo/docs"]}`+"\n", 0, "--json")
	})
}
