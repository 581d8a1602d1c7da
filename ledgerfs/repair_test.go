package ledgerfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// golden returns the records of that kind.
func golden(t *testing.T, kind string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "testdata", "ledger", kind, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	records := map[string][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		records[strings.TrimSuffix(filepath.Base(f), ".json")] = data
	}
	return records
}

// asideOf lists what was set aside.
func asideOf(t *testing.T, l *Ledger) []string {
	t.Helper()
	return slices.DeleteFunc(filesBelow(t, l, "."), func(name string) bool { return !isAside(name) })
}

// ceiling is that of the ledger.
func ceiling(t *testing.T, l *Ledger) int64 {
	t.Helper()
	c, err := l.readConfig()
	if err != nil {
		t.Fatal(err)
	}
	return c.Ceiling
}

// A damaged record of whatever kind is found, named, and keeps the key from everybody. Repair keeps it
// aside, and the key goes on above every generation that it may have had.
func TestRepairDamagedRecords(t *testing.T) {
	for name, data := range golden(t, "damaged") {
		for _, folder := range []string{leasesDir, tombstonesDir} {
			if folder == tombstonesDir && strings.HasPrefix(name, "holder-") {
				continue // a tombstone need not name its holder
			}
			t.Run(folder+"/"+name, func(t *testing.T) {
				l, m := made(t)
				acquired(t, m, "other")
				file := folder + "/repo/api.json"
				put(t, l, file, string(data))
				f := finds(t, l.Examine(ctx, nil), "records", Broken, "damaged")
				if f.Path != l.file(file) || f.Key != "repo/api" || f.Hint == "" {
					t.Errorf("%+v", f)
				}
				if _, err := m.Acquire(ctx, "repo/api"); !isDamaged(err) {
					t.Fatalf("acquired: %v", err)
				}
				before := ceiling(t, l)
				done := repair(t, l)
				if len(done) != 1 || done[0].Finding.Path != l.file(file) {
					t.Errorf("%+v", done)
				}
				aside := asideOf(t, l)
				if len(aside) != 1 || !strings.HasPrefix(aside[0], folder+"/repo/.api.json.damaged-") || !strings.Contains(done[0].Done, aside[0]) {
					t.Fatalf("set aside: %v", aside)
				}
				if kept, err := os.ReadFile(l.file(aside[0])); err != nil || !bytes.Equal(kept, data) {
					t.Errorf("kept %q, %v", kept, err)
				}
				for _, f := range l.Examine(ctx, nil) {
					if f.Level != OK {
						t.Errorf("%+v", f)
					}
				}
				if gen := acquired(t, m, "repo/api"); gen <= before {
					t.Errorf("generation %d, which may have been handed out: the ceiling was %d", gen, before)
				}
				if e := journalOf(t, l, "repo/api"); !slices.Contains(e, eventRepaired) {
					t.Errorf("the journal says %v", e)
				}
			})
		}
	}
}

func journalOf(t *testing.T, l *Ledger, prefix fslease.Key) (names []string) {
	t.Helper()
	if _, err := l.Journal(ctx, Filter{Prefix: prefix}, false, func(e fslease.Event) error { names = append(names, e.Event); return nil }); err != nil {
		t.Fatal(err)
	}
	return names
}

// A record of a newer version is no damage, and stays as it is.
func TestRepairLeavesNewerRecords(t *testing.T) {
	for name, data := range golden(t, "newer") {
		l, _ := made(t)
		put(t, l, "leases/repo/api.json", string(data))
		found := l.Examine(ctx, nil)
		finds(t, found, "records", Warning, "newer version")
		nothingBroken(t, found)
		repair(t, l)
		if now, err := os.ReadFile(l.file("leases/repo/api.json")); err != nil || !bytes.Equal(now, data) {
			t.Errorf("%s is %q, %v", name, now, err)
		}
	}
}

