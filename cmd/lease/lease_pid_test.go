package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// acquireFor takes the key for a process and wants generation 1.
func acquireFor(t *testing.T, l *Ledger, key string, pid int) {
	t.Helper()
	wantGrant(t, l.Run("acquire", "-n", "--pid", strconv.Itoa(pid), key), "1")
	if e := l.Lease(key).Sub("holder").Str("evidence"); e != "pid" {
		t.Fatalf("evidence %q, not pid", e)
	}
	l.Run("acquire", "-n", "--ttl", "300s", key).Want(t, 75)
}

// A lease for a process is free the moment that process is proven gone, and not before: here by pid.
func TestLeaseForAProcess(t *testing.T) {
	t.Run("a script takes it for itself", func(t *testing.T) {
		for _, sig := range []syscall.Signal{0, syscall.SIGKILL} {
			l := NewLedger(t)
			script := l.StartSh(`g=$(lease acquire --pid $$ k) || exit; echo "$g" >got; while ! test -e done; do sleep .05; done`)
			if g := l.UntilFile("got"); g != "1" {
				t.Fatalf("the script got generation %q", g)
			}
			l.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, 75)
			l.Run("check", "k", "--token", "1").Want(t, 0)
			if sig == 0 {
				l.Sh("echo >done").Want(t, 0)
				script.Wait().Want(t, 0)
			} else {
				script.Kill()
			}
			l.Run("check", "k", "--token", "1").Want(t, 1)
			wantGrant(t, l.Run("acquire", "-n", "--ttl", "300s", "k"), "2")
		}
	})
	t.Run("a waiter gets it when the script ends", func(t *testing.T) {
		l := NewLedger(t)
		script := l.StartSh(`lease acquire --pid $$ k >got; while ! test -e done; do sleep .05; done`)
		l.UntilFile("got")
		waiter := l.Start("acquire", "--ttl", "300s", "k")
		waiter.UntilStderr(strconv.Itoa(script.Pid))
		script.Kill()
		wantGrant(t, waiter.Wait(), "2")
	})
	t.Run("live pid with another start time", func(t *testing.T) {
		l := NewLedger(t)
		p := l.StartSh("exec sleep 300")
		acquireFor(t, l, "k", p.Pid)
		l.Edit("leases/k.json", func(r Record) {
			holder := r.Sub("holder")
			holder["start_time"] = json.Number(strconv.FormatInt(holder.Int("start_time")-1, 10))
		})
		wantGrant(t, l.Run("acquire", "-n", "--ttl", "300s", "k"), "2")
	})
	t.Run("zombie", func(t *testing.T) {
		l := NewLedger(t)
		l.StartSh(`sleep 300 & echo $! >pid; exec sleep 300`) // what the shell became never reaps the child
		pid := l.UntilPid("pid")
		acquireFor(t, l, "k", pid)
		l.End(pid)
		if s := processState(pid); s != "Z" {
			t.Fatalf("state %q, not a zombie", s)
		}
		wantGrant(t, l.Run("acquire", "-n", "--ttl", "300s", "k"), "2")
	})
	t.Run("zombie with a live thread", func(t *testing.T) {
		needs(t, "python3")
		l := NewLedger(t)
		p := l.StartSh(`exec python3 -c '
import ctypes, os, platform, threading, time
threading.Thread(target=time.sleep, args=(300,)).start()
open("pid", "w").write(str(os.getpid()))
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)'`)
		l.until("the first thread has ended", func() bool { return processState(p.Pid) == "Z" })
		if !p.Running() {
			t.Fatalf("the whole process ended\n%v", p.Wait())
		}
		acquireFor(t, l, "k", p.Pid)
		p.Kill()
		wantGrant(t, l.Run("acquire", "-n", "--ttl", "300s", "k"), "2")
	})
	t.Run("stopped", func(t *testing.T) {
		l := NewLedger(t)
		p := l.StartSh("exec sleep 300")
		acquireFor(t, l, "k", p.Pid)
		p.Stop()
		l.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, 75)
		l.Run("check", "k", "--token", "1").Want(t, 0)
		p.Kill()
		wantGrant(t, l.Run("acquire", "-n", "--ttl", "300s", "k"), "2")
	})
	t.Run("named like a stat line", func(t *testing.T) {
		l := NewLedger(t)
		sleep, err := os.ReadFile("/bin/sleep")
		if err != nil {
			t.Skip("not run: needs /bin/sleep: ", err)
		}
		program := filepath.Join(l.Work, "a) S 1 (b")
		if err := os.WriteFile(program, sleep, 0o755); err != nil {
			t.Fatal(err)
		}
		p := l.StartSh(`exec "$1" 300`, program)
		l.until("it has its name", func() bool {
			comm, _ := os.ReadFile("/proc/" + strconv.Itoa(p.Pid) + "/comm")
			return string(comm) == "a) S 1 (b\n"
		})
		acquireFor(t, l, "k", p.Pid)
		l.Run("check", "k", "--token", "1").Want(t, 0)
		p.Kill()
		wantGrant(t, l.Run("acquire", "-n", "--ttl", "300s", "k"), "2")
	})
	t.Run("a pid that is gone is a usage error", func(t *testing.T) {
		l := NewLedger(t)
		p := l.StartSh("exit 0")
		p.Wait()
		l.Run("acquire", "-n", "--pid", strconv.Itoa(p.Pid), "k").Want(t, 64)
	})
}
