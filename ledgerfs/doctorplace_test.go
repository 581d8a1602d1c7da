package ledgerfs

import (
	"os"
	"path/filepath"
	"testing"
)

// What the machine and the file system are like is found where they are like that: each in namespaces of
// its own, in which the script makes it so.
func TestExamineInOtherPlaces(t *testing.T) {
	const initialise = "mkdir -p \"$D/ledger\"; cp -a \"$L\"/. \"$D/ledger\"; "
	for name, c := range map[string]struct {
		namespaces string // mounts are private in any case
		script     string
		mode       string
		check      string
		level      Level
		text       string
	}{
		"tmpfs": {"-m", `mount -t tmpfs tmpfs "$D"; ` + initialise, "examine", "filesystem", Warning, "tmpfs: it is gone with the next boot"},
		"ext4": {"-m", `truncate -s 64M "$D.img"; mkfs.ext4 -q "$D.img"; mount -o loop "$D.img" "$D"; ` + initialise,
			"examine", "filesystem", OK, "ext4"},
		"overlay": {"-m", `mount -t tmpfs tmpfs "$D"; mkdir "$D/lower" "$D/upper" "$D/work" "$D/all"; mount -t overlay -o "lowerdir=$D/lower,upperdir=$D/upper,workdir=$D/work" overlay "$D/all"; mount --move "$D/all" "$D"; ` + initialise,
			"examine", "filesystem", Warning, "overlay: in a container it is gone with the container"},
		"read-only": {"-m", `mount -t tmpfs tmpfs "$D"; ` + initialise + `mount -o remount,ro "$D"`,
			"examine", "write", Warning, "the file system is mounted read-only"},
		"full": {"-m", `mount -t tmpfs -o size=1m tmpfs "$D"; ` + initialise + `cat /dev/zero >"$D/filler" 2>/dev/null || true`,
			"examine", "space", Broken, "full: 0 KiB free"},
		"out of inodes": {"-m", `mount -t tmpfs -o size=8m,nr_inodes=40 tmpfs "$D"; ` + initialise + `i=0; while touch "$D/filler$i" 2>/dev/null; do i=$((i+1)); done`,
			"examine", "space", Broken, "0 inodes"},
		"nearly full": {"-m", `mount -t tmpfs -o size=4m tmpfs "$D"; ` + initialise, "examine", "space", Warning, "nearly full"},
		"a full disk cannot be written": {"-m", `mount -t tmpfs -o size=1m tmpfs "$D"; ` + initialise + `cat /dev/zero >"$D/filler" 2>/dev/null || true`,
			"examine", "write", Broken, "no space left"},
		"hidepid": {"-m", initialise + "mount -t proc -o hidepid=invisible proc /proc", "examine", "proc", Warning, "hides processes from other users (hidepid=invisible), not from you"},
		"hidepid for others": {"-m", initialise + `mount -t proc -o hidepid=2 proc /proc; chown -R 54321 "$D"; set -- setpriv --reuid 54321 --regid 54321 --clear-groups "$@"`,
			"examine", "proc", Warning, "hides the processes of other users (hidepid="},
		"another pid namespace in /proc": {"-mpf", initialise, "examine", "proc", Warning, "/proc shows another pid namespace"},
		"a container":                    {"-mpf", initialise + "mount -t proc proc /proc", "examine", "namespace", Warning, "a pid namespace of its own"},
		"no /proc":                       {"-m", initialise + "mount -t tmpfs tmpfs /proc", "examine", "proc", Warning, "/proc is not mounted"},
		"no boot id":                     {"-m", initialise + "mount -t tmpfs tmpfs /proc", "examine", "boot", Warning, "the boot id cannot be read"},
		"another boot id": {"-m", initialise + `cat /proc/sys/kernel/random/boot_id >"$D/id"; mount --bind "$D/id" /proc/sys/kernel/random/boot_id`,
			"examine", "boot", Warning, "not the kernel's own"},
		"inotify used up": {"-m", initialise + `chown -R 54323 "$D"; set -- setpriv --reuid 54323 --regid 54323 --clear-groups "$@"`,
			"inotify", "inotify", Warning, "no watcher is to be had"},
		"a ledger of somebody else": {"-m", initialise + `chmod -R a+rX "$D"; set -- setpriv --reuid 54321 --regid 54321 --clear-groups "$@"`,
			"examine", "write", Warning, "this user may not write the ledger"},
	} {
		t.Run(name, func(t *testing.T) {
			l, m := made(t)
			acquired(t, m, "repo/api")
			d := filepath.Join(t.TempDir(), "place")
			if err := os.Mkdir(d, 0o755); err != nil {
				t.Fatal(err)
			}
			for dir := d; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
				if err := os.Chmod(dir, 0o755); err != nil { // other users go through it
					t.Fatal(err)
				}
			}
			t.Setenv("D", d)
			t.Setenv("L", l.path)
			// The binary may lie where only root can go.
			script := `mount --make-rprivate /; cp "$1" "$D.bin"; chmod 755 "$D.bin"; shift; set -- "$D.bin" "$@"; ` + c.script + "\nexec \"$@\""
			found := examineIn(t, c.namespaces, script, c.mode, filepath.Join(d, "ledger"))
			finds(t, found, c.check, c.level, c.text)
			if c.level != Broken {
				nothingBroken(t, found)
			}
		})
	}
}
