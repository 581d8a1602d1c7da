package kit

import (
	"os"
	"testing"
)

// Test runs a part as a test: a share of the long form, always with the same seed, so that a failure can be
// repeated.
func Test(t *testing.T, p Part, share float64) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lease-torture-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o755)
	binary, err := Build(dir, "lease", p.Edits...)
	if err != nil {
		t.Fatal(err)
	}
	o, err := Run(t.Context(), p, Options{Seed: 1, Share: share, Binary: binary, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range o.Violations {
		t.Error(v)
	}
	for count, n := range o.Made {
		t.Logf("%d %s", n, count)
	}
}

// TestFaults checks that each deliberate fault of a part still fits the source that it changes.
func TestFaults(t *testing.T, p Part) {
	t.Helper()
	for _, f := range p.Faults {
		if err := f.Applies(t.TempDir()); err != nil {
			t.Errorf("fault %q: %v", f.Name, err)
		}
	}
}
