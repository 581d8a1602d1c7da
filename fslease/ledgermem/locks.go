package ledgermem

import (
	"context"
	"time"

	"fslease/fslease"
)

// lockPatience is how long a key's lock is tried for before the ledger is called busy.
const lockPatience = 10 * time.Second

// A keyLock is held by one exclusively or by many shared.
type keyLock struct {
	exclusive bool
	shared    int
}

// lock takes the locks of keys one by one in the order of their plan, all within patience, and returns
// how to give them back.
func (s *Store) lock(ctx context.Context, keys []fslease.Key, patience time.Duration) (unlock func(), err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var had []fslease.KeyLock
	unlock = func() { s.unlock(had) }
	for _, l := range fslease.LockPlan(keys) {
		for {
			freed, ok := s.tryLock(l)
			if ok {
				break
			}
			select {
			case <-freed:
				continue
			case <-timer.C:
				err = &fslease.RepositoryError{Fault: fslease.FaultBusy, Path: path("lock", l.Key), Key: l.Key, What: "the lock was not to be had within " + patience.String()}
			case <-ctx.Done():
				err = context.Cause(ctx)
			}
			unlock()
			return nil, err
		}
		had = append(had, l)
	}
	return unlock, nil
}

// tryLock takes l, or returns a channel that is closed when some lock was given back.
func (s *Store) tryLock(l fslease.KeyLock) (freed <-chan struct{}, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.locks[l.Key]
	if k == nil {
		k = &keyLock{}
		s.locks[l.Key] = k
	}
	if k.exclusive || l.Exclusive && k.shared > 0 {
		return s.freed, false
	}
	if l.Exclusive {
		k.exclusive = true
	} else {
		k.shared++
	}
	return nil, true
}

func (s *Store) unlock(had []fslease.KeyLock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range had {
		k := s.locks[l.Key]
		if l.Exclusive {
			k.exclusive = false
		} else {
			k.shared--
		}
		if !k.exclusive && k.shared == 0 {
			delete(s.locks, l.Key)
		}
	}
	close(s.freed)
	s.freed = make(chan struct{})
}
