package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// toldScript is a command that writes its pid, notes a TERM in the file told, and ends well then or once the file done is there.
const toldScript = `trap "echo told >told; exit 0" TERM; echo $$ >cmd; while ! test -e done; do sleep .05; done`

// A holder that renews is never taken over, however many want the key and for however many TTLs.
func TestRenewingHolderIsNeverTakenOver(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	holder := l.Start("run", "--ttl", "2s", "k", "--", "sh", "-c", toldScript)
	l.UntilFile("cmd")
	var waiting []*Process
	for range 3 { // 20 TTLs each
		waiting = append(waiting, l.Start("run", "--wait", "40s", "k", "--", "sh", "-c", "echo stolen >stolen"))
	}
	trying := l.StartSh(`while ! test -e done; do lease acquire -n --ttl 60s k && echo stolen >stolen; sleep .2; done`)
	for _, p := range waiting {
		select {
		case <-p.done:
		case <-time.After(2 * hangGuard):
			t.Fatalf("never gave up\n%v", p.result())
		}
		p.Wait().Want(t, 75)
	}
	lease := l.Lease("k")
	if l.File("stolen")+l.File("told") != "" || !holder.Running() || lease.Int("generation") != 1 || lease.Int("revision") < 2 {
		t.Fatalf("stolen %q, told %q, holder running %v, record %v\n%v", l.File("stolen"), l.File("told"), holder.Running(), lease, holder.result())
	}
	l.Sh("echo >done").Want(t, 0)
	holder.Wait().Want(t, 0)
	trying.Wait().Want(t, 0)
}

// stopAfterRenewal stops the wrapper alone, at a moment when it has just renewed, so that it keeps no key's lock.
func stopAfterRenewal(l *Ledger, holder *Process, key string) {
	l.t.Helper()
	before := l.Lease(key).Int("revision")
	l.until("the holder renews", func() bool { return l.Lease(key).Int("revision") > before })
	time.Sleep(50 * time.Millisecond)
	holder.Stop()
}

// A stopped holder is taken over after its TTL and not before. Its command keeps the successor's out; continued, the
// holder tells the command and says who took over: it has an eighth of its TTL to find that out, which is ample here on a machine that stalls.
func TestStoppedHolderIsTakenOverAfterItsTTL(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	holder := l.Start("run", "--ttl", "8s", "k", "--", "sh", "-c", toldScript)
	first := l.UntilPid("cmd")
	next := l.Start("run", "--ttl", "300s", "k", "--", "sh", "-c", noneOf+"echo ran >ran", "sh", fmt.Sprint(first))
	stopAfterRenewal(l, holder, "k")
	old := l.Lease("k")
	if old.Int("generation") != 1 || old.Int("renewed_mono_ns") == 0 {
		t.Fatalf("record of the stopped holder: %v", old)
	}

	l.until("generation 2 is granted", func() bool { return l.Lease("k").Int("generation") == 2 })
	silent := l.Lease("k").Int("renewed_mono_ns") - old.Int("renewed_mono_ns")
	if silent < old.Int("ttl_ms")*int64(time.Millisecond) {
		t.Fatalf("taken over %v after the last renewal, the TTL is 8s", time.Duration(silent))
	}
	next.UntilStderr(fmt.Sprint(first)) // it waits for the fence and says whose
	if l.File("ran")+l.File("told") != "" {
		t.Fatal("the successor's command ran beside the first, or the stopped wrapper told its command")
	}

	holder.Signal(syscall.SIGCONT)
	holder.Wait().Want(t, 76).Says(t, "taken over by generation 2")
	if l.File("told") == "" {
		t.Fatal("the command of the lost lease was not told")
	}
	next.Wait().Want(t, 0)
	if l.File("ran") == "" || l.File("overlap") != "" {
		t.Fatalf("the successor ran: %q, beside process %q", l.File("ran"), l.File("overlap"))
	}
}

