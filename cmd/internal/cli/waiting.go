package cli

import (
	"fmt"
	"sync"
	"time"

	"fslease/fslease"
)

// patience is how long a waiter says nothing: most waits are over by then.
const patience = time.Second

// A waiting tells on stderr what is waited for: once after a while, and again when it changes.
type waiting struct {
	c     *call
	timer *time.Timer

	mu   sync.Mutex
	now  string // what is waited for
	said string
	due  bool
	over bool
}

func (c *call) waiting() *waiting { return &waiting{c: c} }

// tell notes what is waited for now.
func (w *waiting) tell(e *fslease.HeldError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = waitMessage(e)
	if w.timer == nil {
		w.timer = time.AfterFunc(patience, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.due = true
			w.say()
		})
	}
	if w.due {
		w.say()
	}
}

func (w *waiting) say() {
	if !w.over && w.now != w.said {
		w.said = w.now
		w.c.tell("%s", w.now)
	}
}

// done ends the wait: nothing is said after it.
func (w *waiting) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// waitMessage says whom or what a waiter waits for, and its place in the queue.
func waitMessage(e *fslease.HeldError) string {
	text := "waiting: " + short(e).Error()
	if e.Place > 0 {
		text += fmt.Sprintf(", place %d in the queue", e.Place)
	}
	return text
}
