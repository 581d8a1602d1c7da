package ledgerfs

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// What the machine lets a process see decides how the end of a holder can be proven.

// firstPIDNS is the inode of the pid namespace that the kernel starts in.
const firstPIDNS = 0xEFFFFFFC

func (e *examination) machine() {
	e.boot()
	e.proc()
	e.inotify()
}

func (e *examination) boot() {
	self, err := e.l.who()
	switch {
	case err != nil:
		e.broken("boot", "cannot tell who this process is: "+err.Error(), "is /proc mounted?")
	case self.BootID == "":
		e.warn("boot", "the boot id cannot be read: every grant is synced, and a holder of an earlier boot is judged by its liveness lock and TTL alone", "mount /proc")
	case !self.BootIDGenuine:
		e.warn("boot", "the boot id is not the kernel's own (a file is mounted over it): every grant is synced, and a holder of an earlier boot is judged by its liveness lock and TTL alone",
			"in a container: do not mount over /proc/sys/kernel/random/boot_id")
	default:
		e.ok("boot", "boot id %s is the kernel's own", self.BootID)
	}
	if err == nil && self.PIDNS != 0 && self.PIDNS != firstPIDNS {
		e.warn("namespace", "this is a pid namespace of its own (a container): processes outside are judged by their liveness lock and TTL alone",
			"give leases that are taken for a process (acquire --pid) to processes of one container only")
	}
}

// proc looks whether /proc shows the processes of this namespace, and all of them.
func (e *examination) proc() {
	const alone = "a holder bound to a process by its pid is judged by its TTL alone, and who keeps a fence cannot be named"
	var st unix.Statfs_t
	if err := unix.Statfs("/proc", &st); err != nil || int64(st.Type) != unix.PROC_SUPER_MAGIC {
		e.warn("proc", "/proc is not mounted: "+alone, "mount it: mount -t proc proc /proc")
		return
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		e.warn("proc", "/proc does not show this process: "+alone, "mount the one of this pid namespace: mount -t proc proc /proc")
		return
	}
	if pids := fieldOf(string(status), "NSpid:"); len(pids) != 1 || pids[0] != strconv.Itoa(os.Getpid()) {
		e.warn("proc", "/proc shows another pid namespace: "+alone, "mount the one of this namespace: mount -t proc proc /proc")
		return
	}
	option := hidepid()
	switch hidden := hides(); {
	case hidden:
		e.warn("proc", "/proc hides the processes of other users"+option+": their holders bound by a pid are judged by their TTL alone", "mount /proc without hidepid, or join the group of its gid= option")
	case option != "":
		e.warn("proc", "/proc hides processes from other users"+option+", not from you: they judge holders bound by a pid by their TTL alone", "mount /proc without hidepid if others use this ledger")
	default:
		e.ok("proc", "/proc shows the processes of this namespace")
	}
}

func fieldOf(text, name string) []string {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name); ok {
			return strings.Fields(value)
		}
	}
	return nil
}

// hidepid names the option by which /proc hides processes, "" if it is mounted without.
func hidepid() string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	option := ""
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 6 || f[4] != "/proc" {
			continue
		}
		option = "" // the last mount is the one on top
		for _, o := range strings.Split(f[5]+","+f[len(f)-1], ",") {
			if v, ok := strings.CutPrefix(o, "hidepid="); ok && v != "0" && v != "off" {
				option = " (" + o + ")"
			}
		}
	}
	return option
}

// hides reports whether a process that exists cannot be looked at. The first one always exists.
func hides() bool {
	if err := unix.Kill(1, 0); errors.Is(err, unix.ESRCH) {
		return false
	}
	_, err := os.ReadFile("/proc/1/stat")
	return err != nil
}

// inotify looks whether a waiter can be woken at once, or has to poll.
func (e *examination) inotify() {
	limit := number("/proc/sys/fs/inotify/max_user_instances")
	used := inotifyInstances()
	n, err := fsnotify.NewWatcher()
	if err != nil {
		e.warn("inotify", "no watcher is to be had ("+err.Error()+"; "+usage(used, limit)+"): waiters look again every few hundred milliseconds instead of being woken",
			"end what uses them up, or raise fs.inotify.max_user_instances")
		return
	}
	_ = n.Close()
	if limit > 0 && used*10 >= limit*9 {
		e.warn("inotify", usage(used, limit)+": soon waiters will have to poll", "end what uses them up, or raise fs.inotify.max_user_instances")
		return
	}
	e.ok("inotify", "%s", usage(used, limit))
}

func usage(used, limit int) string {
	return "this user has " + strconv.Itoa(used) + " of " + strconv.Itoa(limit) + " inotify instances"
}

func number(file string) int {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(data)))
	return n
}

// inotifyInstances counts those of this user's processes, as far as they can be seen.
func inotifyInstances() int {
	n := 0
	dirs, _ := os.ReadDir("/proc")
	for _, d := range dirs {
		var st unix.Stat_t
		if _, err := strconv.Atoi(d.Name()); err != nil || unix.Stat("/proc/"+d.Name(), &st) != nil || int(st.Uid) != os.Geteuid() {
			continue
		}
		fds, _ := os.ReadDir("/proc/" + d.Name() + "/fd")
		for _, fd := range fds {
			if link, err := os.Readlink("/proc/" + d.Name() + "/fd/" + fd.Name()); err == nil && link == "anon_inode:inotify" {
				n++
			}
		}
	}
	return n
}