// What is no regular file is found wherever a file is expected, and set aside without being followed.
func TestRepairWhatIsNoFile(t *testing.T) {
	id := strings.Repeat("a", 32)
	for _, name := range []string{configLock, "leases/k.json", "tombstones/k.json", "locks/k.lock", "locks/k.fence", "tickets/7.json", "sessions/7/1.json",
		holderPath(id), commandPath(id), orphanPath(id), "queue/k/000001.json", "sightings/k.json", "journal/2026-01.jsonl"} {
		for kind, plant := range map[string]func(full string) error{
			"link":      func(full string) error { return os.Symlink("/etc/hostname", full) },
			"FIFO":      func(full string) error { return unix.Mkfifo(full, 0o600) },
			"directory": func(full string) error { return os.Mkdir(full, 0o700) },
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				l, m := made(t)
				if err := os.MkdirAll(filepath.Dir(l.file(name)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := plant(l.file(name)); err != nil {
					t.Fatal(err)
				}
				if f := finds(t, l.Examine(ctx, nil), "records", Broken, "not a regular file"); f.Path != l.file(name) {
					t.Errorf("%+v", f)
				}
				repair(t, l)
				nothingBroken(t, l.Examine(ctx, nil))
				if aside := asideOf(t, l); len(aside) != 1 {
					t.Errorf("set aside: %v", aside)
				}
				acquired(t, m, "k")
			})
		}
	}
}

// Without a usable ledger.json nothing can be granted. A new one goes on above everything on record, and
// above what records that are gone may have had.
func TestRepairConfig(t *testing.T) {
	for name, spoil := range map[string]func(full string) error{
		"missing": os.Remove,
		"empty":   func(full string) error { return os.WriteFile(full, nil, 0o600) },
		"garbage": func(full string) error { return os.WriteFile(full, []byte("\x00\x01"), 0o600) },
		"ceiling lost": func(full string) error {
			return os.WriteFile(full, []byte(`{"schema": 1, "id": "x", "floor": 70000}`), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, m := made(t)
			acquired(t, m, "held")
			put(t, l, "tombstones/k.json", tombstone("k", 5000, "2026-01-02T03:04:05Z"))
			put(t, l, "journal/2026-01.jsonl", `{"at":"2026-01-02T03:04:05Z","event":"granted","key":"gone","generation":6000,"by":{"user":"","pid":0,"host":""}}`+"\n")
			if err := spoil(l.file(configFile)); err != nil {
				t.Fatal(err)
			}
			finds(t, l.Examine(ctx, nil), "ledger", Broken, configFile)
			repair(t, l)
			nothingBroken(t, l.Examine(ctx, nil))
			least := int64(6000)
			if name == "ceiling lost" {
				least = 70000
			}
			for _, key := range []string{"gone", "new"} {
				if gen := acquired(t, m, key); gen <= least+lostStep/2 {
					t.Errorf("%s got generation %d", key, gen)
				}
			}
			if _, err := m.Acquire(ctx, "held"); !errors.Is(err, fslease.ErrHeld) {
				t.Errorf("what was held is %v", err)
			}
		})
	}
	for name, text := range map[string]string{
		"an unknown setting": `{"schema": 1, "id": "x", "ceiling": 1000, "floor": 0, "settings": {"colour": true}}`,
		"newer":              `{"schema": 2, "id": "x", "ceiling": 1000, "floor": 0}`,
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := made(t)
			put(t, l, configFile, text)
			finds(t, l.Examine(ctx, nil), "ledger", Broken, configFile)
			l.Repair(ctx)
			if now, err := os.ReadFile(l.file(configFile)); err != nil || string(now) != text {
				t.Errorf("%q, %v", now, err)
			}
		})
	}
}

