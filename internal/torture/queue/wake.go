package queue

import (
	"os/exec"
	"path/filepath"
	"time"

	"fslease/internal/torture/kit"
)

// The watch of a waiter is held up for so long. Its timer ends a second later at the earliest.
const (
	heldUp = 700 * time.Millisecond
	timer  = time.Second
)

// wake releases a key while its waiter is about to watch it: what happened before the watch must be seen after it, not when a timer
// ends. Where it was not, it is looked at twice more: any machine may be slow for a moment.
func wake(t *kit.T, witness *kit.Witness) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.NotRun("releases before a watch was made: needs strace")
		return
	}
	slow, tooLate := 0, 0
	for done := 0; done < t.Scale(10) && !t.Ended(); {
		took, ok := wakeOnce(t, witness)
		switch {
		case ok && took < heldUp+timer:
			slow, tooLate = 0, 0
			done++
			t.Made(wakes, 1)
		case ok:
			if slow++; slow == 3 {
				t.Violate("a key was released before its waiter watched it, and the waiter began after %v, three times: it slept until its timer", took)
				return
			}
		default:
			if tooLate++; tooLate == 20 {
				t.NotRun("releases before a watch was made: needs a machine that is less busy")
				return
			}
		}
	}
}

// wakeOnce returns how long after it had entered the queue the waiter's command began. It is not ok if the machine is
// so slow that this says nothing.
func wakeOnce(t *kit.T, witness *kit.Witness) (took time.Duration, ok bool) {
	l := t.Ledger()
	defer l.Close()
	witness = witness.On(l)
	if got := l.Run("acquire", "--ttl", "1h", "k"); got.Code != 0 {
		t.Violate("nobody holds k: %s", got)
	}
	slowly := l.In("strace", "-f", "-qq", "-o", filepath.Join(l.Work, "trace"), "-e", "trace=inotify_add_watch", "-e", "inject=inotify_add_watch:delay_enter=700ms")
	w := slowly.Start(append([]string{"run", "-q", "k", "--"}, witness.Command("w", 0)...)...)
	if !l.Until("it stands in line", func() bool { return len(places(l.Dir)) > 0 }) {
		return 0, false
	}
	queued := kit.Mono()
	time.Sleep(heldUp / 5) // it reads before it watches, or it does not; a command takes some ten milliseconds
	if got := l.Run("release", "k", "--token", "1"); got.Code != 0 {
		t.Violate("the token is current: %s", got)
	}
	inTime := time.Duration(kit.Mono()-queued) < heldUp/2
	if got := w.Wait(); got.Code != 0 {
		t.Violate("it waited for a key that was released: %s", got)
		return 0, false
	}
	return time.Duration(witness.Log()[0].Start - queued), inTime
}
