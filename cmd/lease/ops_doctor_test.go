package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A finding of lease doctor.
type finding struct{ Check, Level, Path, Key, What, Hint string }

// examination is what lease doctor --json answers.
type examination struct {
	Ledger   string
	Repaired []struct{ Check, Path, Key, What, Done, Error string }
	Findings []finding
}

func examined(t *testing.T, r Result) (e examination) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Stdout), &e); err != nil {
		t.Fatalf("%v\n%v", err, r)
	}
	return e
}

// finds fails the test unless something of that check and level says text.
func (e examination) finds(t *testing.T, check, level, text string) finding {
	t.Helper()
	for _, f := range e.Findings {
		if f.Check == check && f.Level == level && strings.Contains(f.What, text) {
			return f
		}
	}
	t.Fatalf("no finding %q of %s: %q in\n%+v", level, check, text, e.Findings)
	return finding{}
}

// On a healthy ledger everything holds, which a second process has proven, and nothing is left of the trying.
func TestDoctorOnAHealthyLedger(t *testing.T) {
	t.Parallel()
	l := made(t)
	l.Run("acquire", "--ttl", "1h", "repo/api").Want(t, 0)
	before := everything(t, l.Dir)
	e := examined(t, l.Run("doctor", "--json").Want(t, 0))
	if e.Ledger != l.Dir || len(e.Repaired) > 0 {
		t.Errorf("%+v", e)
	}
	e.finds(t, "lock", "ok", "a second process is refused")
	e.finds(t, "watch", "ok", "rename")
	e.finds(t, "sync", "ok", "")
	for _, f := range e.Findings {
		if f.Level == "broken" {
			t.Errorf("%+v", f)
		}
	}
	if after := everything(t, l.Dir); len(after) != len(before) {
		t.Errorf("there were\n%v and are\n%v", before, after)
	}
	for _, line := range strings.Split(strings.TrimSuffix(l.Run("doctor").Want(t, 0).Stdout, "\n"), "\n") {
		if strings.Count(line, "\t") != 4 {
			t.Errorf("want five fields: %q", line)
		}
	}
}

// Without a ledger there is nothing to mend, and none is made.
func TestDoctorWithoutALedger(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	examined(t, l.Run("doctor", "--json").Want(t, 0)).finds(t, "ledger", "ok", "there is none yet")
	l.Run("doctor", "--repair").Want(t, 0)
	l.Run("gc", "--older-than", "0s").Want(t, 0)
	l.Run("log").Want(t, 0)
	if _, err := os.Stat(l.Dir); err == nil {
		t.Error("a ledger was made")
	}
}

// Each kind of damage: found and named with exit code 1, mended with exit code 0, kept aside, and the key
// goes on above every generation that may have been handed out.
func TestDoctorMendsEachDamage(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(golden, "damaged", "*.json"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d damaged records, %v", len(files), err)
	}
	l := made(t)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			put(t, l, "leases/"+goldenKey+".json", goldenFile(t, "damaged/"+name))
			ceiling := l.Record("ledger.json").Int("ceiling")
			f := examined(t, l.Run("doctor", "--json").Want(t, 1)).finds(t, "records", "broken", "damaged")
			if f.Path != filepath.Join(l.Dir, "leases", goldenKey+".json") || f.Key != goldenKey || f.Hint == "" {
				t.Errorf("%+v", f)
			}
			e := examined(t, l.Run("doctor", "--repair", "--json").Want(t, 0))
			if len(e.Repaired) == 0 || e.Repaired[len(e.Repaired)-1].Done == "" {
				t.Errorf("%+v", e.Repaired)
			}
			token := strings.TrimSpace(l.Run("acquire", "-n", "--ttl", "1h", goldenKey).Want(t, 0).Stdout)
			if n, err := strconv.ParseInt(token, 10, 64); err != nil || n <= ceiling {
				t.Errorf("generation %s, the ceiling was %d", token, ceiling)
			}
			l.Run("release", goldenKey, "--token", token).Want(t, 0)
		})
	}
	aside, err := filepath.Glob(filepath.Join(l.Dir, "leases", "repo", ".api.json.damaged-*"))
	if err != nil || len(aside) != len(files) {
		t.Errorf("%d files were set aside, %v", len(aside), err)
	}
	if r := l.Run("log", goldenKey).Want(t, 0); strings.Count(r.Stdout, "\trepaired\t") != len(files) {
		t.Errorf("the history\n%v", r)
	}
	l.Run("gc", "--older-than", "1h").Want(t, 0) // nothing is that old
	if r := l.Run("gc", "--older-than", "0s", "--json").Want(t, 0); parseRecord(t, "stdout", []byte(r.Stdout)).Int("aside") != int64(len(files)) {
		t.Errorf("%v", r)
	}
}

// A lost ledger.json stops everybody until the doctor has made another one.
func TestDoctorMakesALostConfig(t *testing.T) {
	t.Parallel()
	l := made(t)
	token := l.Run("acquire", "--ttl", "1h", "held").Want(t, 0).Stdout
	if err := os.Remove(filepath.Join(l.Dir, "ledger.json")); err != nil {
		t.Fatal(err)
	}
	l.Run("acquire", "-n", "--ttl", "1h", "new").Want(t, 74).Says(t, "doctor --repair")
	l.Run("doctor").Want(t, 1)
	r := l.Run("doctor", "--repair").Want(t, 0)
	if !strings.Contains(r.Stdout, "made a new ledger.json") {
		t.Errorf("%v", r)
	}
	l.Run("check", "held", "--token", strings.TrimSpace(token)).Want(t, 0)
	l.Run("acquire", "-n", "--ttl", "1h", "new").Want(t, 0)
}