// If ledger.json was set back, records are above its ceiling although they are good. Whoever lives goes on.
func TestRepairCeilingThatWasSetBack(t *testing.T) {
	l, m := made(t)
	if _, err := l.changeConfig(func(c *config) { c.Ceiling, c.Floor = 9000, 8600 }); err != nil {
		t.Fatal(err)
	}
	lease, err := m.Acquire(ctx, "living")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.changeConfig(func(c *config) { c.Ceiling, c.Floor = 1000, 0 }); err != nil {
		t.Fatal(err)
	}
	put(t, l, "tombstones/k.json", tombstone("k", 8500, "2026-01-02T03:04:05Z"))
	finds(t, l.Examine(ctx, nil), "records", Broken, "above the ceiling")
	repair(t, l)
	nothingBroken(t, l.Examine(ctx, nil))
	if err := lease.Renew(ctx); err != nil {
		t.Errorf("the living holder lost its lease: %v", err)
	}
	if gen := acquired(t, m, "k"); gen <= 8500 {
		t.Errorf("generation %d again", gen)
	}
}

// The floor is raised before a damaged record goes: whoever comes in between is above it too.
func TestRepairRaisesTheFloorFirst(t *testing.T) {
	l, _ := made(t)
	put(t, l, "leases/k.json", "{")
	moved := false
	l.fsys = spy{l.dir, func(op, name string) {
		if op == "rename" && isAside(name) {
			moved = true
			if c, err := l.readConfig(); err != nil || c.Floor != c.Ceiling {
				t.Errorf("%+v, %v", c, err)
			}
		}
	}}
	repair(t, l)
	if !moved {
		t.Error("nothing was set aside")
	}
}

// A holder whose record is damaged is told at its next renewal, and whoever comes next waits for its command.
func TestRepairUnderALivingHolder(t *testing.T) {
	l, m := made(t)
	lease, err := m.AcquireRequest(ctx, fslease.Request{Keys: []fslease.Key{"k"}, TTL: time.Hour, Fence: true})
	if err != nil {
		t.Fatal(err)
	}
	put(t, l, "leases/k.json", "{")
	repair(t, l)
	none := time.Duration(0)
	var held *fslease.HeldError
	other := manager(t, opened(t, l.path))
	if _, err := other.AcquireRequest(ctx, fslease.Request{Keys: []fslease.Key{"k"}, Fence: true, FenceWait: &none}); !errors.As(err, &held) || held.Blocking != nil {
		t.Errorf("the next one did not wait for the fence: %v", err)
	}
	if err := lease.Renew(ctx); !errors.Is(err, fslease.ErrLost) {
		t.Errorf("the holder was told %v", err)
	}
}

