package loss

import (
	"slices"
	"strings"
	"time"

	"fslease/internal/torture/kit"
)

// A course is what was seen of a loss. Times are CLOCK_MONOTONIC in nanoseconds, 0 for what did not happen.
type course struct {
	stamp   int64         // of the holder's record, as it was last on disk
	told    int64         // when the command was told
	dead    int64         // when the command was seen to have ended
	entered int64         // stamp of the first lease of somebody else
	stall   time.Duration // the longest time in which the watcher itself did not run
}

// watch follows the loss until the wrapper has ended. ledger is where the record is now.
func (s *stage) watch(ledger string) course {
	c := course{stamp: s.first}
	last := kit.Mono()
	for begin := last; ; {
		now := kit.Mono()
		c.stall, last = max(c.stall, time.Duration(now-last)), now
		switch r := recordIn(ledger); {
		case r.Generation == 1:
			c.stamp = max(c.stamp, r.Stamp)
		case r.Generation > 1 && c.entered == 0:
			c.entered = r.Stamp
		}
		if c.told == 0 {
			c.told = s.told()
		}
		if c.dead == 0 && gone(s.command) {
			c.dead = kit.Mono()
		}
		if gone(s.holder.Process.Pid) || s.t.Ended() {
			c.told = s.told()
			return c
		}
		if c.told == 0 && c.dead == 0 && !s.ignore && !s.paused && now > c.stamp+int64(s.ttl) && c.late(now, c.stamp+int64(s.ttl)*3/4) {
			s.t.Violate("ttl %v after the stamp in the record somebody else may enter, and the command was not told: %v", s.ttl, s)
			return c
		}
		if now-begin > int64(kit.HangGuard) {
			s.t.Violate("the wrapper does not end: %v\n%s", s, s.holder.Err.String())
			return c
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// late reports whether what was due and came at a time was too late to be excused by the slowness of the machine, of which the pauses of
// the watcher are a measure: it looks every 2 ms.
func (c course) late(at, due int64) bool { return at-due > 4*int64(c.stall) }

// excused adds the reason of who was too slow to find out what happened, if the machine may have been to blame.
func (s *stage) excused(c course, reasons ...string) []string {
	if c.stall > s.ttl/64 {
		reasons = append(reasons, "cannot renew")
	}
	return reasons
}

// judge checks the times of a lease that could not be renewed, from outside, against the stamp in the record.
func (s *stage) judge(c course) {
	if s.t.Ended() {
		return
	}
	end, due := c.stamp+int64(s.ttl), c.stamp+int64(s.ttl)*3/4
	told := c.told
	if told == 0 {
		told = c.dead // by a wrapper that was late itself, or not at all
	}
	after := func(at int64) time.Duration { return time.Duration(at - c.stamp).Round(time.Millisecond) }
	switch {
	case told < s.first+int64(s.ttl)*3/4:
		s.t.Violate("told %v after the stamp in the record, before three quarters of the ttl %v: %v", after(told), s.ttl, s)
	case told > end && c.late(told, due):
		s.t.Violate("told %v after the stamp in the record, after the ttl %v, when somebody else may enter: %v", after(told), s.ttl, s)
	case c.entered != 0 && told > c.entered && c.late(told, due):
		s.t.Violate("somebody else had the lease %v after the stamp, and the command was told %v after it: %v", after(c.entered), after(told), s)
	case c.dead > end && c.late(c.dead, end-int64(s.ttl/16)):
		s.t.Violate("the command lived %v after the stamp, longer than the ttl %v, when somebody else may enter: %v", after(c.dead), s.ttl, s)
	case !s.heeds && c.dead+4*int64(c.stall) < min(told+int64(s.killAfter), s.first+int64(s.ttl)*15/16):
		s.t.Violate("the command was told %v and killed %v after the stamp: before --kill-after %v and the end of the ttl %v: %v", after(told), after(c.dead), s.killAfter, s.ttl, s)
	}
}

// lost wants that the wrapper says the loss, for one of these reasons, and ends with 76.
func (s *stage) lost(reasons ...string) {
	if s.t.Ended() {
		return
	}
	result := s.holder.Wait()
	says := func(reason string) bool { return strings.Contains(result.Stderr, reason) }
	if result.Code != 76 || !slices.ContainsFunc(reasons, says) {
		s.t.Violate("a lost lease is 76, with the reason %q: %v", reasons, result)
	}
	if w := s.work(); w != nil && len(w.Told) > 1 {
		s.t.Violate("the command was told %d times: %v", len(w.Told), s)
	}
	s.t.Made(losses, 1)
}

// follow wants that everybody who wanted the key had it, after the holder's command.
func (s *stage) follow() {
	if s.t.Ended() {
		return
	}
	for _, p := range s.others {
		if result := p.Wait(); result.Code != 0 {
			s.t.Violate("who wants the key of a lost lease is to get it: %v", result)
		}
	}
	if works := s.witness.Log(); len(works) != 1+len(s.others) {
		s.t.Violate("%d commands of %d ran: %v", len(works), 1+len(s.others), works)
	}
}