// A holder that was stopped for longer than its TTL while nobody wanted the key carries on.
func TestStoppedHolderCarriesOnIfNobodyTookOver(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	holder := l.Start("run", "--ttl", "2s", "k", "--", "sh", "-c", toldScript)
	l.UntilFile("cmd")
	stopAfterRenewal(l, holder, "k")
	stopped := l.Lease("k").Int("revision")
	time.Sleep(2500 * time.Millisecond)
	holder.Signal(syscall.SIGCONT)
	l.until("it renews again or ends", func() bool { return l.Lease("k").Int("revision") > stopped || !holder.Running() })
	l.Run("check", "k", "--token", "1").Want(t, 0)
	l.Sh("echo >done").Want(t, 0)
	holder.Wait().Want(t, 0)
	if l.File("told") != "" {
		t.Fatal("the command was told of a loss that was none")
	}
}

// fromElsewhere turns the lease into one of another boot of another machine.
func fromElsewhere(l *Ledger, key, evidence string) {
	l.t.Helper()
	l.Edit("leases/"+key+".json", func(r Record) {
		holder := r.Sub("holder")
		holder["host"] = "elsewhere"
		holder["evidence"] = evidence
		holder["boot_id"] = "01234567-89ab-4cde-8f01-23456789abcd"
		holder["id"] = strings.Repeat("0f", 16)
		holder["holder_inode"] = 1
		id := holder.Str("machine_id")
		holder["machine_id"] = strings.Repeat("f", len(id))
	})
}

// A record from another host that never changes is silent only from when somebody first saw it. The tries here are
// processes that end at once: what they saw outlives them.
func TestSightings(t *testing.T) {
	t.Parallel()
	const ttl = time.Second
	for _, evidence := range []string{"none", "pid", "lock"} {
		t.Run("never changes, evidence "+evidence, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(t)
			wantGrant(t, l.Run("acquire", "--ttl", ttl.String(), "k"), "1")
			fromElsewhere(l, "k", evidence)
			time.Sleep(ttl + 200*time.Millisecond) // nobody looks: this counts for nothing
			first := time.Now()
			l.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, 75)
			if l.Record("sightings/k.json") == nil {
				t.Fatal("a try that failed left no sighting")
			}
			var r Result
			l.until("the record is silent", func() bool {
				r = l.Run("acquire", "-n", "--ttl", "300s", "k")
				return r.Code != 75
			})
			wantGrant(t, r, "2")
			if seen := time.Since(first); seen < ttl {
				t.Fatalf("taken over %v after it was first seen, the TTL is %v", seen, ttl)
			}
		})
	}
	t.Run("two tries are enough", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		wantGrant(t, l.Run("acquire", "--ttl", ttl.String(), "k"), "1")
		fromElsewhere(l, "k", "none")
		l.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, 75)
		time.Sleep(ttl)
		wantGrant(t, l.Run("acquire", "-n", "--ttl", "300s", "k"), "2")
	})
	t.Run("a waiter remembers", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		wantGrant(t, l.Run("acquire", "--ttl", ttl.String(), "k"), "1")
		fromElsewhere(l, "k", "none")
		start := time.Now()
		wantGrant(t, l.Run("acquire", "--ttl", "300s", "k"), "2")
		if waited := time.Since(start); waited < ttl {
			t.Fatalf("taken over after %v, the TTL is %v", waited, ttl)
		}
	})
	t.Run("revision changes", func(t *testing.T) {
		t.Parallel()
		l := NewLedger(t)
		wantGrant(t, l.Run("acquire", "--ttl", ttl.String(), "k"), "1")
		fromElsewhere(l, "k", "none")
		for range 4 {
			l.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, 75)
			time.Sleep(ttl)
			l.Edit("leases/k.json", func(r Record) { r["revision"] = json.Number(fmt.Sprint(r.Int("revision") + 1)) })
		}
		l.Run("acquire", "-n", "--ttl", "300s", "k").Want(t, 75)
	})
}

// A lease with a TTL only lasts that long from its grant or last renewal, and not a moment less.
func TestTTLAlone(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	wantGrant(t, l.Run("acquire", "--ttl", "1s", "k"), "1")
	l.Run("renew", "k", "--token", "1").Want(t, 0)
	old := l.Lease("k").Int("renewed_mono_ns")
	var r Result
	l.until("it is silent", func() bool {
		r = l.Run("acquire", "-n", "--ttl", "300s", "k")
		return r.Code != 75
	})
	wantGrant(t, r, "2")
	if silent := time.Duration(l.Lease("k").Int("renewed_mono_ns") - old); silent < time.Second {
		t.Fatalf("taken over %v after the renewal, the TTL is 1s", silent)
	}
}
