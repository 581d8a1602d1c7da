package main_test

import (
	"strings"
	"testing"
)

// Titles, notes and reasons are any text. No control character of theirs, and none that changes the direction of
// writing, reaches the terminal, and none ends a line.
func TestAnyTextInATicket(t *testing.T) {
	t.Parallel()
	l := NewLedger(t)
	evil := "\x1b[2J\x1b]0;owned\x07a\r\nlease: fine\tb \u202egnp\u202c \u009b31m c\x7f é 日本"
	l.Run("ticket", "add", "42", "--title", evil, "--scope", "repo/\u202eapi").Want(t, 0)
	l.Run("ticket", "approve", "42").Want(t, 0)
	token := l.Begin("42")
	l.Run("ticket", "checkpoint", "42", "--token", token, "--note", evil).Want(t, 0)
	clean := func(r Result) {
		t.Helper()
		for _, text := range []string{r.Stdout, r.Stderr} {
			if i := strings.IndexFunc(text, func(c rune) bool {
				return c != '\n' && c != '\t' && (c < ' ' || c >= 0x7f && c < 0xa0) || strings.ContainsRune("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", c)
			}); i >= 0 {
				t.Errorf("%v shows %q", r.Argv, text[i:min(i+20, len(text))])
			}
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "lease: fine") {
					t.Errorf("%v shows a line of the note's own: %q", r.Argv, line)
				}
			}
		}
	}
	look := func() {
		t.Helper()
		clean(l.Run("ticket", "show", "42").Want(t, 0))
		clean(l.Run("ticket", "ls").Want(t, 0))
		clean(l.Run("ticket", "ls", "--json").Want(t, 0))
		clean(l.Run("ticket", "show", "42", "--json").Want(t, 0))
		clean(l.Run("log").Want(t, 0))
	}
	look()
	if rows := l.Run("ticket", "ls").Stdout; strings.Count(rows, "\n") != 1 || strings.Count(rows, "\t") != 6 {
		t.Errorf("ticket ls is no table of one row: %q", rows)
	}
	clean(l.Run("run", "-n", "repo", "--", "true").Want(t, 75))
	clean(l.Run("break", "ticket:42", "--reason", evil).Want(t, 0))
	look()
	clean(l.Run("ticket", "reopen", "42", "--reason", evil).Want(t, 0))
	look()
	if got := l.Ticket("42"); got.Str("title") != evil || !strings.Contains(l.Sh(`jq -r '.failures[0].detail, .history[-1].reason' "$LEASE_LEDGER/tickets/42.json"`).Stdout, "\x1b[2J") {
		t.Errorf("the record lost some of it: %v", got)
	}
	for _, args := range [][]string{
		{"ticket", "add", "43", "--title", "\xff"},
		{"ticket", "checkpoint", "42", "--force", "--reason", "\xff"},
		{"ticket", "checkpoint", "42", "--force", "--reason", "ok", "--note", strings.Repeat("x", 1025)},
		{"ticket", "cancel", "42", "--reason", strings.Repeat("x", 1025)},
		{"ticket", "add", "43", "--title", strings.Repeat("x", 1<<20)},
	} {
		if len(args[len(args)-1]) < 1<<17 { // the longest argument that a program can get
			l.Run(args...).Want(t, 64)
		}
	}
}
