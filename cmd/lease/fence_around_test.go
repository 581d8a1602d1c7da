package main_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// What the environment says of leases is said of the ledger that it names. In another one the same keys and tokens are
// those of somebody else, who is not joined, nor taken for the caller.
func TestTokensOfAnotherLedgerMeanNothing(t *testing.T) {
	t.Parallel()
	ticket := func(l *Ledger) {
		l.Run("ticket", "add", "42", "--scope", "repo").Want(l.t, 0)
		l.Run("ticket", "approve", "42").Want(l.t, 0)
	}
	hold := func(l *Ledger, argv ...string) {
		l.Start(append(argv, "--", "sh", "-c", "echo $$ >holder; while ! test -e done; do sleep .05; done")...)
		l.UntilPid("holder")
	}
	for name, c := range map[string]struct {
		stage func(l *Ledger) // what is held in the ledger
		outer []string        // in another one
		inner string          // in this one
		codes []int
	}{
		"reentrant":         {func(l *Ledger) { hold(l, "run", "k") }, []string{"run", "k"}, "run -n --reentrant k -- touch ran", []int{75}},
		"reentrant, below":  {func(l *Ledger) { hold(l, "run", "k") }, []string{"run", "k"}, "run -n --reentrant k/sub -- touch ran", []int{75}},
		"scope of a ticket": {func(l *Ledger) { ticket(l); hold(l, "run", "--ticket", "42") }, []string{"run", "--ticket", "42"}, "run -n repo -- touch ran", []int{75}},
		"token of a ticket": {func(l *Ledger) { ticket(l); hold(l, "run", "--ticket", "42") }, []string{"run", "--ticket", "42"}, "ticket done 42", []int{64, 76}},
		"is not one's own":  {func(l *Ledger) { hold(l, "run", "k") }, []string{"run", "k"}, "run --wait 100ms k -- touch ran", []int{75}},
		"fenced waits": {func(l *Ledger) {
			l.Run("acquire", "--ttl", "1h", "k").Want(l.t, 0)
			hold(l, "fenced", "k", "--token", "1")
		}, []string{"run", "k"}, "", nil},
		"both are free here": {func(*Ledger) {}, []string{"run", "k"}, `run k -- sh -c 'test "$LEASE_KEYS" = k=1 && lease check k --token 1'`, []int{0}},
	} {
		for how, lease := range map[string]func(dir string) string{
			"option":      func(dir string) string { return "lease --ledger " + dir },
			"environment": func(dir string) string { return "LEASE_LEDGER=" + dir + " lease" },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				here, other := NewLedger(t), NewLedger(t)
				lease := lease(shellQuote(here.Dir))
				c.stage(here)
				if strings.Contains(c.outer[1], "ticket") {
					ticket(other)
				}
				if c.inner == "" { // it is to wait, and to run when the other one has ended
					inner := other.Start(append(c.outer, "--", "sh", "-c", "cd "+shellQuote(here.Work)+" && "+lease+" fenced k --token 1 -- sh -c 'echo $$ >second'")...)
					inner.UntilStderr("still kept by")
					if here.File("second") != "" {
						t.Fatal("two work at once")
					}
					here.Sh("echo >done").Want(t, 0)
					inner.Wait().Want(t, 0)
					return
				}
				r := other.Run(append(c.outer, "--", "sh", "-c", "cd "+shellQuote(here.Work)+" && "+lease+" "+c.inner+"; echo $? >code")...)
				code, _ := strconv.Atoi(strings.TrimSpace(here.File("code")))
				if !slices.Contains(c.codes, code) || here.File("ran") != "" || strings.Contains(r.Stderr, "itself") {
					t.Errorf("want one of %v, got %d\n%v", c.codes, code, r)
				}
			})
		}
	}
}

func shellQuote(s string) string { return "'" + s + "'" }

// LEASE_KEYS names a lease also to what was left behind by work that has given up its fence. Who works under the token
// again takes the fence again, so that a successor waits.
func TestFenceThatWasGivenUpIsTakenAgain(t *testing.T) {
	t.Parallel()
	const work = `sh -c "echo \$\$ >work; while ! test -e done; do sleep .05; done; echo yes >worked"`
	for name, c := range map[string]struct {
		stage   func(l *Ledger)
		release []string
	}{
		"fenced": {func(l *Ledger) {
			l.Run("acquire", "--ttl", "300s", "k").Want(l.t, 0)
			l.Run("fenced", "k", "--token", "1", "--", "sh", "-c", `setsid sh -c 'while ! test -e go; do sleep .05; done; lease fenced k --token 1 -- `+work+`' & exit 0`).Want(l.t, 0)
		}, []string{"release", "k", "--token", "1"}},
		"scope of a ticket": {func(l *Ledger) {
			l.Run("ticket", "add", "7", "--scope", "k").Want(l.t, 0)
			l.Run("ticket", "approve", "7").Want(l.t, 0)
			l.Run("run", "--ticket", "7", "--then", "keep", "--", "sh", "-c", `setsid sh -c 'while ! test -e go; do sleep .05; done; lease run k -- `+work+`' & exit 0`).Want(l.t, 0)
		}, []string{"ticket", "done", "7", "--token", "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			c.stage(l)
			l.Sh("echo >go").Want(t, 0)
			pid := l.UntilPid("work")
			l.Run(c.release...).Want(t, 0)
			l.Run("run", "-n", "k", "--", "touch", "ran").Want(t, 75).Says(t, strconv.Itoa(pid))
			next := startRun(l, "k", pid)
			next.UntilStderr(strconv.Itoa(pid))
			notYet(t, l)
			l.Sh("echo >done").Want(t, 0)
			ranAlone(t, l, next)
			if l.File("worked") == "" {
				t.Error("the successor did not wait")
			}
		})
	}
}

