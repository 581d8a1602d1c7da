package procinfo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// After a reboot a process is dead, but only a reboot of this very machine is one.
func TestOtherBoot(t *testing.T) {
	me, err := here()
	if err != nil {
		t.Fatal(err)
	}
	if !me.BootIDGenuine || me.PIDNS != initialPIDNS || me.MachineID == "" {
		t.Skip("not run: needs the initial pid namespace, a genuine boot id and /etc/machine-id")
	}
	before := me
	before.BootID, before.PID, before.StartTime = "00000000-0000-4000-8000-000000000000", 4242, 168725
	want(t, Judge(before, true), Dead, "restarted")
	want(t, Judge(before, false), Unknown, "other boot")
	for what, change := range map[string]func(*Identity){
		"boot id not genuine":  func(id *Identity) { id.BootIDGenuine = false },
		"in a container":       func(id *Identity) { id.PIDNS++ },
		"another machine":      func(id *Identity) { id.MachineID = strings.Repeat("0", 32) },
		"a machine without id": func(id *Identity) { id.MachineID = "" },
	} {
		id, observer := before, me
		change(&id)
		if v := Judge(id, true); v.State != Unknown || v.Reason != "other boot" {
			t.Errorf("holder: %s: %v", what, v)
		}
		if change(&observer); rebooted(before, observer) {
			t.Errorf("observer: %s: reboot proven", what)
		}
		if what != "another machine" && rebooted(id, observer) {
			t.Errorf("both: %s: reboot proven", what)
		}
	}
}

// What is not known is never taken for a difference.
func TestUnknownFields(t *testing.T) {
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*Identity){
		"no process recorded":     func(id *Identity) { id.PID = 0 },
		"no process recorded ":    func(id *Identity) { id.StartTime = 0 },
		"boot not known":          func(id *Identity) { id.BootID = "" },
		"pid namespace not known": func(id *Identity) { id.PIDNS = 0 },
		"other time namespace":    func(id *Identity) { id.TimeNS = 0 },
		"cannot open process":     func(id *Identity) { id.PID += 1 << 32 },
	} {
		id := me
		change(&id)
		want(t, Judge(id, true), Unknown, strings.TrimSpace(what))
	}
	me.PidfdInode = 0
	want(t, Judge(me, true), Alive, "is running")
}

func TestMachineID(t *testing.T) {
	hash := func(text string) string {
		name := filepath.Join(t.TempDir(), "machine-id")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return machineID(name)
	}
	const id = "0123456789abcdef0123456789abcdef"
	// The value is in ledgers: it may never change.
	if got := hash(id + "\n"); got != "5537275c016d4cc13c5d8b46f8033d7b" {
		t.Errorf("hash %q", got)
	}
	for _, none := range []string{"", "\n", "uninitialized\n", id[1:], id + "00"} {
		if got := hash(none); got != "" {
			t.Errorf("%q has hash %q", none, got)
		}
	}
	if got := machineID(filepath.Join(t.TempDir(), "missing")); got != "" {
		t.Errorf("missing file has hash %q", got)
	}
}

func TestFindUser(t *testing.T) {
	const passwd = "root:x:0:0::/root:/bin/sh\n\n# ann:x:7\nshort:x\nann:x:1000:1000::/:\nalso-ann:x:1000:1000::/:\n:x:5:5:::\n"
	for uid, want := range map[string]string{"0": "root", "1000": "ann", "100": "100", "5": "5", "": ""} {
		if got := findUser(passwd, uid); got != want {
			t.Errorf("user %s: %q, not %q", uid, got, want)
		}
	}
}
