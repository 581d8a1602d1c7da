package steps

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The calls before the main function began do not count, but their numbers do; those of other threads count as far as they go beyond.
func TestSteps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trace")
	trace := `10  openat(AT_FDCWD, "/sys/x", O_RDONLY) = 3
10  read(3, "1", 1) = 1
10  getpriority(PRIO_PROCESS, 0)      = 20
10  openat(AT_FDCWD, "ledger", O_RDONLY|O_DIRECTORY <unfinished ...>
11  read(5,  <unfinished ...>
10  <... openat resumed>) = 3
11  <... read resumed>"", 1) = 0
11  read(5, "", 1) = 0
10  --- SIGCHLD {si_signo=SIGCHLD} ---
10  openat(AT_FDCWD, "/proc/77/stat", O_RDONLY) = 4
10  mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 3, 0) = 0x1
10  exit_group(0) = ?
10  +++ exited with 0 +++
`
	if err := os.WriteFile(file, []byte(trace), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := steps(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{
		{"exit_group", 1, "exit_group(0) = ?"},
		{"openat", 2, `openat(AT_FDCWD, "ledger", O_RDONLY|O_DIRECTORY <unfinished ...>`},
		{"read", 2, ""},
	}
	if !slices.Equal(all, want) {
		t.Errorf("steps %q, want %q", all, want)
	}
}
