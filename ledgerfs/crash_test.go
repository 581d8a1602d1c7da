package ledgerfs

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"fslease/fslease"
	"fslease/internal/crashstate"
	"fslease/reconcile"
)

// crashVariants are the ways in which grants are synced or not, and in which the next boot can tell.
var crashVariants = []struct {
	name          string
	sync          bool
	genuine, then bool // the boot id is the kernel's own, before and after the power cut
}{
	{"grants unsynced", false, true, true},
	{"grants unsynced, next boot unknown", false, true, false},
	{"grants synced by the setting", true, true, true},
	{"grants synced as the boot is unknown", false, false, false},
}

// A crashRow is work during which the power may be cut.
type crashRow struct {
	name string
	base func(tree crashstate.Tree) // what is different in the beginning
	work func(s *story)
}

var crashRows = []crashRow{
	{"grants of run", nil, func(s *story) {
		p := s.program()
		for _, key := range []fslease.Key{"k", "repo/api", "k", "repo/web/v2", "k"} {
			s.released(s.runs(p, key))
		}
		s.runs(p, "k")
		s.runs(p, "repo/api")
	}},
	{"grants to others", nil, func(s *story) {
		p := s.program()
		s.released(s.runs(p, "deep/er/a")) // its folders are made by a grant that need not survive
		s.acquires(p, "deep/er/b", fslease.EvidenceNone)
		s.acquires(p, "pid", fslease.EvidencePid)
		token := s.acquires(p, "ttl", fslease.EvidenceNone)
		s.renews(p, "ttl", token)
		s.releases(p, "ttl", token)
		s.acquires(p, "ttl", fslease.EvidenceNone)
	}},
	{"renewals", nil, func(s *story) {
		p := s.program()
		l := s.runs(p, "k")
		for range 3 {
			s.key("k", byProcess, func() (int64, error) { return 0, l.Renew(ctx) })
		}
		s.released(l)
		s.released(s.runs(p, "k"))
	}},
	{"takeovers", nil, func(s *story) {
		for range 3 {
			p := s.program()
			s.runs(p, "k")
			s.runs(p, "repo/api")
			s.kill(p)
		}
		s.released(s.runs(s.program(), "k"))
	}},
	{"breaks", nil, func(s *story) {
		p := s.program()
		s.acquires(p, "ttl", fslease.EvidenceNone)
		s.breaks(p, "ttl")
		s.acquires(p, "ttl", fslease.EvidenceNone)
		s.breaks(p, "ttl")
		s.acquires(p, "k", fslease.EvidencePid)
		s.breaks(p, "k")
		s.runs(p, "k")
	}},
	{"transfers", nil, func(s *story) {
		p := s.program()
		token := s.acquires(p, "ttl", fslease.EvidenceNone)
		token = s.transfers(p, "ttl", token)
		token = s.transfers(p, "ttl", token)
		s.releases(p, "ttl", token)
		s.acquires(p, "ttl", fslease.EvidenceNone)
	}},
	{"a ticket's life", nil, func(s *story) {
		p := s.program()
		s.released(s.runs(p, "repo/web")) // its folder is made by a grant that need not survive
		s.ready(p, "42", "repo/api", "terminal-1")
		token := s.starts(p, "42", nil)
		s.act(p, "42", fslease.VerbCheckpoint, token)
		s.act(p, "42", fslease.VerbReview, token)
		token = s.starts(p, "42", nil)
		s.act(p, "42", fslease.VerbDone, token)
		s.runs(p, "terminal-1")
	}},
	{"tickets that end badly", nil, func(s *story) {
		p := s.program()
		s.ready(p, "7", "repo/api")
		bound := s.heir(fslease.EvidencePid)
		s.starts(p, "7", &bound)
		s.dead[bound.PID] = true
		s.reconciles(p, "7")
		s.starts(p, "7", nil)
		s.clock.Advance(time.Hour)
		s.reconciles(p, "7")
		token := s.starts(p, "7", nil)
		s.act(p, "7", fslease.VerbBlock, token)
		s.act(p, "7", fslease.VerbReopen, 0)
		s.act(p, "7", fslease.VerbCancel, 0)
		s.runs(p, "repo/api")
	}},
	{"work on a ticket", nil, func(s *story) {
		p := s.program()
		s.ready(p, "9", "repo/api")
		var w *fslease.Work
		s.ticket(p, "9", func() (err error) {
			w, err = p.WorkOn(ctx, fslease.Start{Ticket: "9", By: "me"}, nil)
			return err
		})
		s.ticket(p, "9", func() error { return w.Renew(ctx) })
		s.ticket(p, "9", func() error { return w.End(&fslease.Act{Verb: fslease.VerbReview, By: "me"}) })
	}},
	{"collection", nil, func(s *story) {
		p := s.program()
		s.releases(p, "ttl", s.acquires(p, "ttl", fslease.EvidenceNone))
		s.released(s.runs(p, "repo/api"))
		s.ready(p, "5", "terminal-1")
		s.act(p, "5", fslease.VerbReview, s.starts(p, "5", nil))
		s.act(p, "5", fslease.VerbDone, s.starts(p, "5", nil))
		s.clock.Advance(40 * 24 * time.Hour)
		if _, err := p.Collect(ctx, 30*24*time.Hour, false); err != nil {
			s.t.Fatal(err)
		}
		s.releases(p, "ttl", s.acquires(p, "ttl", fslease.EvidenceNone))
		s.runs(p, "repo/api")
	}},
	{"the ceiling", func(t crashstate.Tree) {
		c := mustParse(t)
		c.Ceiling, c.Floor = 10, 8
		t[configFile] = string(c.encode())
	}, func(s *story) {
		p := s.program()
		for range 4 {
			s.releases(p, "ttl", s.acquires(p, "ttl", fslease.EvidenceNone))
		}
		s.runs(p, "other")
	}},
	{"the first grant of a boot", func(t crashstate.Tree) {
		c := mustParse(t)
		c.BootID = "boot-0"
		t[configFile] = string(c.encode())
		t["leases/"], t["leases/torn.json"], t["leases/repo/"], t["leases/repo/torn.json"] = "", "", "", "\x00\x00"
		t["tombstones/"], t["tombstones/torn.json"] = "", "{\"schema\": 1"
	}, func(s *story) {
		s.spoiled = true
		for i, key := range []string{"torn", "repo/torn", "lost"} {
			s.keys.Told(key, 0, int64(20+i)) // in the boot before
		}
		p := s.program()
		if !s.genuine {
			for _, m := range p.Repair(ctx) {
				if m.Err != nil {
					s.t.Fatal(m.Err)
				}
			}
		}
		for _, key := range []fslease.Key{"lost", "torn", "repo/torn"} {
			s.runs(p, key)
		}
	}},
	{"repair", nil, func(s *story) {
		p := s.program()
		s.releases(p, "ttl", s.acquires(p, "ttl", fslease.EvidenceNone))
		s.ready(p, "3", "repo/api")
		s.starts(p, "3", nil)
		s.spoiled = true
		f, err := s.disk.Create("leases/.by-hand")
		if err == nil {
			f.Write([]byte("no record"))
			f.Sync()
			err = s.disk.Rename("leases/.by-hand", "leases/ttl.json")
		}
		if err == nil {
			err = s.disk.SyncDir("leases")
		}
		if err != nil {
			s.t.Fatal(err)
		}
		for _, m := range p.Repair(ctx) {
			if m.Err != nil {
				s.t.Fatal(m.Err)
			}
		}
		s.runs(p, "ttl")
	}},
}

