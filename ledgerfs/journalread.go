package ledgerfs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// A Filter picks events of the journal. What is empty lets everything pass.
type Filter struct {
	Prefix fslease.Key // a key and what is below it; the key of a ticket: all about the ticket
	By     string      // who did it: a user, a host, user@host, or a pid
	Since  time.Time
	New    bool // only what is written from now on, whatever its time: the wall clock may step
}

func (f Filter) passes(e fslease.Event) bool {
	if e.At.Before(f.Since) || !e.Key.Within(f.Prefix) && !(e.Ticket != "" && fslease.TicketKey(e.Ticket).Within(f.Prefix)) {
		return false
	}
	switch f.By {
	case "", e.By.User, e.By.Host, e.By.User + "@" + e.By.Host, strconv.FormatInt(e.By.PID, 10):
		return true
	}
	return false
}

// Journal calls visit with each event that passes the filter, the oldest first, and returns how many lines
// were torn: cut off by a power cut or a full disk. With follow it goes on with what is written later, until
// ctx ends, which is then its error. An error of visit ends it. It takes no lock and writes nothing.
func (l *Ledger) Journal(ctx context.Context, filter Filter, follow bool, visit func(fslease.Event) error) (torn int, err error) {
	t := &tail{l: l, filter: filter, visit: visit, done: map[string]int64{}}
	if filter.New {
		if err := t.skip(); err != nil {
			return 0, err
		}
	}
	if !follow {
		err := t.read(true)
		return t.torn, err
	}
	wake, stop := l.watchJournal()
	defer stop()
	for {
		if err := t.read(false); err != nil {
			return t.torn, err
		}
		timer := time.NewTimer(time.Second + rand.N(time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return t.torn, context.Cause(ctx)
		case <-wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// watchJournal returns a channel of hints that something was written. Where there is no watcher to be had,
// or no journal yet, it stays silent, and the timer has to do.
func (l *Ledger) watchJournal() (<-chan fsnotify.Event, func()) {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, func() {}
	}
	_ = n.Add(l.file(journalDir))
	go func() {
		for range n.Errors { // an overflow: the timer looks again
		}
	}()
	return n.Events, func() { _ = n.Close() }
}

// A tail is how far the journal was read.
type tail struct {
	l      *Ledger
	filter Filter
	visit  func(fslease.Event) error
	done   map[string]int64 // bytes, by file
	torn   int
}

// read reads what is new. A last line without an end may still be written, unless whole says that it is
// all that there will be.
func (t *tail) read(whole bool) error {
	return t.each(func(name string) error { return t.readFile(name, whole) })
}

// skip passes over what is there.
func (t *tail) skip() error {
	return t.each(func(name string) error {
		st, err := t.l.fsys.Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return t.l.fail(name, err)
		}
		t.done[name] = st.Size
		return nil
	})
}

// each calls f with the files that the filter does not rule out, the oldest first.
func (t *tail) each(f func(name string) error) error {
	if t.l.attach() != nil {
		return nil // there is no ledger yet
	}
	if err := t.l.checkRoot(); err != nil {
		return err
	}
	names, err := t.l.list(journalDir)
	if err != nil {
		return err
	}
	for _, n := range names {
		month, ok := journalMonth(n)
		if !ok || month.AddDate(0, 1, 0).Before(t.filter.Since) {
			continue
		}
		if err := f(journalDir + "/" + n); err != nil {
			return err
		}
	}
	return nil
}

// journalMonth returns the month that a file of the journal holds.
func journalMonth(name string) (time.Time, bool) {
	month, err := time.Parse("2006-01.jsonl", name)
	return month, err == nil
}

func (t *tail) readFile(name string, whole bool) error {
	fd, st, err := t.l.dir.openRegular(name, unix.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return t.l.fail(name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer func() { _ = f.Close() }()
	if st.Size < t.done[name] {
		t.done[name] = 0 // another file
	}
	if _, err := f.Seek(t.done[name], io.SeekStart); err != nil {
		return t.l.fail(name, err)
	}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return t.l.fail(name, &fs.PathError{Op: "read", Path: name, Err: err})
		}
		if err == nil || whole {
			t.done[name] += int64(len(line))
			if err := t.line(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// line takes one line. What was cut off has no end, so that the next event stands on the same line: that
// one is found again by how each begins.
func (t *tail) line(line []byte) error {
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	var e fslease.Event
	if e.UnmarshalJSON(line) != nil {
		t.torn++
		begin := bytes.LastIndex(line, []byte(`{"at":`))
		if begin <= 0 || e.UnmarshalJSON(line[begin:]) != nil {
			return nil
		}
	}
	if !t.filter.passes(e) {
		return nil
	}
	return t.visit(e)
}
