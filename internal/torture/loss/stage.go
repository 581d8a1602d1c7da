package loss

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fslease/internal/torture/kit"
)

const key = "task:42"

// A stage is a holder whose command is watched, and those who want its key.
type stage struct {
	*kit.Ledger
	t       *kit.T
	r       *rand.Rand
	witness *kit.Witness

	scene     string
	ttl       time.Duration
	killAfter time.Duration
	ignore    bool // --on-lost ignore
	heeds     bool // the command ends when it is told
	paused    bool // the wrapper was stopped: it could not tell in time
	holder    *kit.Process
	command   int   // its pid
	first     int64 // stamp of the record when the command ran
	others    []*kit.Process
}

func (s *stage) String() string {
	return fmt.Sprintf("[%s: %s]", s.scene, strings.Join(s.holder.Args, " "))
}

// start starts the holder, and returns when its command works and the lease was renewed a few times perhaps.
func (s *stage) start(lasts time.Duration, options ...string) bool {
	args := append([]string{"run", "--ttl", s.ttl.String(), "--kill-after", s.killAfter.String()}, options...)
	if s.ignore {
		args = append(args, "--on-lost", "ignore")
	}
	args = append(args, key)
	if s.r.IntN(2) == 0 {
		args = append(args, "zone/b") // the record of the first key has the older stamp
	}
	how := "go-on"
	if s.heeds {
		how = "heed"
	}
	s.holder = s.Start(append(append(args, "--"), s.witness.Command("holder", lasts, how)...)...)
	if !s.Until("the holder's command works", func() bool { return s.work() != nil }) {
		return false
	}
	children := kit.Children(s.holder.Process.Pid)
	if len(children) != 1 {
		s.t.Violate("the holder has %d children, not its command alone", len(children))
		return false
	}
	s.command = children[0]
	s.first = s.record().Stamp
	time.Sleep(time.Duration(s.r.Int64N(int64(s.ttl / 3))))
	return true
}

// work is what the holder's command noted, nil before it works.
func (s *stage) work() *kit.Work {
	for _, w := range s.witness.Log() {
		if w.ID == "holder" {
			return &w
		}
	}
	return nil
}

// told is when the command was told, 0 if it was not.
func (s *stage) told() int64 {
	if w := s.work(); w != nil && len(w.Told) > 0 {
		return w.Told[0]
	}
	return 0
}

// want starts some who want the key.
func (s *stage) want(n int, env ...string) {
	for range n {
		id := fmt.Sprintf("successor%d", len(s.others)+1)
		s.others = append(s.others, s.Env(env...).Start(append([]string{"run", "--ttl", "300s", key, "--"}, s.witness.Command(id, 0)...)...))
	}
}

// A record is the lease on disk.
type record struct {
	Generation int64 `json:"generation"`
	Revision   int64 `json:"revision"`
	Stamp      int64 `json:"renewed_mono_ns"`
}

// record reads the lease, zero if there is none.
func (s *stage) record() record { return recordIn(s.Dir) }

func recordIn(ledger string) (r record) {
	data, err := os.ReadFile(filepath.Join(ledger, "leases", key+".json"))
	if err == nil {
		_ = json.Unmarshal(data, &r)
	}
	return r
}

// renewed waits for a new revision.
func (s *stage) renewed() bool {
	before := s.record().Revision
	return s.Until("the lease is renewed", func() bool { return s.record().Revision > before })
}

// stop stops the wrapper, not while it holds the key's lock: others would be busy with that then.
func (s *stage) stop() bool {
	return s.Until("the wrapper can be stopped while it has no lock", func() bool {
		s.Signal(s.holder.Process.Pid, unix.SIGSTOP)
		for fields := kit.Stat(s.holder.Process.Pid); len(fields) > 0 && fields[0] != "T"; fields = kit.Stat(s.holder.Process.Pid) {
			time.Sleep(time.Millisecond)
		}
		f, err := os.Open(filepath.Join(s.Dir, "locks", key+".lock"))
		if err == nil {
			defer f.Close()
			if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
				return true
			}
		}
		s.goOn()
		return false
	})
}

func (s *stage) goOn() { s.Signal(s.holder.Process.Pid, unix.SIGCONT) }

// gone reports whether a process has ended. It may be a zombie still, or held by strace on its way out.
func gone(pid int) bool {
	fields := kit.Stat(pid)
	if len(fields) < 7 || fields[0] == "Z" {
		return true
	}
	const exiting, signaled = 0x4, 0x400 // PF_EXITING, PF_SIGNALED
	flags, _ := strconv.ParseUint(fields[6], 10, 64)
	return flags&(exiting|signaled) != 0
}
