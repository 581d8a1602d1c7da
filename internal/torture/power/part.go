// Package power cuts the power: what commands do to a ledger is traced, and from every state that a power cut may leave
// on the disk the machine is started again, in another boot, and people go on.
package power

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"

	"fslease/internal/torture/kit"
)

// Part is the whole of it.
var Part = kit.Part{
	Name: "power",
	Does: "the power is cut at every step of a command, and files and names that were not synced are lost, torn or kept",
	Counts: []kit.Count{
		{Name: "crash states", Floor: 20_000},
		{Name: "failed syncs", Floor: 100},
	},
	Edits:  append([]kit.Edit{kit.Pinned}, Boot...),
	Faults: faults,
	Run:    run,
}

// variants are the ways in which grants are synced or not.
var variants = []variant{
	{"grants unsynced", false, true},
	{"boot unknown", false, false},
	{"every grant synced", true, true},
}

type variant struct {
	name    string
	sync    bool // the setting
	genuine bool // the boot id is the kernel's own
}

// lax reports whether what a process holds until it ends need not survive.
func (v variant) lax() bool { return v.genuine && !v.sync }

// A task is one row in one variant.
type task struct {
	row
	variant
	states int // to be looked at
	rand   *rand.Rand
}

func run(t *kit.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.NotRun("needs strace: %v", err)
		return
	}
	dir, err := os.MkdirTemp("/dev/shm", "lease-torture-power-")
	if err != nil {
		dir = t.Dir // slower
	} else {
		defer os.RemoveAll(dir)
	}
	work := make(chan task)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for k := range work {
				if !t.Ended() {
					b := &bench{T: t, task: k, dir: dir}
					b.run()
				}
			}
		})
	}
	for _, k := range tasks(t) {
		work <- k
	}
	close(work)
	workers.Wait()
}

// tasks chooses what a run of this share has to do: all rows in all variants if there is time for that, in a new order
// each time.
func tasks(t *kit.T) []task {
	var all []task
	for _, r := range rows {
		for _, v := range variants {
			all = append(all, task{row: r, variant: v})
		}
	}
	t.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = all[:min(len(all), t.Scale(20*len(all)))]
	for i := range all {
		all[i].states = t.Scale(23_000)/len(all) + 1
		all[i].rand = rand.New(rand.NewPCG(t.Uint64(), t.Uint64()))
	}
	return all
}

func (k task) String() string { return fmt.Sprintf("%s, %s", k.row.name, k.variant.name) }
