package queue

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"fslease/internal/torture/kit"
)

// busy is how many processes a core has to do.
const busy = 5

// underLoad holds a lease at nice 19 among busy processes. It must not be lost, nobody may take it, and who waits at nice 19 gets it
// afterwards.
func underLoad(t *kit.T) {
	witness, err := t.Witness()
	if err != nil {
		panic(err)
	}
	l := t.Ledger()
	defer l.Close()
	witness = witness.On(l)
	if !quiet(t) {
		return
	}
	for range busy * runtime.NumCPU() {
		l.StartSh("while :; do :; done")
	}
	nicely := l.In("nice", "-n", "19")
	began := kit.Mono()
	holder := nicely.Start(append([]string{"run", "--ttl", "3s", "k", "--"}, witness.Command("holder", time.Duration(t.Scale(60))*time.Second)...)...)
	if !l.Until("the holder's command runs", func() bool { return len(witness.Log()) == 1 }) {
		return
	}
	next := nicely.Start(append([]string{"run", "-q", "--ttl", "3s", "k", "--"}, witness.Command("next", 0)...)...)
	runnable, looks := 0, 0
	for ; !ended(holder) && !t.Ended(); looks++ {
		runnable += running()
		l.Run(append([]string{"run", "-q", "-n", "k", "--"}, witness.Command(fmt.Sprint(looks), 0)...)...) // clashes if it is let in
		time.Sleep(200 * time.Millisecond)
	}
	held, waited := holder.Wait(), next.Wait()
	if others := runnable/max(looks, 1) - busy*runtime.NumCPU(); others > busy*runtime.NumCPU() { // some are its own, for a moment each; it was quiet before
		t.NotRun("a lease under load: needs a machine on which nothing else runs, but there were %d more busy processes", others)
		return
	}
	if held.Code != 0 {
		t.Violate("the holder lost its lease of 3s under load: %s", held)
	}
	if waited.Code != 0 {
		t.Violate("the waiter did not get its turn under load: %s", waited)
	}
	if works := witness.Log(); len(works) < 2 || works[1].ID != "next" {
		t.Violate("the waiter was to run after the holder, but there ran %v", works)
	}
	t.Made(loaded, int(time.Duration(kit.Mono()-began)/time.Second))
}

// quiet reports whether the machine has little else to do.
func quiet(t *kit.T) bool {
	sum := 0
	const looks = 20
	for range looks {
		sum += running()
		time.Sleep(100 * time.Millisecond)
	}
	if sum > looks*2*runtime.NumCPU() {
		t.NotRun("a lease under load: needs a machine on which nothing else runs, but %d processes are busy", sum/looks)
	}
	return sum <= looks*2*runtime.NumCPU()
}

// running is how many processes of the machine want to run.
func running() int {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	var one, five, fifteen float64
	var n int
	_, _ = fmt.Sscanf(string(raw), "%f %f %f %d/", &one, &five, &fifteen, &n)
	return n
}
