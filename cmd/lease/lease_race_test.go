package main_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const contenders = 8

// wantHeld checks that a refusal tells who holds the key: kind, host, pid and since when.
func wantHeld(t *testing.T, r Result, lease Record) {
	t.Helper()
	e := r.Want(t, 75).Error(t)
	holder := e.Sub("holder")
	want := lease.Sub("holder")
	if e.Str("kind") != "held" || holder.Str("host") != want.Str("host") || holder.Int("pid") != want.Int("pid") {
		t.Fatalf("want kind held and holder %v\n%v", want, r)
	}
	since, _, _ := strings.Cut(lease.Str("acquired_at"), ".")
	for _, part := range []string{want.Str("host"), strconv.FormatInt(want.Int("pid"), 10), since} {
		if !strings.Contains(e.Str("message"), part) {
			t.Fatalf("the message does not name %q\n%v", part, r)
		}
	}
}

// oneOfEight starts eight runs of the key at the same moment. Exactly one may get it, with that generation.
// It returns the wrapper of that one and the pid of its command.
func oneOfEight(t *testing.T, l *Ledger, key string, generation int) (*Process, int) {
	t.Helper()
	args := []string{"--json", "run", "-n", "--ttl", "300s", key, "--", "sh", "-c", `echo "$$ $LEASE_TOKEN" >"got.$$"; exec sleep 300`}
	all := l.Together(slices.Repeat([][]string{args}, contenders)...)
	running := func() (n int) {
		for _, p := range all {
			if p.Running() {
				n++
			}
		}
		return n
	}
	got := func() []string {
		files, _ := os.ReadDir(l.Work)
		var names []string
		for _, f := range files {
			if strings.HasPrefix(f.Name(), "got.") && l.File(f.Name()) != "" {
				names = append(names, f.Name())
			}
		}
		return names
	}
	l.until("one has the key and the others have ended", func() bool { return running() <= 1 && (running() == 0 || len(got()) > 0) })
	var winner *Process
	lease := l.Lease(key)
	for _, p := range all {
		if p.Running() {
			winner = p
		} else {
			wantHeld(t, p.Wait(), lease)
		}
	}
	if winner == nil || len(got()) != 1 {
		t.Fatalf("%s: %d processes got the key", key, len(got()))
	}
	var pid, token int
	if _, err := fmt.Sscan(l.File(got()[0]), &pid, &token); err != nil {
		t.Fatal(err)
	}
	if token != generation || lease.Int("generation") != int64(generation) || lease.Sub("holder").Int("pid") != int64(winner.Pid) {
		t.Fatalf("%s: want generation %d for %d, got token %d and record %v", key, generation, winner.Pid, token, lease)
	}
	os.Remove(l.Work + "/" + got()[0])
	return winner, pid
}

// Eight at once on a new key, the winner killed, eight at once again: one generation 1, one generation 2, in every round.
func TestEightAtOnce(t *testing.T) {
	for round := range 20 {
		l := NewLedger(t)
		key := fmt.Sprintf("task:%d", round)
		winner, command := oneOfEight(t, l, key, 1)
		winner.Kill()
		l.End(command) // else its fence keeps the next command out, as it must
		winner, command = oneOfEight(t, l, key, 2)
		winner.Kill()
		l.End(command)
	}
}

// The same with holders that are scripts, through acquire --pid: the takeover is judged by pid, not by a lock.
func TestEightAtOnceByPid(t *testing.T) {
	l := NewLedger(t)
	script := `if g=$(lease acquire -n --pid $$ k 2>err.$$); then echo "$g" >"got.$1"; exec sleep 300; else echo $? >"refused.$1"; fi`
	for generation := 1; generation <= 5; generation++ {
		var all []*Process
		for i := range contenders {
			all = append(all, l.StartSh(script, fmt.Sprintf("%d.%d", generation, i)))
		}
		var winner *Process
		for i, p := range all {
			name := fmt.Sprintf("%d.%d", generation, i)
			l.until("the script has an answer", func() bool { return l.File("got."+name)+l.File("refused."+name) != "" })
			switch {
			case l.File("got."+name) == strconv.Itoa(generation) && winner == nil:
				winner = p
			case l.File("refused."+name) != "75":
				t.Fatalf("generation %d: contender %d got %q, was refused with %q", generation, i, l.File("got."+name), l.File("refused."+name))
			}
		}
		if winner == nil {
			t.Fatalf("nobody got generation %d", generation)
		}
		winner.Kill()
	}
}

// loops runs a script in as many shells at once as there are argument lists, and wants each to end well.
func loops(t *testing.T, l *Ledger, script string, argLists ...[]string) {
	t.Helper()
	var all []*Process
	for _, args := range argLists {
		all = append(all, l.StartSh(script, args...))
	}
	hang := time.After(5 * time.Minute)
	for _, p := range all {
		select {
		case <-p.done:
			p.result().Want(t, 0)
		case <-hang:
			t.Fatalf("a loop hangs\n%v", p.result())
		}
	}
}

// Eight loops of 25 waiting runs count to 200: no two commands ever ran at once.
func TestCounter(t *testing.T) {
	l := NewLedger(t)
	l.Sh("echo 0 >n").Want(t, 0)
	script := `i=0; while [ $i -lt 25 ]; do lease run counter -- sh -c 'n=$(cat n); sleep .002; echo $((n+1)) >n' || exit; i=$((i+1)); done`
	loops(t, l, script, slices.Repeat([][]string{nil}, contenders)...)
	if n := l.File("n"); n != "200" {
		t.Fatalf("8 loops of 25 counted to %s, not 200", n)
	}
	if g := l.Record("tombstones/counter.json").Int("generation"); g != 200 {
		t.Fatalf("200 grants ended at generation %d", g)
	}
}

// Requests for several keys in orders that deadlock when locks are taken in the order asked, or in string order.
func TestSeveralKeysNeverDeadlock(t *testing.T) {
	l := NewLedger(t)
	script := `i=0; while [ $i -lt 4 ]; do lease run "$@" -- true || exit; i=$((i+1)); done`
	var all [][]string
	for range contenders {
		all = append(all, []string{"a-b", "a/b"}, []string{"a", "a-b"}, []string{"a/b", "a"}, []string{"a-b/x", "a/b/c"})
	}
	loops(t, l, script, all...)
}
