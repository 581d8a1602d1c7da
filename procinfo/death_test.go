package procinfo

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
)

func openDeath(t *testing.T, id Identity) *Death {
	t.Helper()
	d, err := OpenDeath(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func wantWake(t *testing.T, d *Death) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := d.Wait(ctx); err != nil {
		t.Fatal("the death was never noticed: ", err)
	}
	select {
	case <-d.Done():
	default:
		t.Error("Wait returned, but Done is open")
	}
}

func wantAsleep(t *testing.T, d *Death) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := d.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait for a living process: %v", err)
	}
}

// Death is noticed before the parent reaps the process: that may never happen.
func TestDeathOfAZombie(t *testing.T) {
	h, id := startLive(t, helperCommand("live"))
	d, second := openDeath(t, id), openDeath(t, id)
	wantAsleep(t, d)
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wantWake(t, d)
	wantWake(t, second)
	want(t, Judge(id, true), Dead, "zombie")
	if _, err := OpenDeath(id); !errors.Is(err, ErrNoProcess) {
		t.Errorf("opened for a zombie: %v", err)
	}
	h.end()
	if _, err := OpenDeath(id); !errors.Is(err, ErrNoProcess) {
		t.Errorf("opened for a process that is gone: %v", err)
	}
}

func TestDeathIsThatOfTheLastThread(t *testing.T) {
	h, id := startLive(t, helperCommand("end-first-thread"))
	d := openDeath(t, id)
	if _, err := h.in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	untilState(t, id.PID, 'Z')
	wantAsleep(t, d)
	if err := h.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wantWake(t, d)
}

// Another process than the one that was meant is not waited for.
func TestDeathOfAnother(t *testing.T) {
	_, id := startLive(t, helperCommand("live"))
	id.StartTime++
	if _, err := OpenDeath(id); !errors.Is(err, ErrNoProcess) {
		t.Errorf("another start time: %v", err)
	}
	id.StartTime--
	id.PIDNS++
	if _, err := OpenDeath(id); err == nil || errors.Is(err, ErrNoProcess) {
		t.Errorf("another pid namespace: %v", err)
	}
}

func TestClosedDeathLeavesNothing(t *testing.T) {
	h, id := startLive(t, helperCommand("live"))
	openDeath(t, id).Close() // what the runtime keeps for itself is there now
	count := func() (descriptors, goroutines int) { return openFiles(t), runtime.NumGoroutine() }
	var descriptors, goroutines int
	until(t, "the first watcher ends", func() bool {
		was := goroutines
		descriptors, goroutines = count()
		return was == goroutines
	})
	var deaths []*Death
	for range 50 {
		d, err := OpenDeath(id)
		if err != nil {
			t.Fatal(err)
		}
		deaths = append(deaths, d)
	}
	for _, d := range deaths {
		d.Close()
	}
	until(t, "all is freed", func() bool {
		d, g := count()
		return d <= descriptors && g <= goroutines
	})
	h.end()
	for _, d := range deaths {
		select {
		case <-d.Done():
			t.Fatal("a closed Death was woken")
		default:
		}
	}
}
