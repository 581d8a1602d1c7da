package procinfo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const newPIDNS = unix.CLONE_NEWPID | unix.CLONE_NEWNS

// A pid means something else in every pid namespace, so it proves nothing across them.
func TestPIDNamespaces(t *testing.T) {
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	_, child := startLive(t, in(t, newPIDNS, helperCommand("mount-proc", "", "live")))
	if child.PID != 1 || child.PIDNS == me.PIDNS {
		t.Fatalf("not in a namespace of its own: %+v", child)
	}
	want(t, Judge(child, true), Unknown, "other pid namespace")
	for _, v := range judgeBy(t, in(t, newPIDNS, helperCommand("mount-proc", "", "judge")), me, child) {
		want(t, v, Unknown, "other pid namespace") // from a child, from a sibling
	}

	t.Run("own", func(t *testing.T) {
		// Both are in the new namespace, with its own /proc.
		h := start(t, in(t, newPIDNS, helperCommand("mount-proc", "", "child", "judge-parent")))
		want(t, read[Verdict](t, h), Alive, "is running")
	})
	t.Run("proc of the parent", func(t *testing.T) {
		// Both are in the new namespace, but /proc/PID is about processes of the old one.
		h := start(t, in(t, newPIDNS, helperCommand("child", "judge-parent")))
		want(t, read[Verdict](t, h), Unknown, "/proc shows another pid namespace")
		h = start(t, in(t, newPIDNS, helperCommand("of", "1")))
		if err := read[string](t, h); !strings.Contains(err, "/proc shows another pid namespace") {
			t.Errorf("of a process: %s", err)
		}
	})
	t.Run("proc of a child", func(t *testing.T) {
		// This process looks at a /proc in which it does not occur.
		h, _ := startLive(t, in(t, newPIDNS, helperCommand("mount-proc", "", "live")))
		inner := filepath.Join("/proc", itoa(h.Process.Pid), "root/proc")
		if err := procfs(inner).checkOwn(); err == nil || !strings.Contains(err.Error(), "does not show this process") {
			t.Errorf("%s: %v", inner, err)
		}
	})
	t.Run("seen from outside", func(t *testing.T) {
		// By its number out here it is as good as any other process.
		h, inside := startLive(t, in(t, newPIDNS, helperCommand("live")))
		id, err := Of(h.Process.Pid)
		if err != nil || id.PIDNS != me.PIDNS || id.StartTime != inside.StartTime {
			t.Errorf("%+v, %v", id, err)
		}
		want(t, Judge(id, true), Alive, "is running")
		h.end()
		want(t, Judge(id, true), Dead, "is gone")
	})
}

// A time namespace shifts the start times that its processes read.
func TestTimeNamespaces(t *testing.T) {
	shifted := func(args ...string) *exec.Cmd {
		cmd := helperCommand(args...)
		unshare, err := exec.LookPath("unshare")
		if err != nil {
			t.Skip("not run: needs unshare:", err)
		}
		cmd.Path, cmd.Args = unshare, append([]string{"unshare", "-T", "--boottime", "1000", executable}, args...)
		return cmd
	}
	if err := exec.Command("unshare", "-T", "--boottime", "1000", "true").Run(); err != nil {
		t.Skip("not run: needs root and time namespaces:", err)
	}
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	h, inside := startLive(t, shifted("live"))
	if inside.TimeNS == me.TimeNS || inside.PIDNS != me.PIDNS {
		t.Fatalf("not in a time namespace of its own: %+v", inside)
	}
	want(t, Judge(inside, true), Unknown, "other time namespace")
	want(t, judgeBy(t, shifted("judge"), me)[0], Unknown, "other time namespace")

	// What was read out here counts out here, whatever clock the process itself sees.
	outside, err := Of(h.Process.Pid)
	if err != nil || outside.TimeNS != me.TimeNS || outside.StartTime == inside.StartTime {
		t.Errorf("%+v, %v", outside, err)
	}
	want(t, Judge(outside, true), Alive, "is running")
}

// A boot id that something was mounted over is not the kernel's, and never proves a reboot.
func TestMountedBootID(t *testing.T) {
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	if !me.BootIDGenuine {
		t.Skip("not run: needs a genuine boot id")
	}
	const kernels = "/proc/sys/kernel/random"
	const other = "00000000-0000-4000-8000-000000000000"
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "boot_id"), []byte(other+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, mount := range []struct{ source, target, id string }{
		{filepath.Join(dir, "boot_id"), kernels + "/boot_id", other},
		{dir, kernels, other},
		{kernels + "/uuid", kernels + "/boot_id", ""}, // on procfs too, and random
	} {
		bind := []string{"bind", mount.source, mount.target}
		_, id := startLive(t, in(t, unix.CLONE_NEWNS, helperCommand(append(bind, "live")...)))
		if id.BootIDGenuine || id.BootID == me.BootID || mount.id != "" && id.BootID != mount.id {
			t.Errorf("%q: %+v", bind, id)
		}
		want(t, Judge(id, true), Unknown, "other boot")
		want(t, judgeBy(t, in(t, unix.CLONE_NEWNS, helperCommand(append(bind, "judge")...)), me)[0], Unknown, "other boot")
	}
}

// Without /proc there is no proof, but a process can still say its name.
func TestNoProc(t *testing.T) {
	me, _ := Self()
	bind := []string{"bind", t.TempDir(), "/proc"}
	_, id := startLive(t, in(t, unix.CLONE_NEWNS, helperCommand(append(bind, "live")...)))
	if id.PID == 0 || len(id.Command) == 0 || id.BootID != "" || id.BootIDGenuine || id.StartTime != 0 {
		t.Errorf("%+v", id)
	}
	want(t, Judge(id, true), Unknown, "no process recorded")
	want(t, judgeBy(t, in(t, unix.CLONE_NEWNS, helperCommand(append(bind, "judge")...)), me)[0], Unknown, "boot not known")
}

// A process that /proc hides from this user is not gone; one that is gone is, hidden or not.
func TestHiddenProcess(t *testing.T) {
	_, id := startLive(t, helperCommand("live"))
	dead, goneID := startLive(t, helperCommand("live"))
	dead.end()
	for _, option := range []string{"hidepid=1", "hidepid=2"} {
		hide := []string{"mount-proc", option, "setuid", "65534"}
		v := judgeBy(t, in(t, unix.CLONE_NEWNS, helperCommand(append(hide, "judge")...)), id, goneID)
		want(t, v[0], Unknown, "not allowed to look at process "+itoa(id.PID)+" (hidepid?)")
		want(t, v[1], Dead, "is gone")
		h := start(t, in(t, unix.CLONE_NEWNS, helperCommand(append(hide, "of", itoa(id.PID))...)))
		if err := read[string](t, h); !strings.Contains(err, ErrNotPermitted.Error()) {
			t.Errorf("%s: %s", option, err)
		}
	}
}