// A command that outlived its killed wrapper is waited for, although the record that named it is damaged.
func TestRepairNotesCommandsThatRun(t *testing.T) {
	l, m := made(t)
	p, err := l.Announce(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if err := p.(*Presence).NoteCommand([]fslease.Record{{Key: "k", Generation: 1}}, processOf(t, cmd.Process.Pid)); err != nil {
		t.Fatal(err)
	}
	p.(*Presence).drop()
	put(t, l, "leases/k.json", "{")
	repair(t, l)
	acquired(t, m, "k")
	if f, keepers, err := l.TryFence(ctx, []fslease.Key{"k"}); f != nil || err != nil || len(keepers) != 1 || keepers[0].PID != int64(cmd.Process.Pid) {
		t.Errorf("the fence is %v, kept by %v, %v", f, keepers, err)
	}
}

// What a crash left, and what somebody put there.
func TestRepairLeftovers(t *testing.T) {
	l, m := made(t)
	lease, err := m.Acquire(ctx, "k")
	if err != nil {
		t.Fatal(err)
	}
	record, err := os.ReadFile(l.file("leases/k.json"))
	if err != nil || lease.Release() != nil {
		t.Fatal(err)
	}
	put(t, l, "leases/k.json", string(record)) // its tombstone was written, and then came the crash
	put(t, l, "leases/.k.json.tmp", "{")
	put(t, l, "sightings/k.json", "{")
	put(t, l, "queue/k/000007~turn", "{}")
	put(t, l, "leases/repo/notes.txt", "of a person")
	put(t, l, "thesis.tex", "")
	put(t, l, "holders/thesis.tex", "")
	if err := os.Symlink("/tmp", l.file("leases/elsewhere")); err != nil {
		t.Fatal(err)
	}
	found := l.Examine(ctx, nil)
	finds(t, found, "records", Warning, "given up already")
	finds(t, found, "litter", Warning, "1 queue entry of a dead waiter, 1 sighting of no lease, 1 lease that was given up, 1 temporary file")
	finds(t, found, "records", Broken, "notes.txt is damaged: it is no record")
	finds(t, found, "records", Broken, "a link where a folder or nothing should be")
	finds(t, found, "strangers", Warning, "nothing of lease's")
	repair(t, l)
	found = l.Examine(ctx, nil)
	if f := finds(t, found, "records", Broken, "a link"); f.Path != l.file("leases/elsewhere") || !strings.Contains(f.Hint, "in its place") {
		t.Errorf("left to do: %+v", f)
	}
	if err := os.Remove(l.file("leases/elsewhere")); err != nil {
		t.Fatal(err)
	}
	nothingBroken(t, l.Examine(ctx, nil))
	for _, name := range []string{"leases/k.json", "leases/.k.json.tmp", "sightings/k.json", "queue/k/000007~turn", "leases/repo/notes.txt"} {
		if l.has(name) {
			t.Errorf("%s is still there", name)
		}
	}
	if !l.has("thesis.tex") {
		t.Error("what is in nobody's way was taken away")
	}
}

// A torn line of the journal is told, and in nobody's way.
func TestExamineTornJournal(t *testing.T) {
	l := withJournal(t)
	found := l.Examine(ctx, nil)
	finds(t, found, "journal", Warning, "3 lines are cut off")
	nothingBroken(t, found)
}

// What the end of a boot tore is set aside by the first change of the next one: no promise is broken.
func TestExamineAfterAPowerCut(t *testing.T) {
	l, m := made(t)
	acquired(t, m, "other")
	if _, err := l.changeConfig(func(c *config) { c.BootID = "another" }); err != nil {
		t.Fatal(err)
	}
	put(t, l, "leases/k.json", "")
	id := strings.Repeat("a", 32)
	put(t, l, orphanPath(id), "\x00\x00") // a note that keeps everybody from every fence
	put(t, l, commandPath(id), "{")
	found := l.Examine(ctx, nil)
	for _, name := range []string{"k.json", id + ".json", id + ".command.json"} {
		if f := finds(t, found, "records", Warning, name+" is damaged"); !strings.Contains(f.Hint, "power cut") {
			t.Errorf("%+v", f)
		}
	}
	nothingBroken(t, found)
	before := ceiling(t, l)
	if gen := acquired(t, m, "k"); gen <= before {
		t.Errorf("generation %d again", gen)
	}
	if l.has(orphanPath(id)) || l.has(commandPath(id)) {
		t.Error("a note that nobody can read is in everybody's way")
	}
}

// Two living holders of overlapping keys are the worst that can be found, and nothing that can be mended.
func TestExamineOverlappingHolders(t *testing.T) {
	l, m := made(t)
	acquired(t, m, "repo")
	lease, err := m.Acquire(ctx, "other")
	if err != nil {
		t.Fatal(err)
	}
	rec := lease.Records()[0]
	rec.Key = "repo/api"
	data, err := rec.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	put(t, l, "leases/repo/api.json", string(data))
	f := finds(t, l.Examine(ctx, nil), "holders", Broken, fmt.Sprintf("pid %d", os.Getpid()))
	if f.Key != "repo/api" || !strings.Contains(f.Hint, "lease break") {
		t.Errorf("%+v", f)
	}
	repair(t, l)
	finds(t, l.Examine(ctx, nil), "holders", Broken, "above it")
}
