package fslease

import "time"

// guard watches the time beside the ledger's work, never behind it. At three quarters of the TTL since the
// last renewal the lease is lost, unless this process was not running meanwhile (suspended, stopped): then
// one bounded attempt to renew comes first, or the end of the one that was cut short.
func (l *Lease) guard() {
	for {
		l.mu.Lock()
		due := l.base + l.ttl*3/4
		l.mu.Unlock()
		if !l.until(due) {
			return
		}
		l.mu.Lock()
		now := l.m.mono()
		moved := l.base+l.ttl*3/4 > now
		paused := now-due > l.ttl/16
		trouble := l.failure
		tried := trouble != nil || l.attempt != 0 && now-l.attempt > l.ttl/16
		base, attempts := l.base, l.attempts
		l.mu.Unlock()
		if moved {
			continue
		}
		if (paused || !tried) && l.lastChance(base, attempts) {
			continue
		}
		l.mu.Lock()
		first := l.records[0]
		l.mu.Unlock()
		l.lose(&LostError{Key: first.Key, Generation: first.Generation, Reason: ReasonCannotRenew, Err: trouble})
		return
	}
}

// ReasonCannotRenew is the reason of a loss because renewals failed or took too long. The other kind of
// loss says who took over.
const ReasonCannotRenew = "cannot renew"

// until waits for the moment due; it is false if the lease ended before.
func (l *Lease) until(due time.Duration) bool {
	timer, stop := l.m.ledger.Clock().After(due - l.m.mono())
	defer stop()
	select {
	case <-l.done:
		return false
	case <-l.lost:
		return false
	case <-timer:
		return true
	}
}

// lastChance gives the heartbeat a bounded time to renew after a pause of the whole process, and reports
// whether it did. As long as nobody else may enter, the time ends before somebody may.
func (l *Lease) lastChance(base time.Duration, attempts int) bool {
	select {
	case l.renewNow <- struct{}{}:
	default:
	}
	now := l.m.mono()
	chance := now + l.ttl/8
	if end := base + l.ttl*15/16; now < end {
		chance = min(chance, end)
	}
	for step := max(l.ttl/128, time.Millisecond); now < chance; now = l.m.mono() {
		if !l.until(min(now+step, chance)) {
			return true // ended meanwhile: the loop sees it
		}
		l.mu.Lock()
		moved, failed := l.base > base, l.attempts > attempts
		l.mu.Unlock()
		if moved {
			return true
		}
		if failed {
			return false
		}
	}
	return false
}
