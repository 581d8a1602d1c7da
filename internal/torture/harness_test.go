package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"fslease/internal/torture/kit"
)

// build stands for the builds of the command: one with edits has another name.
func build(dir, name string, edits ...kit.Edit) (string, error) {
	for _, e := range edits {
		name += "-" + e.New
	}
	return filepath.Join(dir, name), nil
}

// torture runs the harness with parts of its own.
func torture(parts []kit.Part, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = harness{parts, build}.run(append([]string{"--seed", "7"}, args...), &out, &err)
	return code, out.String(), err.String()
}

// want fails the test unless the harness ended so and said all of this.
func want(t *testing.T, code int, output string, wantCode int, says ...string) {
	t.Helper()
	for _, s := range says {
		if !strings.Contains(output, s) {
			t.Errorf("it does not say %q", s)
		}
	}
	if code != wantCode {
		t.Errorf("exit code %d, not %d", code, wantCode)
	}
	if t.Failed() {
		t.Log(output)
	}
}

// makes is a part that makes some things, and violates what it is told to.
func makes(n int, violate func(*kit.T) bool) kit.Part {
	return kit.Part{Name: "part", Does: "makes things", Counts: []kit.Count{{Name: "things", Floor: 20}}, Run: func(t *kit.T) {
		t.Made("things", n)
		if violate(t) {
			t.Violate("a thing broke")
		}
	}}
}

func never(*kit.T) bool { return false }

func TestFloor(t *testing.T) {
	code, out, _ := torture([]kit.Part{makes(20, never)})
	want(t, code, out, 0, "things", "1 parts, 0 faults, 0 not run")

	code, out, _ = torture([]kit.Part{makes(19, never)})
	want(t, code, out, 1, "VIOLATION part: only 19 things were made, 20 are the least")

	code, out, _ = torture([]kit.Part{makes(0, never)}, "--share", "0.001")
	want(t, code, out, 1, "only 0 things were made, 1 are the least")

	code, out, _ = torture([]kit.Part{makes(2, never)}, "--share", "0.1")
	want(t, code, out, 0)
}

func TestViolation(t *testing.T) {
	code, out, log := torture([]kit.Part{makes(20, never), makes(20, func(*kit.T) bool { return true })})
	want(t, code, out+log, 1, "VIOLATION part: a thing broke", "part: VIOLATION a thing broke", "2 parts")

	broken := kit.Part{Name: "broken", Run: func(*kit.T) { panic("out of luck") }}
	code, out, _ = torture([]kit.Part{broken})
	want(t, code, out, 1, "the part itself broke: out of luck")
}

func TestNotRun(t *testing.T) {
	part := makes(0, func(t *kit.T) bool {
		t.NotRun("half of it: needs root")
		return false
	})
	code, out, _ := torture([]kit.Part{part, makes(20, never)})
	want(t, code, out, 0, "not run: part: half of it: needs root", "2 parts, 0 faults, 1 not run")
}

func TestFaults(t *testing.T) {
	inFault := func(t *kit.T) bool { return strings.HasSuffix(t.Binary, "-mistake") }
	fault := kit.Fault{Name: "wrong", Rule: "is right", Share: 0.5, Edits: []kit.Edit{{New: "mistake"}}}

	part := makes(20, inFault)
	part.Faults = []kit.Fault{fault}
	code, out, _ := torture([]kit.Part{part})
	want(t, code, out, 0, "wrong (part)", "caught", "1 parts, 1 faults")

	part = makes(20, never)
	part.Faults = []kit.Fault{fault}
	code, out, _ = torture([]kit.Part{part})
	want(t, code, out, 1, "NOT CAUGHT")

	// A floor that is missed catches nothing.
	part = makes(0, never)
	part.Faults = []kit.Fault{fault}
	code, out, _ = torture([]kit.Part{part}, "--only", "faults")
	want(t, code, out, 1, "NOT CAUGHT", "0 parts, 1 faults")

	// The first violation ends such a run.
	rounds := 0
	part = kit.Part{Name: "part", Faults: []kit.Fault{fault}, Run: func(t *kit.T) {
		for ; !t.Ended() && rounds < 100; rounds++ {
			t.Violate("broken")
		}
	}}
	code, out, _ = torture([]kit.Part{part}, "--only", "fault:wrong")
	want(t, code, out, 0, "caught")
	if rounds != 1 {
		t.Errorf("%d rounds after the first violation", rounds)
	}
}

