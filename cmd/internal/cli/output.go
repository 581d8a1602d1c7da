package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The rules of speech. Answers go to stdout, everything else to stderr, where each line begins with
// "lease: ", is lower case and has no full stop. What came from elsewhere is escaped before it is shown.

// answer writes text, which is escaped already, to stdout.
func (c *call) answer(text string) error {
	if _, err := io.WriteString(c.stdout, text); err != nil {
		return unwritten(err)
	}
	return nil
}

func unwritten(err error) error { return fmt.Errorf("cannot write the answer: %w", err) }

// value answers with one JSON value on a line.
func (c *call) value(v any) error { return writeValue(c.stdout, v) }

func writeValue(w io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(escapeJSON(data), '\n')); err != nil {
		return unwritten(err)
	}
	return nil
}

// joined is the JSON object of record with the fields of more after its own.
func joined(record json.Marshaler, more any) (json.RawMessage, error) {
	head, err := record.MarshalJSON()
	if err != nil {
		return nil, err
	}
	tail, err := json.Marshal(more)
	if err != nil {
		return nil, err
	}
	head[len(head)-1] = ','
	return append(head, tail[1:]...), nil
}

// say writes one line to stderr.
func (c *call) say(text string) { c.stderrLine("lease: " + escape(text)) }

// tell is say for what is no error: not with --quiet.
func (c *call) tell(format string, args ...any) {
	if !c.quiet {
		c.say(fmt.Sprintf(format, args...))
	}
}

func (c *call) stderrLine(line string) {
	_, _ = io.WriteString(c.talk(), line+"\n") // there is nowhere else to tell
}

// talk returns stderr. Go ends a process that writes to descriptor 2 when nobody reads it any more; a wrapper must not
// end before its command, so it writes to another descriptor of the same file.
func (c *call) talk() *os.File {
	c.talking.Do(func() {
		if !c.wrapper {
			return
		}
		if fd, err := unix.FcntlInt(c.stderr.Fd(), unix.F_DUPFD_CLOEXEC, 3); err == nil {
			c.stderr = os.NewFile(uintptr(fd), c.stderr.Name())
		}
	})
	return c.stderr
}

// A screen is the terminal that answers are shown on.
type screen struct {
	width  int
	colour bool
}

// screen returns the terminal that stdout is, nil if it is none: then a program reads.
func (c *call) screen() *screen {
	width, ok := terminal(c.stdout)
	if !ok {
		return nil
	}
	s := &screen{width: width, colour: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if s.width == 0 {
		s.width = 80
	}
	return s
}

// terminal reports whether f is a terminal, and how many columns it has: 0 if it does not say.
func terminal(f *os.File) (width int, ok bool) {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}

// Colours of state words.
const (
	plain  = ""
	green  = "32"
	yellow = "33"
	red    = "31"
	dim    = "2"
)

// paint colours text; nothing but the text changes.
func (s *screen) paint(text, colour string) string {
	if s == nil || !s.colour || colour == plain {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// lines is a page of names and values: aligned on a terminal, separated by a tab for programs. What has
// several values repeats the name for programs only. Values are escaped here.
type lines struct {
	screen *screen
	width  int // of the names
	b      strings.Builder
}

func (l *lines) add(name string, values ...string) {
	for i, v := range values {
		if i > 0 && l.screen != nil {
			name = ""
		}
		l.put(name, cell{escape(v), plain})
	}
}

// put adds a line whose value is escaped already.
func (l *lines) put(name string, value cell) {
	if l.screen == nil {
		l.b.WriteString(name + "\t" + value.text + "\n")
	} else {
		for _, line := range folded(value.text, l.screen.width-l.width-len(gap)) {
			fmt.Fprintf(&l.b, "%-*s%s%s\n", l.width, name, gap, l.screen.paint(line, value.colour))
			name = ""
		}
	}
}
