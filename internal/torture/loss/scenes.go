package loss

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"fslease/internal/torture/kit"
)

// A scene is a way in which a lease is lost, or nearly.
type scene struct {
	name string
	act  func(*stage)
}

var scenes = []scene{
	{"the ledger hangs", hangs}, {"the ledger is slow and then fails", slow}, {"no descriptors", fails}, {"moved away", moved}, {"sealed", sealed},
	{"stopped, and taken over", stopped}, {"stopped with its command, and taken over", frozen}, {"stopped, and nobody came", survives},
	{"broken", broken}, {"ignored", ignored},
}

// play plays a scene on a ledger of its own.
func (c scene) play(t *kit.T, witness *kit.Witness, r *rand.Rand) {
	l := t.Ledger()
	defer l.Close()
	s := &stage{Ledger: l, t: t, r: r, witness: witness.On(l), scene: c.name, ttl: 2 * time.Second, heeds: r.IntN(3) == 0}
	if t.Share > 0.05 {
		s.ttl += time.Duration(r.IntN(3)) * time.Second
	}
	s.killAfter = []time.Duration{300 * time.Millisecond, 10 * time.Second, time.Hour}[r.IntN(3)]
	c.act(s)
	s.witness.Log() // a clash is a violation
}

const (
	hour    = time.Hour
	renames = "renameat,renameat2"
)

// hangs: a system call of a renewal does not come back, for the holder only.
func hangs(s *stage) {
	call := pick(s.r, []string{"openat2", "flock", renames, "newfstatat", "fsync"}) // that a renewal makes, and nothing else
	s.scene += ": " + call
	if call == "fsync" && !s.syncGrants() || !s.start(hour) {
		return
	}
	s.want(1 + s.r.IntN(4))
	release := s.trace(call, "delay_enter", 600*time.Second)
	if release == nil {
		return
	}
	c := s.watch(s.Dir)
	release() // as long as a thread is held, others cannot see that the process has ended
	s.lost("cannot renew")
	s.judge(c)
	s.follow()
}

// slow: a renewal is on disk, but its answer comes late, and there is no further one. What counts is the stamp.
func slow(s *stage) {
	if !s.start(hour, "--heartbeat", (s.ttl/10).String()) || s.trace(renames, "delay_exit", s.ttl*6/10) == nil || !s.renewed() {
		return
	}
	s.noDescriptors()
	s.want(1 + s.r.IntN(4))
	c := s.watch(s.Dir)
	s.lost("cannot renew")
	s.judge(c)
	s.follow()
}

// fails: every renewal fails at once.
func fails(s *stage) {
	if !s.start(hour) {
		return
	}
	s.want(1 + s.r.IntN(8))
	s.noDescriptors()
	c := s.watch(s.Dir)
	s.lost("cannot renew")
	s.judge(c)
	s.follow()
}

// moved: the ledger has another name. Under that name others may enter when the ttl has run out.
func moved(s *stage) {
	if !s.start(hour) {
		return
	}
	elsewhere := s.Dir + "-moved"
	if err := os.Rename(s.Dir, elsewhere); err != nil {
		panic(err)
	}
	s.want(1+s.r.IntN(8), "LEASE_LEDGER="+elsewhere)
	c := s.watch(elsewhere)
	s.lost("cannot renew")
	s.judge(c)
	s.follow()
}

// sealed: nothing can be written where the leases are, by nobody.
func sealed(s *stage) {
	if !s.start(hour) {
		return
	}
	leases := filepath.Join(s.Dir, "leases")
	if err := seal(leases, true); err != nil {
		s.t.NotRun("a sealed folder: needs root and a file system with immutable files in %s: %v", s.t.Dir, err)
		return
	}
	c := s.watch(s.Dir)
	if err := seal(leases, false); err != nil {
		panic(err)
	}
	s.lost("cannot renew")
	s.judge(c)
	s.want(2)
	s.follow()
}

// stopped: the wrapper is stopped, and its command is not. Somebody else takes the lease over, and waits for the fence.
func stopped(s *stage) {
	s.unhurried()
	if !s.start(hour) || !s.stop() {
		return
	}
	s.want(2 + s.r.IntN(7))
	s.takenOver()
}

