package main_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// golden is where records of known good and bad form lie, each as a record of goldenKey.
const golden = "../../testdata/ledger"

const goldenKey = "repo/api"

// put writes a file of the ledger as a hand or a power cut would leave it.
func put(t testing.TB, l *Ledger, path string, content []byte) {
	t.Helper()
	full := filepath.Join(l.Dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func goldenFile(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(golden, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// made is a ledger that exists and is empty of leases.
func made(t testing.TB) *Ledger {
	t.Helper()
	l := NewLedger(t)
	l.Run("init").Want(t, 0)
	return l
}

// oneClearLine fails unless stderr is one line that begins with "lease: " and has each of the texts, with a
// line of hint after it or without.
func oneClearLine(t testing.TB, r Result, texts ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(r.Stderr, "\n"), "\n")
	if len(lines) > 2 || len(lines) == 2 && !strings.HasPrefix(lines[1], "lease: hint: ") {
		t.Errorf("want one line, and perhaps a hint\n%v", r)
	}
	if !strings.HasPrefix(lines[0], "lease: ") || strings.HasSuffix(lines[0], ".") || len(lines[0]) > 1000 {
		t.Errorf("want a short line that begins with %q and has no full stop\n%v", "lease: ", r)
	}
	for _, text := range texts {
		if !strings.Contains(lines[0], text) {
			t.Errorf("want a line that says %q\n%v", text, r)
		}
	}
	if strings.ContainsFunc(lines[0], func(c rune) bool { return c < ' ' || c == 0x7f }) {
		t.Errorf("want a line without control characters\n%q", r.Stderr)
	}
}

// commandsOn is what can be asked of a key, with the exit code for trouble with the ledger. None of the commands may start.
func commandsOn(key string) map[int][][]string {
	return map[int][][]string{
		125: {
			{"run", "-n", key, "--", "touch", "ran"},
			{"run", key, "--", "touch", "ran"},
			{"run", "-n", key + "/below", "--", "touch", "ran"},
			{"run", "-n", "free", key, "--", "touch", "ran"},
			{"fenced", key, "--token", "7", "--", "touch", "ran"},
		},
		74: {
			{"acquire", "-n", "--ttl", "1h", key},
			{"acquire", "--ttl", "1h", key},
			{"acquire", "-n", "--ttl", "1h", filepath.Dir(key)},
			{"renew", key, "--token", "7"},
			{"release", key, "--token", "7"},
			{"transfer", key, "--token", "7", "--to-pid", "1"},
			{"check", key},
			{"check", key, "--token", "7"},
			{"break", key, "--reason", "it is in the way"},
			{"show", key},
			{"ls"},
		},
	}
}

// refusedEverywhere runs every command on goldenKey, whose file at path is content, and none may take it for free or change it.
func refusedEverywhere(t *testing.T, l *Ledger, path string, content []byte) {
	t.Helper()
	for code, commands := range commandsOn(goldenKey) {
		for _, args := range commands {
			r := l.Run(args...)
			if r.Code != code {
				t.Errorf("want exit %d\n%v", code, r)
			}
			if r.Stdout != "" && args[0] != "ls" {
				t.Errorf("want nothing on stdout\n%v", r)
			}
			oneClearLine(t, r, filepath.Join(filepath.Base(l.Dir), path))
			if now, err := os.ReadFile(filepath.Join(l.Dir, path)); err != nil || !bytes.Equal(now, content) {
				t.Fatalf("the file is not what it was: %v\n%v", err, r)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(l.Work, "ran")); err == nil {
		t.Error("a command was started")
	}
	if rec := l.Lease("free"); rec != nil {
		t.Errorf("the free key of the two was kept: %v", rec)
	}
}

// A record that cannot be trusted is never taken for a free key, whatever is wrong with it.
func TestDamagedRecordIsNeverFree(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(golden, "damaged", "*.json"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d damaged records, %v", len(files), err)
	}
	cases := map[string][]byte{
		"10 MB":           bytes.Replace(goldenFile(t, "good/lease.json"), []byte("nightly deploy"), bytes.Repeat([]byte("x"), 10<<20), 1),
		"10 MB of spaces": append(goldenFile(t, "good/lease.json"), bytes.Repeat([]byte(" "), 10<<20)...),
	}
	for _, file := range files {
		cases[strings.TrimSuffix(filepath.Base(file), ".json")] = goldenFile(t, "damaged/"+filepath.Base(file))
	}
	path := "leases/" + goldenKey + ".json"
	for name, content := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := made(t)
			put(t, l, path, content)
			refusedEverywhere(t, l, path, content)
		})
	}
}

// A record cut anywhere, as by a power cut on a file system that promises less, is never a free key.
func TestRecordCutAtEachLength(t *testing.T) {
	t.Parallel()
	l := made(t)
	path := "leases/" + goldenKey + ".json"
	whole := goldenFile(t, "good/lease.json")
	complete := len(bytes.TrimRight(whole, "\n"))
	for n := range whole {
		put(t, l, path, whole[:n])
		r := l.Run("run", "-n", goldenKey, "--", "touch", "ran")
		want := 125
		if n >= complete {
			want = 75 // only the newline is missing: nothing of the record is
		}
		if r.Code != want {
			t.Errorf("cut at %d bytes: want exit %d\n%v", n, want, r)
		}
		if now, err := os.ReadFile(filepath.Join(l.Dir, path)); err != nil || !bytes.Equal(now, whole[:n]) {
			t.Fatalf("cut at %d bytes: the file is not what it was: %v\n%v", n, err, r)
		}
		if n%97 == 0 {
			t.Run(fmt.Sprint(n, " bytes"), func(t *testing.T) { refusedEverywhere(t, l, path, whole[:n]) })
		}
	}
	if _, err := os.Stat(filepath.Join(l.Work, "ran")); err == nil {
		t.Error("a command was started")
	}
}

// A tombstone keeps the generation: one that cannot be read must not let the generation start again.
func TestDamagedTombstoneIsNeverFree(t *testing.T) {
	t.Parallel()
	path := "tombstones/" + goldenKey + ".json"
	for name, content := range map[string]string{
		"empty":      "",
		"cut":        `{"schema": 1, "key": "repo/api", "generation": 7, "revi`,
		"garbage":    "\x00\x01\x02",
		"other key":  `{"schema": 1, "key": "repo/web", "generation": 7, "revision": 21, "released_at": "2026-01-02T03:04:05.678Z", "reason": "released", "unclean": 0}`,
		"generation": `{"schema": 1, "key": "repo/api", "generation": -7, "revision": 21, "released_at": "2026-01-02T03:04:05.678Z", "reason": "released", "unclean": 0}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := made(t)
			put(t, l, path, []byte(content))
			r := l.Run("run", "-n", goldenKey, "--", "touch", "ran").Want(t, 125)
			oneClearLine(t, r, path)
			r = l.Run("acquire", "-n", "--ttl", "1h", goldenKey).Want(t, 74)
			oneClearLine(t, r, path)
			if now, err := os.ReadFile(filepath.Join(l.Dir, path)); err != nil || string(now) != content {
				t.Errorf("the file is not what it was: %v", err)
			}
			if rec := l.Lease(goldenKey); rec != nil || l.File("ran") != "" {
				t.Errorf("the key was taken: %v", rec)
			}
		})
	}
}

// One damaged record stands in nobody's way but its own.
func TestDamagedRecordLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	l := made(t)
	put(t, l, "leases/repo/api.json", nil)
	l.Run("run", "-n", "repo/web", "--", "true").Want(t, 0)
	l.Run("run", "-n", "task:42", "--", "true").Want(t, 0)
	l.Run("acquire", "-n", "--ttl", "1h", "repo/api2").Want(t, 0)
	r := l.Run("ls").Want(t, 74)
	if !strings.Contains(r.Stdout, "repo/api2") {
		t.Errorf("ls leaves out the sound records\n%v", r)
	}
}

// A record of a newer version is held, by somebody this version does not understand: never taken, never overwritten.
func TestNewerRecordIsHeld(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(golden, "newer", "*.json"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%d newer records, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			l := made(t)
			content := goldenFile(t, "newer/"+filepath.Base(file))
			path := "leases/" + goldenKey + ".json"
			put(t, l, path, content)
			for _, c := range []struct {
				code int // 0: anything but success
				args []string
			}{
				{75, []string{"run", "-n", goldenKey, "--", "touch", "ran"}},
				{75, []string{"run", "--wait", "100ms", goldenKey, "--", "touch", "ran"}},
				{75, []string{"run", "-n", goldenKey + "/below", "--", "touch", "ran"}},
				{75, []string{"acquire", "-n", "--ttl", "1h", goldenKey}},
				{75, []string{"acquire", "-n", "--ttl", "1h", "repo"}},
				{0, []string{"fenced", goldenKey, "--token", "7", "--", "touch", "ran"}},
				{0, []string{"renew", goldenKey, "--token", "7"}},
				{0, []string{"release", goldenKey, "--token", "7"}},
				{0, []string{"transfer", goldenKey, "--token", "7", "--to-pid", "1"}},
				{0, []string{"break", goldenKey, "--reason", "it is in the way"}},
			} {
				r := l.Run(c.args...)
				if r.Code == 0 || c.code != 0 && r.Code != c.code {
					t.Errorf("want exit %d\n%v", c.code, r)
				}
				oneClearLine(t, r, goldenKey)
				if now, err := os.ReadFile(filepath.Join(l.Dir, path)); err != nil || !bytes.Equal(now, content) {
					t.Fatalf("the file is not what it was: %v\n%v", err, r)
				}
			}
			l.Run("run", "-n", "repo/web", "--", "true").Want(t, 0)
			put(t, l, path, []byte(`{"schema": 99}`)) // whatever else a newer version writes, it is not damage
			l.Run("ls").Want(t, 75).Says(t, "written by a newer version")
		})
	}
}

func abs(t testing.TB, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}
