package ledgerfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"fslease/fslease"
	"fslease/hostproc"
)

// opened opens the ledger in dir.
func opened(t testing.TB, dir string) *Ledger {
	t.Helper()
	l, err := Open(dir, Options{Processes: hostproc.New()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// made is a new ledger and its manager.
func made(t testing.TB) (*Ledger, *fslease.Manager) {
	t.Helper()
	return madeIn(t, t.TempDir())
}

func madeIn(t testing.TB, parent string) (*Ledger, *fslease.Manager) {
	t.Helper()
	dir := filepath.Join(parent, "ledger")
	if _, err := Init(dir, false); err != nil {
		t.Fatal(err)
	}
	l := opened(t, dir)
	return l, manager(t, l)
}

func manager(t testing.TB, l *Ledger) *fslease.Manager {
	t.Helper()
	m, err := fslease.NewManager(l, fslease.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// put writes a file of the ledger as a hand does.
func put(t testing.TB, l *Ledger, name, data string) {
	t.Helper()
	full := l.file(name)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}

// filesBelow lists the files of a ledger below some folders, and the folders below those.
func filesBelow(t testing.TB, l *Ledger, dirs ...string) (names []string) {
	t.Helper()
	for _, d := range dirs {
		if err := l.walkAll(d, func(name string, _ bool) error { names = append(names, name); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// A hundred thousand keys that were used once come down to nothing while eight processes acquire among
// them: never are there two holders, never is a generation handed out that is not above all before it.
func TestCollectAmongAcquirers(t *testing.T) {
	if dir := os.Getenv("LEDGERFS_ACQUIRER"); dir != "" {
		acquireAmong(t, dir)
		return
	}
	oneShot := 100_000
	if testing.Short() {
		oneShot = 2_000
	}
	l, _ := madeIn(t, memory(t))
	for i := range oneShot {
		put(t, l, fmt.Sprintf("tombstones/job/%d.json", i), fmt.Sprintf(`{"schema":1,"key":"job/%d","generation":%d,"revision":2,"released_at":"2020-01-02T03:04:05Z","reason":"released"}`, i, i%900+1))
		put(t, l, fmt.Sprintf("locks/job/%d.lock", i), "")
		put(t, l, fmt.Sprintf("locks/job/%d.fence", i), "")
	}
	witness := t.TempDir()
	var wg sync.WaitGroup
	for i := range 8 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCollectAmongAcquirers$", "-test.count=1")
		cmd.Env = append(os.Environ(), "LEDGERFS_ACQUIRER="+l.Path(), "LEDGERFS_WITNESS="+witness, "LEDGERFS_NUMBER="+strconv.Itoa(i))
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("acquirer %d: %v\n%s", i, err, out)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var collectors sync.WaitGroup
	for range 2 {
		other := opened(t, l.Path())
		collectors.Go(func() {
			for {
				if _, err := other.Collect(context.Background(), -time.Hour, false); err != nil {
					t.Errorf("collect: %v", err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	collectors.Wait()

	if c, err := l.Collect(context.Background(), 0, false); err != nil || c.Busy > 0 {
		t.Fatalf("nobody is there any more: %+v, %v", c, err)
	}
	if left := filesBelow(t, l, leasesDir, tombstonesDir, sightingsDir, queueDir, locksDir, holdersDir); len(left) > 0 {
		t.Errorf("%d files and folders are left, such as %s", len(left), left[0])
	}
	entries, err := os.ReadDir(witness)
	if err != nil || len(entries) < 10 {
		t.Fatalf("%d keys were acquired, %v", len(entries), err)
	}
	for _, e := range entries {
		err := l.Update(context.Background(), []fslease.Key{keyOfWitness(e.Name())}, func(tx fslease.Tx) error {
			next, err := tx.NextGeneration(keyOfWitness(e.Name()), fslease.State{})
			if last := lastGeneration(t, filepath.Join(witness, e.Name())); err == nil && next <= last {
				t.Errorf("%s would get generation %d again, and had %d", e.Name(), next, last)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// memory is a directory that needs no disk, where there is one: a race is the harder the faster it runs.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "ledgerfs-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func witnessOf(k fslease.Key) string { return strings.ReplaceAll(string(k), "/", "~") + ".generation" }
func keyOfWitness(n string) fslease.Key {
	return fslease.Key(strings.ReplaceAll(strings.TrimSuffix(n, ".generation"), "~", "/"))
}

func lastGeneration(t testing.TB, file string) int64 {
	t.Helper()
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	last, err2 := strconv.ParseInt(string(data), 10, 64)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return last
}

// acquireAmong acquires keys that others want too, a key above them, and keys of its own, and checks each
// time that it is alone and that its generation is above all before.
func acquireAmong(t *testing.T, dir string) {
	witness, number := os.Getenv("LEDGERFS_WITNESS"), os.Getenv("LEDGERFS_NUMBER")
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	m := manager(t, opened(t, dir))
	for i := range rounds {
		key := fslease.Key("job/shared/" + strconv.Itoa(rand.IntN(6)))
		switch i % 8 {
		case 3:
			key = "job/shared"
		case 5:
			key = fslease.Key(fmt.Sprintf("job/%s/%d", number, i))
		case 6:
			key = fslease.Key("job/" + strconv.Itoa(rand.IntN(2_000)))
		}
		lease, err := m.AcquireRequest(context.Background(), fslease.Request{Keys: []fslease.Key{key}, Wait: fslease.Forever, Fence: true})
		if err != nil {
			t.Fatalf("acquire %s: %v", key, err)
		}
		inside := filepath.Join(witness, "..", "inside-"+filepath.Base(witness))
		if err := os.MkdirAll(inside, 0o700); err != nil {
			t.Fatal(err)
		}
		mark := filepath.Join(inside, strings.ReplaceAll(string(key), "/", "~"))
		f, err := os.OpenFile(mark, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			t.Fatalf("two holders of %s: %v", key, err)
		}
		_ = f.Close()
		others, err := os.ReadDir(inside)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range others {
			if k := fslease.Key(strings.ReplaceAll(o.Name(), "~", "/")); k != key && k.Overlaps(key) {
				t.Fatalf("%s and %s are held at once", k, key)
			}
		}
		token := lease.Token()
		file := filepath.Join(witness, witnessOf(key))
		if last := lastGeneration(t, file); token <= last {
			t.Fatalf("%s got generation %d after %d", key, token, last)
		}
		if err := os.WriteFile(file, []byte(strconv.FormatInt(token, 10)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(mark); err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			t.Fatalf("release %s: %v", key, err)
		}
	}
}
