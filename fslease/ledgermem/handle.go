package ledgermem

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"fslease/fslease"
)

// A Handle is a ledger as one process has it open. It implements fslease.Ledger.
type Handle struct {
	store *Store
	self  fslease.Holder // the process, evidence pid

	// Guarded by store.mu.
	dead bool
	die  int // the write at which it dies, counted down; 0: at none
}

var _ fslease.Ledger = (*Handle)(nil)

// Handle opens the store as a further process; name is its user's, for people.
func (s *Store) Handle(name string) *Handle {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	pid := int64(len(s.processes) + 1)
	h := &Handle{store: s, self: fslease.Holder{
		Kind: fslease.KindProcess, ID: newID(), Evidence: fslease.EvidencePid, Host: "memory",
		BootID: now.BootID, BootIDGenuine: true, TimeNS: now.TimeNS, PID: pid, StartTime: pid, User: name,
	}}
	s.processes[pid] = h
	return h
}

func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// Fork starts a child of h, which inherits the fences that h holds.
func (h *Handle) Fork(name string) *Handle {
	child := h.store.Handle(name)
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	for f := range h.store.fences {
		if f.keptBy(h) {
			f.parts = append(f.parts, child)
		}
	}
	return child
}

// Kill ends the process without any cleaning up, as kill -9 does: its presences are dead, its part of
// every fence is given up, and whatever it still tries fails. What it wrote stays.
func (h *Handle) Kill() {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	h.kill()
}

// KillAtWrite kills the process in place of its nth write from now on. Burying is two writes: the
// tombstone, and the removal of the lease.
func (h *Handle) KillAtWrite(n int) {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	h.die = n
}

func (h *Handle) kill() {
	s := h.store
	h.dead = true
	ids := []string{h.self.ID}
	for id, p := range s.presences {
		if p.process == h {
			ids = append(ids, id)
		}
	}
	for f := range s.fences {
		f.leave(h)
	}
	s.wake(func(i fslease.Interest) bool { return concerns(i, ids) })
}

// write lets the process write once, if it lives to do it.
func (h *Handle) write(do func()) error {
	h.store.mu.Lock()
	defer h.store.mu.Unlock()
	if h.die == 1 {
		h.kill()
	}
	if err := h.living(); err != nil {
		return err
	}
	if h.die > 0 {
		h.die--
	}
	do()
	return nil
}

// living fails if the process was killed. The store is locked.
func (h *Handle) living() error {
	if h.dead {
		return &fslease.RepositoryError{Fault: fslease.FaultLedger, What: fmt.Sprintf("process %d was killed", h.self.PID)}
	}
	return nil
}

// View returns a reader.
func (h *Handle) View(context.Context) fslease.Reader { return reader{h.store} }

// Clock returns the store's clock.
func (h *Handle) Clock() fslease.Clock { return h.store.clock }

// Update runs fn with the locks of keys held. Locks that are not to be had for ten seconds are FaultBusy.
func (h *Handle) Update(ctx context.Context, keys []fslease.Key, fn func(fslease.Tx) error) error {
	return h.update(ctx, keys, lockPatience, fn)
}

// TryUpdate is Update that does not wait.
func (h *Handle) TryUpdate(ctx context.Context, keys []fslease.Key, fn func(fslease.Tx) error) error {
	return h.update(ctx, keys, 0, fn)
}

func (h *Handle) update(ctx context.Context, keys []fslease.Key, patience time.Duration, fn func(fslease.Tx) error) error {
	keys = fslease.FoldKeys(keys)
	unlock, err := h.store.lock(ctx, keys, patience)
	if err != nil {
		return err
	}
	defer unlock()
	return fn(&tx{reader: reader{h.store}, h: h, keys: keys})
}

// Save writes rec if the revision of its key is expected.
func (h *Handle) Save(ctx context.Context, rec fslease.Record, expected int64) error {
	return h.Update(ctx, []fslease.Key{rec.Key}, func(tx fslease.Tx) error {
		st, err := tx.Load(rec.Key)
		if err != nil {
			return err
		}
		var revision int64
		if cur := st.Current(); cur != nil {
			revision = cur.Revision
		}
		if revision != expected {
			return &fslease.RevisionConflictError{Key: rec.Key, Expected: expected, Revision: revision}
		}
		if rec.Revision <= expected {
			return &fslease.ConfigError{What: fmt.Sprintf("revision %d of %s is not above %d", rec.Revision, rec.Key, expected)}
		}
		return tx.Put(rec, true)
	})
}

// A presence is a holder with evidence lock. It lives as long as its process or until it is closed.
type presence struct {
	process *Handle
	holder  fslease.Holder
}

// Announce makes the process known as a holder.
func (h *Handle) Announce(_ context.Context, command []string) (fslease.Presence, error) {
	p := &presence{process: h, holder: h.self}
	p.holder.ID, p.holder.Evidence, p.holder.Command = newID(), fslease.EvidenceLock, fslease.CommandWords(command)
	if err := h.write(func() { h.store.presences[p.holder.ID] = p }); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *presence) Holder() fslease.Holder { return p.holder }

func (p *presence) Close() error {
	s := p.process.store
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.presences, p.holder.ID)
	s.wake(func(i fslease.Interest) bool { return concerns(i, []string{p.holder.ID}) })
	return nil
}

// Probe says whether a holder lives. It can tell of the processes of this store only.
func (h *Handle) Probe(holder fslease.Holder) fslease.Verdict {
	s := h.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hidden[holder.ID] {
		return fslease.Verdict{Life: fslease.Unknown, Reason: "it cannot be seen from here"}
	}
	process := s.processes[holder.PID]
	known := process != nil && process.self.StartTime == holder.StartTime && process.self.BootID == holder.BootID
	switch {
	case known && holder.Evidence == fslease.EvidenceLock:
		return verdict(!process.dead && s.presences[holder.ID] != nil)
	case known && holder.Evidence == fslease.EvidencePid:
		return verdict(!process.dead)
	}
	return fslease.Verdict{Life: fslease.Unknown, Reason: "it is no process of this ledger"}
}

func verdict(lives bool) fslease.Verdict {
	if lives {
		return fslease.Verdict{Life: fslease.Alive, Reason: "it runs"}
	}
	return fslease.Verdict{Life: fslease.Dead, Reason: "it is gone"}
}

// concerns reports whether the end of one of the processes ids matters to i.
func concerns(i fslease.Interest, ids []string) bool {
	ends := func(h fslease.Holder) bool { return slices.Contains(ids, h.ID) }
	return slices.ContainsFunc(i.Holders, ends) || i.Ahead != nil && ends(i.Ahead.Holder) ||
		slices.ContainsFunc(i.Keepers, func(k fslease.Keeper) bool { return k.Process != nil && ends(*k.Process) })
}