// An edit that fits the source no longer is reported: the fault would be none.
func TestEdits(t *testing.T) {
	for name, edit := range map[string]kit.Edit{
		"stands there 0 times":          {File: "cmd/lease/main.go", Old: "no such text", New: "x"},
		"not once":                      {File: "cmd/lease/main.go", Old: "a", New: "x"},
		"no_such_file.go: no such file": {File: "cmd/lease/no_such_file.go", Old: "a", New: "x"},
		"syntax error":                  {File: "cmd/lease/added.go", New: "package main\n\nfunc {"},
	} {
		part := makes(20, never)
		part.Faults = []kit.Fault{{Name: "old", Share: 1, Edits: []kit.Edit{edit}}}
		var out bytes.Buffer
		code := harness{[]kit.Part{part}, kit.Build}.run([]string{"--only", "faults", "--quiet"}, &out, &out)
		want(t, code, out.String(), 1, "BROKEN part", name)
	}
}

func TestList(t *testing.T) {
	part := makes(20, func(*kit.T) bool { panic("run") })
	part.Faults = []kit.Fault{{Name: "wrong", Rule: "is right"}}
	code, out, _ := torture([]kit.Part{part}, "--list")
	want(t, code, out, 0, "part       makes things", "at least 20 things in the long form", "fault:wrong (part): is right")
}

func TestChoice(t *testing.T) {
	other := makes(20, never)
	other.Name = "other"
	code, out, _ := torture([]kit.Part{makes(0, never), other}, "--only", "other")
	want(t, code, out, 0, "1 parts")
	for _, args := range [][]string{{"--only", "third"}, {"--only", "fault:third"}, {"--share", "0"}, {"--share", "2"}, {"word"}, {"--option"}} {
		code, out, log := torture([]kit.Part{other}, args...)
		want(t, code, log, 2)
		if out != "" {
			t.Errorf("%v: %s", args, out)
		}
	}
}

// The seed is printed, and with the same one the choices are the same.
func TestSeed(t *testing.T) {
	choices := func(seed string) string {
		var made []uint64
		part := kit.Part{Name: "part", Run: func(t *kit.T) {
			for range 10 {
				made = append(made, t.Uint64())
			}
		}}
		code, out, _ := torture([]kit.Part{part, part}, "--seed", seed)
		want(t, code, out, 0, "seed "+seed+",", "--seed "+seed+" --share 1")
		return fmt.Sprint(made)
	}
	first, again, other := choices("11"), choices("11"), choices("12")
	if first != again {
		t.Error("the same seed makes other choices")
	}
	if first == other {
		t.Error("another seed makes the same choices")
	}
}

// Every part says what it does and how much of it is the least, and every fault has a name of its own.
func TestParts(t *testing.T) {
	names := map[string]bool{}
	for _, p := range parts {
		if names[p.Name] || p.Does == "" || p.Run == nil || len(p.Counts) == 0 {
			t.Errorf("part %q: %+v", p.Name, p)
		}
		names[p.Name] = true
		for _, c := range p.Counts {
			if c.Floor < 1 {
				t.Errorf("part %q: at least %d %s", p.Name, c.Floor, c.Name)
			}
		}
		for _, f := range p.Faults {
			if names["fault "+f.Name] || f.Rule == "" || f.Share <= 0 || f.Share > 1 || len(f.Edits) == 0 {
				t.Errorf("fault %q: %+v", f.Name, f)
			}
			names["fault "+f.Name] = true
		}
	}
}
