package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// patience is how long a waiter says nothing, most waits being over by then, and how long at least what it
// said stands before it says more.
const patience = time.Second

// A waiting tells on stderr what is waited for: once after a while, and again when it changes. On a terminal
// that is one line, kept up to date in place and gone once the wait is over. A program that asked for JSON
// gets no lines for people.
type waiting struct {
	c     *call
	start time.Time

	mu    sync.Mutex
	now   *fslease.HeldError // what is waited for
	said  string
	timer *time.Timer // of the next look at what there is to say; nil if none is due
	drawn bool        // a line stands on the terminal
	over  bool
}

func (c *call) waiting() *waiting { return &waiting{c: c, start: time.Now()} }

// tell notes what is waited for now.
func (w *waiting) tell(e *fslease.HeldError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.c.quiet || w.c.json {
		return
	}
	w.now = e
	w.arm()
}

func (w *waiting) arm() {
	if w.timer == nil && !w.over {
		w.timer = time.AfterFunc(patience, w.say)
	}
}

// say says what has changed; on a terminal that is at least how long the wait has been.
func (w *waiting) say() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = nil
	if w.over {
		return
	}
	if width, ok := w.canvas(); ok {
		w.draw("\r" + waitLine(w.now, time.Since(w.start), time.Now(), width))
		w.arm()
	} else if text := waitMessage(w.now); text != w.said {
		w.said = text
		w.c.tell("%s", text)
	}
}

func (w *waiting) draw(line string) {
	_, _ = io.WriteString(w.c.talk(), line+"\x1b[K")
	w.drawn = true
}

// canvas returns the width of the terminal on which a line can be kept up to date, 0 if it does not say. A
// job in the background has none: somebody else types there.
func (w *waiting) canvas() (width int, ok bool) {
	width, ok = terminal(w.c.talk())
	front, err := unix.IoctlGetInt(int(w.c.talk().Fd()), unix.TIOCGPGRP)
	return width, ok && os.Getenv("TERM") != "dumb" && (err != nil || front == syscall.Getpgrp())
}

// done ends the wait: nothing is said after it, and nothing is left on the terminal.
func (w *waiting) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.drawn {
		w.drawn = false
		_, _ = io.WriteString(w.c.talk(), "\r\x1b[K")
	}
}

// waitMessage says whom or what a waiter waits for, and its place in the queue.
func waitMessage(e *fslease.HeldError) string {
	text := "waiting"
	if e.Place > 0 {
		text += fmt.Sprintf(", place %d in the queue", e.Place)
	}
	message, _ := heldMessage(e)
	return text + ": " + strings.ReplaceAll(message, "\n", "; ")
}
