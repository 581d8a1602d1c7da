package fence

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"fslease/internal/torture/kit"
)

//go:embed work.sh
var workScript []byte

// A site is a ledger, and the marks of the work that is done on it.
type site struct {
	*kit.Ledger
	t    *kit.T
	runs *atomic.Int64
}

func newSite(t *kit.T) *site {
	s := &site{Ledger: t.Ledger(), t: t, runs: new(atomic.Int64)}
	for _, dir := range []string{"marks", "ran", "ended", "heeded"} {
		if err := os.Mkdir(filepath.Join(s.Work, dir), 0o755); err != nil {
			panic(err)
		}
	}
	script := filepath.Join(s.Work, "work.sh")
	if err := os.WriteFile(script, workScript, 0o644); err != nil {
		panic(err)
	}
	s.Ledger = s.Env("WORK="+script, "WORK_DIR="+s.Work)
	return s
}

// close ends everything on the site, and reports what its work saw.
func (s *site) close() {
	for line := range strings.Lines(s.file("overlap")) {
		s.t.Violate("two worked at once: %s", strings.TrimSpace(line))
	}
	if errors := s.file("errors"); errors != "" {
		s.t.Violate("the work itself failed: %s", errors)
	}
	s.Close()
}

// file returns what a file in the working directory says, "" if there is none.
func (s *site) file(name string) string {
	data, _ := os.ReadFile(filepath.Join(s.Work, name))
	return string(data)
}

// ledgerFiles returns the files of the ledger that match a pattern.
func (s *site) ledgerFiles(pattern string) []string {
	names, _ := filepath.Glob(filepath.Join(s.Dir, pattern))
	return names
}

// A work is a started run of lease, whose command and descendants leave marks.
type work struct {
	*kit.Process
	s    *site
	task task
	run  int
}

func (s *site) start(k task) *work {
	run := int(s.runs.Add(1))
	l := s.Env(append([]string{fmt.Sprintf("WORK_RUN=%d", run), "WORK_FORM=" + string(k.form), "WORK_KEYS=" + strings.Join(k.held(), " ")}, k.env()...)...)
	script, args := k.command()
	return &work{l.StartSh(script, args...), s, k, run}
}

// has reports whether the work left a file of its own in a directory, such as ran.
func (w *work) has(dir string) bool {
	return w.s.file(fmt.Sprintf("%s/%d", dir, w.run)) != "" || w.s.exists(dir, w.run)
}

func (s *site) exists(dir string, run int) bool {
	_, err := os.Stat(filepath.Join(s.Work, dir, strconv.Itoa(run)))
	return err == nil
}

// marked returns the processes of the work that left a mark in a role and have not taken it back.
func (w *work) marked(role string) []int {
	var pids []int
	names, _ := filepath.Glob(filepath.Join(w.s.Work, "marks", fmt.Sprintf("%d.*.%s", w.run, role)))
	for _, name := range names {
		pid, err := strconv.Atoi(strings.Split(filepath.Base(name), ".")[1])
		if st, e := os.Stat(name); err == nil && e == nil && st.Size() > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// untilMarked waits for the marks of a role and returns the processes, none if there is trouble.
func (w *work) untilMarked(role string, n int) []int {
	var pids []int
	w.s.Until(fmt.Sprintf("%d processes of run %d (%s) work as %s", n, w.run, strings.Join(w.Args, " "), role), func() bool {
		pids = w.marked(role)
		return len(pids) == n
	})
	if len(pids) != n {
		return nil
	}
	return pids
}

// end kills processes, and returns when they are gone.
func (s *site) end(pids ...int) {
	for _, pid := range pids {
		s.Until(fmt.Sprintf("process %d has ended", pid), func() bool {
			s.Signal(pid, syscall.SIGKILL)
			return gone(pid)
		})
	}
}

// gone reports whether a process has ended or is a zombie.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// besides returns the processes of the run other than these, its wrappers too.
func (w *work) besides(pids ...int) []int {
	var others []int
	variable := fmt.Sprintf("\x00WORK_RUN=%d\x00", w.run)
	for _, pid := range w.s.Pids() {
		if strings.Contains(string(kit.Environ(pid)), variable) && !slices.Contains(pids, pid) {
			others = append(others, pid)
		}
	}
	return others
}