func mustParse(t crashstate.Tree) config {
	c, err := parseConfig([]byte(t[configFile]))
	if err != nil {
		panic(err)
	}
	return c
}

// reconciled is the pass that a command makes before it does anything else.
func reconciled(p *program) error {
	_, troubles, err := reconcile.Run(ctx, p.process, func() string { return "reconcile" }, false)
	for _, tr := range troubles {
		err = errors.Join(err, tr.Err)
	}
	return err
}

// reconciles is that pass, which changes a ticket.
func (s *story) reconciles(p *program, id string) {
	s.t.Helper()
	s.ticket(p, id, func() error { return reconciled(p) })
}

// TestPowerCuts cuts the power at every step of real work, and goes on from what that may leave.
func TestPowerCuts(t *testing.T) {
	var made atomic.Int64
	t.Run("rows", func(t *testing.T) {
		for _, v := range crashVariants {
			for _, row := range crashRows {
				t.Run(v.name+"/"+row.name, func(t *testing.T) {
					t.Parallel()
					tree := emptyTree(Settings{SyncGrants: v.sync})
					if row.base != nil {
						row.base(tree)
					}
					m := start(t, realDir(t), tree, 1, v.genuine)
					m.sync = v.sync
					s := m.story()
					row.work(s)
					m.off()
					h := fnv.New64()
					h.Write([]byte(t.Name()))
					made.Add(int64(s.cutEverywhere(t, v.then, rand.New(rand.NewPCG(1, h.Sum64())))))
				})
			}
		}
	})
	t.Logf("%d states after a power cut", made.Load())
}

// statesPerCut bounds how many states are looked at for one step. All are if there are no more.
const statesPerCut = 2

// cutEverywhere looks at what a power cut after each step may leave, and returns how many different states it saw.
func (s *story) cutEverywhere(t *testing.T, genuine bool, r *rand.Rand) int {
	seen := map[string]bool{}
	for cut := range s.disk.Len() + 1 {
		for tree := range s.disk.States(cut, statesPerCut, r) {
			id := fmt.Sprint(s.keys.Known(cut), tree.String())
			if seen[id] {
				continue
			}
			seen[id] = true
			if err := s.after(tree, cut, s.number+1, genuine); err != nil {
				t.Fatalf("a power cut after step %d of %d: %v\nit left %s", cut, s.disk.Len(), err, listing(tree))
			}
		}
	}
	return len(seen)
}

// listing is what a message says of a tree.
func listing(t crashstate.Tree) string {
	out := ""
	for _, name := range slices.Sorted(maps.Keys(t)) {
		out += fmt.Sprintf("\n%s %.300q", name, t[name])
	}
	return out
}
