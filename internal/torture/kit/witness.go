package kit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Witness is the work that runs under leases: it notes when it ran and under which tokens, and what it met meanwhile.
type Witness struct {
	t      *T
	binary string
	dir    string // with its log
	reads  int    // bytes of the log that were reported as clashes already
}

// A Work is one run of the witness. Its times are CLOCK_MONOTONIC in nanoseconds.
type Work struct {
	ID     string
	Start  int64
	End    int64   // 0 if it was killed, or still runs
	Told   []int64 // when it was told to end, if it was started with a word for that
	Tokens map[string]int64
}

// Witness builds the witness.
func (t *T) Witness() (*Witness, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	w := &Witness{t: t, binary: filepath.Join(t.Dir, "witness"), dir: t.Dir}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", w.binary, "./internal/torture/witness")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the witness: %w\n%s", err, out)
	}
	return w, nil
}

// On returns a witness of what runs on one ledger.
func (w *Witness) On(l *Ledger) *Witness {
	return &Witness{t: w.t, binary: w.binary, dir: filepath.Dir(l.Dir)}
}

// Command is the work, as words to stand after --. A last word says what it does when it is told to end by TERM, beside noting that: heed
// or go-on.
func (w *Witness) Command(id string, lasts time.Duration, told ...string) []string {
	return append([]string{w.binary, w.dir, id, lasts.String()}, told...)
}

// Log reads what ran so far, in the order in which it started. Work that met other work on an overlapping key is a violation.
func (w *Witness) Log() []Work {
	raw, err := os.ReadFile(filepath.Join(w.dir, "log"))
	if err != nil && !os.IsNotExist(err) {
		panic(err)
	}
	var works []Work
	index := map[string]int{}
	read := 0
	for line := range strings.Lines(string(raw)) {
		read += len(line)
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		at, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			panic(err)
		}
		switch f[0] {
		case "clash":
			if read > w.reads {
				w.t.Violate("work %s began under %s while other work on an overlapping key ran; all that ran:\n%s", f[2], f[3], raw)
			}
		case "start":
			index[f[2]] = len(works)
			works = append(works, Work{ID: f[2], Start: at, Tokens: tokens(f[3:])})
		case "told":
			works[index[f[2]]].Told = append(works[index[f[2]]].Told, at)
		case "end":
			works[index[f[2]]].End = at
		}
	}
	w.reads = read
	slices.SortStableFunc(works, func(a, b Work) int { return int(min(max(a.Start-b.Start, -1), 1)) })
	return works
}

func tokens(words []string) map[string]int64 {
	held := map[string]int64{}
	for _, word := range words {
		key, token, _ := strings.Cut(word, "=")
		held[key], _ = strconv.ParseInt(token, 10, 64)
	}
	return held
}

// Mono reads CLOCK_MONOTONIC, in nanoseconds.
func Mono() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) // cannot fail for this clock
	return ts.Nano()
}

// Overlap reports whether one of two keys covers the other.
func Overlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// Children are the processes that a process started and that live.
func Children(pid int) []int {
	var pids []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range lists {
		raw, _ := os.ReadFile(name)
		for word := range strings.FieldsSeq(string(raw)) {
			if child, err := strconv.Atoi(word); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}
