package procinfo

import "testing"

func TestAncestors(t *testing.T) {
	me, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	parent := start(t, helperCommand("child", "ancestors"))
	chain := read[[]Identity](t, parent)
	if len(chain) < 2 || chain[0].PID != parent.Process.Pid || chain[1].PID != me.PID {
		t.Fatalf("%+v", chain)
	}
	for i, id := range Ancestors() {
		if got := chain[i+2]; got.PID != id.PID || got.StartTime != id.StartTime {
			t.Errorf("ancestor %d: %+v, not %+v", i+2, got, id)
		}
	}
	got := chain[1]
	if got.StartTime != me.StartTime || got.BootID != me.BootID || got.PIDNS != me.PIDNS || got.TimeNS != me.TimeNS {
		t.Errorf("%+v, not %+v", got, me)
	}
	want(t, Judge(got, true), Alive, "is running")
}

// Who is outside the pid namespace has no number in it.
func TestAncestorsInAPIDNamespace(t *testing.T) {
	h := start(t, in(t, newPIDNS, helperCommand("mount-proc", "", "child", "ancestors")))
	if chain := read[[]Identity](t, h); len(chain) != 1 || chain[0].PID != 1 {
		t.Errorf("%+v", chain)
	}
	h = start(t, in(t, newPIDNS, helperCommand("child", "ancestors")))
	if chain := read[[]Identity](t, h); len(chain) != 0 {
		t.Errorf("read from the /proc of another namespace: %+v", chain)
	}
}

func TestAncestorsOfFixtures(t *testing.T) {
	chain := fixtures.ancestors(Identity{BootID: "b"}, 4243)
	if len(chain) != 3 || chain[0].PID != 4242 || chain[1].PID != 900 || chain[2].PID != 1 || chain[2].StartTime != 26 || chain[2].BootID != "b" {
		t.Errorf("%+v", chain)
	}
	// A parent that is younger than its child got the number of the real one.
	if chain := procfs("../testdata/proc/reparented").ancestors(Identity{}, 5); len(chain) != 0 {
		t.Errorf("%+v", chain)
	}
}
