package scarcity

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fslease/internal/torture/kit"
)

// lasting are the wants that a holder and a waiter live through. Each begins and ends whenever it is told.
var lasting = []want{
	{name: "a ledger that was moved away", says: []string{"moved or replaced"}, begin: movedAway},
	{name: "a closed ledger", as: nobody, says: []string{"permission denied"}, before: owned,
		begin: func(_ *kit.T, l *kit.Ledger) (*kit.Ledger, func() error, error) {
			return l, func() error { return os.Chmod(l.Dir, 0o700) }, os.Chmod(l.Dir, 0)
		}},
	{name: "a disk that runs full", says: []string{"no space left"}, before: tmpfs("size=256k"),
		begin: func(_ *kit.T, l *kit.Ledger) (*kit.Ledger, func() error, error) {
			filler := filepath.Join(l.Dir, "leases", ".filler.tmp")
			err := os.WriteFile(filler, make([]byte, 1<<20), 0o600)
			if errors.Is(err, syscall.ENOSPC) {
				err = nil
			}
			return l, func() error { return os.Remove(filler) }, err
		}},
}

func movedAway(_ *kit.T, l *kit.Ledger) (*kit.Ledger, func() error, error) {
	away := l.Dir + ".away"
	end := func() error {
		if _, err := os.Lstat(l.Dir); err == nil {
			return fmt.Errorf("another ledger was made in its place")
		}
		return os.Rename(away, l.Dir)
	}
	return l, end, os.Rename(l.Dir, away)
}

// live has one want come over a holder who renews and a waiter, for a moment or for good. Over a moment the holder goes
// on; otherwise its command is told in time, and when all is as before the key is free.
func live(t *kit.T, i int) {
	w, short := lasting[i%len(lasting)], t.IntN(2) == 0
	alone(t, func() { w.live(t, short) })
	t.Made("lives in want", 1)
}

func (w want) live(t *kit.T, short bool) {
	l := t.Ledger()
	defer l.Close()
	if w.as != 0 {
		l = l.In("setpriv", "--reuid", fmt.Sprint(w.as), "--regid", fmt.Sprint(w.as), "--clear-groups")
	}
	if w.before != nil {
		if err := w.before(t, l); err != nil {
			t.NotRun("%s: %v", w.name, err)
			return
		}
	}
	ttl := "1500ms"
	if short {
		ttl = "120s"
	}
	holder := l.Start("run", "--ttl", ttl, "--heartbeat", "200ms", "k", "--", "sh", "-c",
		`trap 'echo told; exit 3' TERM; echo up; while :; do sleep 0.05; done`)
	if !l.Until("the holder's command runs", func() bool { return holder.Out.String() != "" }) {
		return
	}
	waiter := l.Start("run", "k", "--", "echo", "ran")
	l.Until("the waiter is in the queue", func() bool { return exists(filepath.Join(l.Dir, "queue/k/000001.json")) })
	_, end, err := w.begin(t, l)
	if err != nil {
		t.Violate("%s cannot be made: %v", w.name, err)
		return
	}
	if short {
		time.Sleep(300 * time.Millisecond)
	} else if r := holder.Wait(); r.Code != 76 || !strings.Contains(r.Stdout, "told") || !strings.Contains(r.Stderr, "cannot renew") {
		t.Violate("%s, for good: the holder should have told its command and ended with 76\n%v", w.name, r)
	}
	if err := end(); err != nil {
		t.Violate("%s cannot be ended: %v", w.name, err)
		return
	}
	if short {
		was := revision(l)
		l.Until(w.name+" is over, and the holder renews", func() bool { return revision(l) > was })
		if r := l.Run("check", "k", "--token", "1"); r.Code != 0 || strings.Contains(holder.Out.String(), "told") {
			t.Violate("%s, for a moment: the holder did not go on\n%v%s%s", w.name, r, holder.Out.String(), holder.Err.String())
		}
		_ = holder.Process.Signal(syscall.SIGTERM)
		if r := holder.Wait(); r.Code != 3 {
			t.Violate("%s, for a moment: the command's own code is 3\n%v", w.name, r)
		}
	}
	// The waiter was told, or has waited through it all.
	r := waiter.Wait()
	told := r.Code == 125 && unclear(act{args: []string{"run"}}, r, w.says) == ""
	if !told && (r.Code != 0 || r.Stdout != "ran\n") {
		t.Violate("%s: a waiter should have been told, or have got the key after all\n%v", w.name, r)
	}
	r = l.Run("acquire", "-n", "--ttl", "1h", "k")
	if r.Code != 0 || strings.TrimSpace(r.Stdout) == "1" {
		t.Violate("after %s nobody has the key, and it was held before\n%v", w.name, r)
	}
	if left, _ := filepath.Glob(filepath.Join(l.Dir, "*", ".*")); len(left) > 0 {
		t.Violate("after %s this is left: %v", w.name, left)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func revision(l *kit.Ledger) int64 {
	data, _ := os.ReadFile(filepath.Join(l.Dir, "leases/k.json"))
	var r struct{ Revision int64 }
	_ = json.Unmarshal(data, &r)
	return r.Revision
}