// A command whose lease was taken away asks for its key. Whoever has the key now waits for that command's end, so it is
// refused at once: it would wait for ever.
func TestLostCommandIsRefusedItsKey(t *testing.T) {
	needs(t, "python3")
	const wait = `while ! test -e lost; do sleep .05; done; `
	for name, inner := range map[string]string{
		"run":                "lease run k -- true",
		"reentrant":          "lease run --reentrant k -- true",
		"reentrant, below":   "lease run --reentrant k/sub -- true",
		"above":              "lease run repo -- true",
		"acquire":            "lease acquire --ttl 5s k",
		"wait":               "lease wait k",
		"descriptors closed": `python3 -c 'import os, subprocess; os.closerange(3, 4096); raise SystemExit(subprocess.call(["lease", "run", "k", "--", "true"]))'`,
	} {
		key := "k"
		if name == "above" {
			key = "repo/api"
		}
		for how, lose := range map[string]func(l *Ledger, run *Process){
			"killed": func(_ *Ledger, run *Process) { run.Kill() },
			"broken": func(l *Ledger, _ *Process) { l.Run("break", key, "--reason", "test").Want(l.t, 0) },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				l := NewLedger(t)
				run := l.Start("run", "--on-lost", "ignore", key, "--", "sh", "-c", `echo $$ >command; `+wait+inner+` 2>said; echo "code $?" >code`)
				command := l.UntilPid("command")
				untilNoted(l)
				lose(l, run)
				next := startRun(l, key, command)
				next.UntilStderr(strconv.Itoa(command))
				l.Sh("echo >lost").Want(t, 0)
				l.UntilFile("code")
				if code, said := l.File("code"), l.File("said"); !strings.HasPrefix(code, "code 75") || !strings.Contains(said, "would wait for each other") || !strings.Contains(said, "hint: let this command end") {
					t.Errorf("%s%s", code, said)
				}
				next.Wait().Want(t, 0)
			})
		}
	}
}

// A command that closed the fence it inherited is waited for also where it holds its key itself, and where the key is not
// its wrapper's.
func TestUnfencedCommandIsWaitedForUnderAnyForm(t *testing.T) {
	needs(t, "python3")
	for name, stage := range map[string]func(l *Ledger){ // it starts the command and takes its key away
		"exec": func(l *Ledger) {
			l.Start("run", "--exec", "k", "other", "--", "python3", "-c", closedFence)
			l.UntilPid("command")
			l.Run("break", "k", "--reason", "test").Want(l.t, 0)
			l.Run("break", "other", "--reason", "test").Want(l.t, 0)
		},
		"fenced": func(l *Ledger) {
			l.Run("acquire", "--ttl", "300s", "k").Want(l.t, 0)
			run := l.Start("fenced", "k", "--token", "1", "--", "python3", "-c", closedFence)
			untilOrphan(l)
			run.Kill()
			l.Run("release", "k", "--token", "1").Want(l.t, 0)
		},
		"scope of a ticket": func(l *Ledger) {
			l.Run("ticket", "add", "8", "--scope", "k").Want(l.t, 0)
			l.Run("ticket", "approve", "8").Want(l.t, 0)
			token := strings.TrimSpace(l.Run("ticket", "start", "8").Want(l.t, 0).Stdout)
			run := l.Env("LEASE_TICKET=8", "LEASE_TOKEN="+token).Start("run", "k", "--", "python3", "-c", closedFence)
			untilOrphan(l)
			run.Kill()
			l.Run("ticket", "done", "8", "--token", token).Want(l.t, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			stage(l)
			command := l.UntilPid("command")
			next := startRun(l, "k", command)
			next.UntilStderr(fmt.Sprintf("pid %d", command))
			notYet(t, l)
			if name == "exec" {
				l.Run("run", "-n", "other", "--", "true").Want(t, 75).Says(t, strconv.Itoa(command))
			}
			if err := syscall.Kill(command, 0); err != nil {
				t.Fatalf("the command was ended: %v", err)
			}
			l.End(command)
			ranAlone(t, l, next)
			if n := orphans(l); n > 1 || name != "exec" && n > 0 { // that of the other key goes with the next that takes it
				t.Errorf("%d notes are left", n)
			}
		})
	}
}

// untilOrphan waits until a command that is not its holder's is noted.
func untilOrphan(l *Ledger) {
	l.t.Helper()
	l.UntilPid("command")
	l.until("the command is noted", func() bool { return orphans(l) > 0 })
}

// A fenced command that ends takes its note with it.
func TestFencedLeavesNoNote(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	wantGrant(t, l.Run("acquire", "--ttl", "300s", "k"), "1")
	l.Run("fenced", "k", "--token", "1", "--", "sh", "-c", `until test -n "$(ls "$LEASE_LEDGER/orphans")"; do sleep .01; done`).Want(t, 0)
	if n := orphans(l); n != 0 {
		t.Errorf("%d notes are left", n)
	}
}