// Where the machine or the file system keeps lease from something, the doctor says from what; exit code 1
// only where a promise does not hold, and --repair does not change that.
func TestDoctorInOtherPlaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		namespaces, before string // what is done to $D, the ledger, before the command
		check, level, text string
		code, repaired     int
	}{
		"tmpfs":              {"-m", `mount -t tmpfs tmpfs "$D"; lease init`, "filesystem", "warning", "tmpfs", 0, 0},
		"ext4":               {"-m", `truncate -s 64M img; mkfs.ext4 -q img; mount -o loop img "$D"; mkdir "$D/l"; export LEASE_LEDGER="$D/l"; lease init`, "filesystem", "ok", "ext4", 0, 0},
		"overlay":            {"-m", `mount -t tmpfs tmpfs "$D"; cd "$D"; mkdir a b c d; mount -t overlay -o lowerdir=a,upperdir=b,workdir=c overlay d; mount --move d "$D"; lease init`, "filesystem", "warning", "overlay", 0, 0},
		"read-only":          {"-m", `mount -t tmpfs tmpfs "$D"; lease init; mount -o remount,ro "$D"`, "write", "warning", "read-only", 0, 1},
		"floor stays":        {"-m", `lease init; mount --bind "$D/ledger.json" "$D/ledger.json"`, "ledger", "ok", "ceiling", 0, 1},
		"full":               {"-m", `mount -t tmpfs -o size=1m tmpfs "$D"; lease init; cat /dev/zero >"$D/filler" 2>/dev/null || :`, "space", "broken", "full", 1, 1},
		"hidepid":            {"-m", `lease init; chown 54321 "$D"/* "$D"; mount -t proc -o hidepid=2 proc /proc; set -- setpriv --reuid 54321 --regid 54321 --clear-groups "$@"`, "proc", "warning", "hides the processes", 0, 0},
		"foreign":            {"-mpf", `lease init`, "proc", "warning", "another pid namespace", 0, 0},
		"no process of ours": {"-m", `lease init; unshare -pf mount -t proc proc /proc`, "proc", "warning", "/proc does not show this process", 0, 0},
		"no sense in /proc":  {"-m", `lease init; mount -t tmpfs tmpfs /proc; mkdir /proc/self; echo nonsense >/proc/self/stat`, "boot", "broken", "cannot tell who this process is", 1, 1},
		"inotify nearly": {"-m", `lease init; chown 54320 "$D"/* "$D"; set -- setpriv --reuid 54320 --regid 54320 --clear-groups /usr/bin/python3 -c '
import ctypes, subprocess, sys
for _ in range(int(open("/proc/sys/fs/inotify/max_user_instances").read()) - 5): ctypes.CDLL(None).inotify_init()
sys.exit(subprocess.call(sys.argv[1:]))' "$@"`, "inotify", "warning", "soon waiters will have to poll", 0, 0},
		"inotify": {"-m", `lease init; chown 54322 "$D"/* "$D"; set -- setpriv --reuid 54322 --regid 54322 --clear-groups /usr/bin/python3 -c '
import ctypes, subprocess, sys
while ctypes.CDLL(None).inotify_init() >= 0: pass
sys.exit(subprocess.call(sys.argv[1:]))' "$@"`, "inotify", "warning", "no watcher is to be had", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, "root", "unshare", "mkfs.ext4", "setpriv", "/usr/bin/python3")
			l := NewLedger(t)
			l.Open()
			if err := os.Mkdir(l.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			in := l.Env("D="+l.Dir).In("unshare", c.namespaces, "sh", "-ec", "mount --make-rprivate /; { "+c.before+"\n} >/dev/null\nexec \"$@\"", "sh")
			examined(t, in.Run("doctor", "--json").Want(t, c.code)).finds(t, c.check, c.level, c.text)
			left := examined(t, in.Run("doctor", "--repair", "--json").Want(t, c.repaired))
			if f := left.finds(t, c.check, c.level, c.text); c.level != "ok" && f.Hint == "" {
				t.Errorf("nothing says what is left to do\n%+v", f)
			}
		})
	}
}

// Work on a ticket whose record is damaged goes on once that is mended, and its scope was never free.
func TestDoctorKeepsTheWorkOnATicket(t *testing.T) {
	t.Parallel()
	l := made(t)
	l.Run("ticket", "add", "42", "--scope", "repo/api").Want(t, 0)
	l.Run("ticket", "approve", "42").Want(t, 0)
	token := strings.TrimSpace(l.Run("ticket", "start", "42").Want(t, 0).Stdout)
	put(t, l, "tickets/42.json", []byte("{"))
	l.Run("ticket", "checkpoint", "42", "--token", token).Want(t, 74)
	l.Run("acquire", "-n", "--ttl", "1h", "repo").Want(t, 74)
	e := examined(t, l.Run("doctor", "--repair", "--json").Want(t, 0))
	if len(e.Repaired) != 1 || !strings.Contains(e.Repaired[0].Done, "made ticket 42 anew as IN_PROGRESS") {
		t.Errorf("%+v", e.Repaired)
	}
	l.Run("acquire", "-n", "--ttl", "1h", "repo").Want(t, 75).Says(t, "resource scope reserved by 42: repo/api")
	l.Run("ticket", "checkpoint", "42", "--token", token).Want(t, 0)
	l.Run("ticket", "review", "42", "--token", token).Want(t, 0)
}
