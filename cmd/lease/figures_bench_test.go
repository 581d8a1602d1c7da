package main_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// What scripts/bench/run measures can all be measured: each figure makes its rows. How fast anything is, it does not tell
// here.
func TestBenchFigures(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("../../scripts/bench/run", "--quick", "--only-ours")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, said.Bytes())
	}
	for _, of := range []string{
		"lease --version", "lease run k -- true, disk", "processes, ", "waiters drained", "kill -9", "RSS", "CPU of a holder",
		"acquire + release, ours", "renew, ours", "check, ours", "from release to grant", "keys held", "tombstones", "tickets DONE", "of 16 segments",
	} {
		if !strings.Contains(string(out), of) {
			t.Errorf("no row of the table is of %q:\n%s", of, out)
		}
	}
}
