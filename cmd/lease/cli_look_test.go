package main_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A screen is a terminal of that many columns, as a terminal emulator shows it: it knows itself how wide a character is.
type screen struct {
	l      *Ledger
	socket string
}

// screen runs a shell script, in which lease is in the PATH, on a screen.
func (l *Ledger) screen(columns int, script string) *screen {
	l.t.Helper()
	needs(l.t, "tmux")
	s := &screen{l.Env("LC_ALL=C.UTF-8", "TERM=xterm"), filepath.Join(l.t.TempDir(), "tmux")}
	s.tmux("-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(columns), "-y", "60", script+"\necho END; exec sleep 600")
	l.t.Cleanup(func() { s.tmux("kill-server") })
	return s
}

func (s *screen) tmux(args ...string) string {
	s.l.t.Helper()
	return s.l.start(nil, append([]string{"tmux", "-u", "-S", s.socket}, args...)...).Wait().Want(s.l.t, 0).Stdout
}

// rows are what stands on the screen, without empty rows and trailing spaces. attributes adds the colours.
func (s *screen) rows(attributes ...string) []string {
	s.l.t.Helper()
	rows := strings.Split(s.tmux(append([]string{"capture-pane", "-p"}, attributes...)...), "\n")
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return slices.DeleteFunc(rows, func(row string) bool { return row == "" })
}

// finished waits for the script's end, and returns what it showed.
func (s *screen) finished() []string {
	s.l.t.Helper()
	s.l.until("the script ends", func() bool { return slices.Contains(s.rows(), "END") })
	return slices.DeleteFunc(s.rows(), func(row string) bool { return row == "END" })
}

// columnOf is the column of a screen in which text begins in row, -1 if it is not there. Wide characters of these tests take two.
func columnOf(row, text string) int {
	before, _, found := strings.Cut(row, text)
	if !found {
		return -1
	}
	n := 0
	for _, r := range before {
		if n++; r >= 0x2e80 {
			n++
		}
	}
	return n
}

// toLookAt is a ledger with long keys, and with wide, control and bidi characters in keys, notes and commands. It returns the pid of a run
// that holds the key deploy/production.
func toLookAt(t *testing.T) (*Ledger, int) {
	l := NewLedger(t)
	for key, note := range map[string]string{
		"repo/api": "夜間デプロイ、触らないでください、アン",
		"control":  "red \x1b[31mbell\a bidi \u202eabc\u202c \u2066x\u2069 tab\t end",
		"鍵/とても長い名前の鍵がここにあります/" + strings.Repeat("x", 60): "🚀🚀 ship it",
	} {
		l.Run("acquire", "--ttl", "1h", "--note", note, key).Want(t, 0)
	}
	run := l.Start("run", "--note", "nightly deploy of everything, with a note that goes on and on", "deploy/production", "--",
		"sh", "-c", "echo $$ >holding; exec sleep 600 # 本番 \x1b[2J \u202e and a command line that is long enough to be cut somewhere")
	l.UntilFile("holding")
	return l, run.Pid
}

// A table has a row a lease, its columns one below the other, however wide what stands in it; what is too much is cut. Nothing of what
// others wrote commands the terminal. A narrow terminal keeps what names the holder.
func TestTablesOnScreen(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			l, pid := toLookAt(t)
			s := l.screen(columns, "lease ls")
			rows := s.finished()
			if len(rows) != 5 {
				t.Fatalf("a header and four leases want five rows\n%s", strings.Join(rows, "\n"))
			}
			for _, head := range []string{"KEY", "STATE", "GEN", "HOLDER", "COMMAND", "SINCE", "NOTE"} {
				if columnOf(rows[0], head) < 0 {
					t.Errorf("no column %s\n%s", head, rows[0])
				}
			}
			for _, row := range rows[1:] {
				for head, text := range map[string]string{"STATE": "held", "HOLDER": "pid ", "SINCE": regexp.MustCompile(`\d+[smh] ago`).FindString(row)} {
					if at := columnOf(row, text); at != columnOf(rows[0], head) {
						t.Errorf("%s stands in column %d, not %d\n%s", head, at, columnOf(rows[0], head), strings.Join(rows, "\n"))
					}
				}
				noControls(t, row, rows)
			}
			all := strings.Join(rows, "\n")
			want := []string{"deploy/produc", fmt.Sprintf("pid %d ", pid), "夜間", "鍵/"}
			if columns == 200 {
				want = append(want, "deploy/production ", `red \x1b[31mbell\x07 bidi \u202eabc`, "exec sleep 600", "夜間デプロイ、触らないでください、アン", "🚀🚀 ship it", "RENEWED")
			}
			for _, text := range want {
				if !strings.Contains(all, text) {
					t.Errorf("%q is not shown\n%s", text, all)
				}
			}
			if coloured := strings.Join(s.rows("-e"), "\n"); !strings.Contains(coloured, "\x1b[32mheld") {
				t.Errorf("no state is green\n%q", coloured)
			}
			if plain := l.Env("NO_COLOR=1").screen(columns, "lease ls; lease show control; lease doctor"); strings.Contains(strings.Join(plain.finished(), ""), "\x1b") ||
				strings.Contains(strings.Join(plain.rows("-e"), ""), "\x1b") {
				t.Errorf("NO_COLOR is not heeded\n%q", plain.rows("-e"))
			}
		})
	}
}

// What a waiter says on a terminal stays in one row, whatever stands in the records, and keeps what matters there: for how long it
// waits, its place, the key, since when that is held and by which process.
func TestWaitingLineOnScreen(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			l, pid := toLookAt(t)
			long := "鍵/とても長い名前の鍵がここにあります"
			waiters := map[*screen]string{}
			for key, want := range map[string]string{
				"deploy":   fmt.Sprintf("s by pid %d", pid),
				"repo/api": "repo/api is held for ",
				"control":  "control is held for ",
				long:       " by pid ",
			} {
				waiters[l.screen(columns, "trap : INT; lease run "+key+" -- true")] = want
			}
			for s, want := range waiters {
				l.until("it says that it waits, and for how long", func() bool {
					rows := s.rows()
					return len(rows) > 0 && strings.HasPrefix(rows[0], "lease: waiting ") && !strings.HasPrefix(rows[0], "lease: waiting 1s")
				})
				rows := s.rows()
				if len(rows) != 1 || !strings.Contains(rows[0], ", place 1: ") || !strings.Contains(rows[0], want) || !strings.Contains(rows[0], " is held ") {
					t.Errorf("want one row that says %q\n%s", want, strings.Join(rows, "\n"))
				}
				noControls(t, rows[0], rows)
				s.tmux("send-keys", "C-c")
				if left := s.finished(); len(left) > 0 && left[0] != "^C" {
					t.Errorf("it leaves %q", left)
				}
			}
		})
	}
}