// frozen: the wrapper is stopped, and its command too.
func frozen(s *stage) {
	s.unhurried()
	if !s.start(hour) || !s.stop() {
		return
	}
	s.Signal(s.command, unix.SIGSTOP)
	s.want(2 + s.r.IntN(7))
	s.takenOver()
}

// unhurried gives the wrapper time to find out who took over, of which it has an eighth of its ttl once it goes on, and ends its command soon.
func (s *stage) unhurried() {
	s.ttl = 6 * time.Second
	s.killAfter = min(s.killAfter, time.Second)
}

func (s *stage) takenOver() {
	s.paused = true
	s.Until("somebody took the lease over", func() bool { return s.record().Generation > 1 })
	if s.told() != 0 {
		s.t.Violate("a stopped wrapper told its command: %v", s)
	}
	s.Signal(s.command, unix.SIGCONT)
	s.goOn()
	c := s.watch(s.Dir)
	s.lost(s.excused(c, "taken over by generation")...)
	if !s.heeds && c.told != 0 && c.stall < s.ttl/64 && c.dead+4*int64(c.stall) < c.told+int64(s.killAfter) {
		s.t.Violate("killed %v after it was told, before --kill-after %v: %v", time.Duration(c.dead-c.told), s.killAfter, s)
	}
	s.follow()
}

// survives: the wrapper is stopped for longer than its ttl, and nobody wants the key. It carries on.
func survives(s *stage) {
	s.ttl = 4 * time.Second
	if !s.start(hour) || !s.stop() {
		return
	}
	before := s.record().Revision
	time.Sleep(s.ttl*11/10 + time.Duration(s.r.Int64N(int64(time.Second))))
	s.goOn()
	var c course
	last := kit.Mono()
	s.Until("it renews, or gives up", func() bool {
		now := kit.Mono()
		c.stall, last = max(c.stall, time.Duration(now-last)), now
		return s.record().Revision > before || gone(s.command)
	})
	s.Signal(s.command, unix.SIGKILL)
	if result := s.holder.Wait(); result.Code != 128+9 && c.stall < s.ttl/64 {
		s.t.Violate("the record still names who was stopped and continued: it is to renew, and to go on until its command is killed: %v", result)
	}
	s.t.Made("pauses survived", 1)
	s.want(1)
	s.follow()
}

// broken: somebody gives the lease away, or removes the record. The command is told at the next renewal.
func broken(s *stage) {
	s.killAfter = min(s.killAfter, time.Second)
	if !s.start(hour) {
		return
	}
	var reason string
	s.want(s.r.IntN(4))
	s.take(&reason)
	s.want(1 + s.r.IntN(4))
	c := s.watch(s.Dir)
	s.lost(s.excused(c, reason, "taken over by generation", "names another holder")...)
	if c.told == 0 && len(s.excused(c)) == 0 {
		s.t.Violate("a lost lease (%s) was not told to the command: %v", reason, s)
	}
	s.follow()
}

// take takes the lease away, and sets the reason that the holder is to say.
func (s *stage) take(reason *string) {
	var script string
	switch s.r.IntN(3) {
	case 0:
		script, *reason = `lease break "$1" --reason torture`, "broken"
	case 1:
		script, *reason = `lease release "$1" --token 1`, "released"
	case 2:
		script, *reason = `rm "$LEASE_LEDGER/leases/$1.json"`, "gone"
	}
	if r := s.Sh(script, key); r.Code != 0 {
		s.t.Violate("%v", r)
	}
}

// ignored: with --on-lost ignore the command is left alone, and stderr says the loss. It works on alone, since the fence is kept.
func ignored(s *stage) {
	s.ignore = true
	if !s.start(s.ttl * 5 / 2) {
		return
	}
	s.want(1 + s.r.IntN(4))
	reason := "cannot renew"
	if s.r.IntN(2) == 0 {
		s.noDescriptors()
	} else {
		s.take(&reason)
	}
	c := s.watch(s.Dir)
	s.lost(s.excused(c, reason, "taken over by generation", "names another holder")...)
	if w := s.work(); c.told != 0 || w == nil || w.End == 0 {
		s.t.Violate("a command that is to ignore the loss was told or ended: %+v: %v", w, s)
	}
	s.follow()
}

func pick[E any](r *rand.Rand, from []E) E { return from[r.IntN(len(from))] }
