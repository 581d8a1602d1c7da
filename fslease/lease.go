package fslease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Lease is the right to work on some keys, held by this process and renewed in the background. It ends
// by Release, by the end of the context that it was acquired under, or by loss. Its methods may be called
// from several goroutines.
type Lease struct {
	m         *Manager
	me        Presence
	ownsMe    bool
	keys      []Key
	fenced    fencing // what its fence is of
	ttl       time.Duration
	heartbeat time.Duration
	lost      chan struct{}
	done      chan struct{} // Release has begun
	gone      chan struct{} // Release has ended
	unwatch   func() bool
	waker     Waker // of the wait for the keys; nil if there was none
	tenure    tenure

	mu       sync.Mutex
	records  []Record
	base     time.Duration // CLOCK_MONOTONIC: stamp of the last renewal known to be applied
	attempt  time.Duration // when the renewal under way began, 0 if none is
	attempts int           // how many have ended
	failure  error         // of the last attempt since base; nil if it succeeded or none ended
	cause    *LostError
	released bool
	fence    Fence
	fenceUse int  // how many keep the fence: the lease itself and each RunFenced
	keeps    bool // the lease itself does
	renewNow chan struct{}
}

// A tenure is how what a lease holds is renewed, checked and given up, each under the locks of its keys.
type tenure interface {
	keys() []Key
	renew(Tx, []Record) ([]Record, error)
	check(Tx, []Record) error
	end(Tx, []Record) error
}

func newLease(ctx context.Context, a *acquisition) *Lease {
	l := &Lease{
		m: a.m, me: a.me, ownsMe: a.ownsMe, keys: a.keys, fenced: a.fencing(), ttl: a.ttl, heartbeat: a.req.Heartbeat,
		records: a.records, fence: a.fence, waker: a.waker, tenure: processTenure{a.keys, a.me.Holder().ID, map[Key]bool{}},
	}
	l.hold(ctx)
	return l
}

// hold begins to renew, and to watch that renewals succeed in time.
func (l *Lease) hold(ctx context.Context) {
	l.lost, l.done, l.gone, l.renewNow = make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
	if l.fence != nil {
		l.fenceUse, l.keeps = 1, true
	}
	l.base = oldestStamp(l.records)
	if l.ttl > 0 {
		go l.beat(ctx)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unwatch = context.AfterFunc(ctx, func() { _ = l.Release() }) // at once, if ctx has ended
}

// oldestStamp is the stamp that runs out first: that of the key written first.
func oldestStamp(records []Record) time.Duration {
	oldest := records[0].RenewedMono
	for _, r := range records {
		oldest = min(oldest, r.RenewedMono)
	}
	return time.Duration(oldest)
}

// Token returns the fencing token of the first key: its generation. A resource that can compare keeps the
// highest token it has seen and refuses a smaller one.
func (l *Lease) Token() int64 { return l.Records()[0].Generation }

// Keys returns the keys that are held, in the order asked for, without those that another one covers.
func (l *Lease) Keys() []Key { return l.keys }

// Records returns the leases as they were last written, in the order of Keys.
func (l *Lease) Records() []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Record(nil), l.records...)
}

// TTL returns how long the lease lasts after a renewal, 0 if as long as this process lives.
func (l *Lease) TTL() time.Duration { return l.ttl }

// Holder returns this process as the records name it.
func (l *Lease) Holder() Holder { return l.me.Holder() }

// Presence returns what shows that this process lives; it may be told what runs under the lease.
func (l *Lease) Presence() Presence { return l.me }

// Lost is closed when the lease is lost: taken over, or not renewed for three quarters of its TTL, so that
// work stops before anybody else may start. Err then says why.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Err returns nil while the lease is held or after it was released, and a *LostError after its loss.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause == nil {
		return nil
	}
	return l.cause
}

// Expires returns when the TTL ends, on CLOCK_MONOTONIC, counted from the stamp of the last renewal that
// is known to be applied: after it somebody else may enter.
func (l *Lease) Expires() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.base + l.ttl
}

// Renew renews now. It fails with a *LostError if the lease is not current any more, which ends it, and
// with a *RepositoryError if the ledger cannot be written, which ends it only once the TTL runs out.
func (l *Lease) Renew(ctx context.Context) error {
	if err := l.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	l.attempt = l.m.mono()
	l.mu.Unlock()
	var fresh []Record
	err := l.m.ledger.Update(ctx, l.tenure.keys(), func(tx Tx) (err error) {
		fresh, err = l.tenure.renew(tx, l.Records())
		return err
	})
	var gone *LostError
	if errors.As(err, &gone) {
		l.lose(gone) // before the guard can see a failure, and say something less exact
	}
	l.settle(fresh, err)
	return err
}

// settle takes over what a renewal brought. The base moves only here, to the very stamp that was written.
func (l *Lease) settle(fresh []Record, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempt, l.failure = 0, err
	l.attempts++
	if err == nil {
		l.records = fresh
		l.base = max(l.base, oldestStamp(fresh))
	}
}

// beat renews every heartbeat after the last success, and sooner after a failure. The guard begins beside the first renewal:
// before that nothing can be late, as a heartbeat is at most half the TTL, and the leases of short commands never get there.
func (l *Lease) beat(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if !l.rest() {
		return
	}
	go l.guard()
	for ok := true; ok; ok = l.rest() {
		_ = l.Renew(ctx) // the guard judges what failures mean
	}
}

// rest waits until a renewal is due; it is false if the lease has ended.
func (l *Lease) rest() bool {
	l.mu.Lock()
	pause := l.base + l.heartbeat - l.m.mono()
	if l.failure != nil {
		pause = max(l.heartbeat/8, time.Millisecond)
	}
	l.mu.Unlock()
	timer, stop := l.m.ledger.Clock().After(pause)
	defer stop()
	select {
	case <-l.done:
	case <-l.lost:
	case <-l.renewNow:
	case <-timer:
	}
	select {
	case <-l.done:
		return false
	case <-l.lost:
		return false
	default:
		return true
	}
}

func (l *Lease) lose(cause *LostError) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cause != nil || l.released {
		return
	}
	l.cause = cause
	close(l.lost)
}

// Release gives the lease up and leaves tombstones. It fails with a *LostError if the lease was lost
// before; whatever it returns, this process holds nothing afterwards and another Release does nothing.
func (l *Lease) Release() error {
	l.mu.Lock()
	if l.released {
		l.mu.Unlock()
		<-l.gone // the end of the context may have begun it
		return nil
	}
	l.released = true
	close(l.done)
	defer close(l.gone)
	unwatch := l.unwatch
	if l.keeps {
		l.keeps = false
		l.fenceUse--
	}
	var fence Fence
	if l.fenceUse == 0 { // else work goes on under it, and gives it up when it returns
		fence, l.fence = l.fence, nil
	}
	l.mu.Unlock()
	unwatch()
	if fence != nil {
		_ = fence.Close()
	}
	if l.waker != nil {
		go l.waker.Close() // takes 10 ms where it closes an inotify instance
	}
	err := l.m.ledger.Update(context.Background(), l.tenure.keys(), func(tx Tx) error {
		return l.tenure.end(tx, l.Records())
	})
	if l.ownsMe {
		if cerr := l.me.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("release %s: %w", l.keys[0], cerr)
		}
	}
	return err
}

func (m *Manager) mono() time.Duration { return time.Duration(m.now().Mono) }
