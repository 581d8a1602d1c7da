package cli

import (
	"strings"
	"testing"
)

var wideRows = [][]cell{
	{{"repo/api", plain}, {"held", green}, {"12", plain}, {"pid 4242 ann@build-3", plain}, {"make -j8 deploy ENV=production VERBOSE=1", plain}, {"3h ago", plain}, {"12s ago", plain}, {"2", plain}, {"the nightly deploy, do not stop it", plain}},
	{{"a/key/that/is/longer/than/all/the/others", plain}, {"reserved", yellow}, {"9007199254740991", plain}, {"ticket 42", plain}, {"", plain}, {"119m ago", plain}, {"", plain}, {"", plain}, {"漢字の注記はとても幅が広い", plain}},
}

func render(t *testing.T, s *screen, rows [][]cell) []string {
	t.Helper()
	var b strings.Builder
	if err := writeTable(&b, s, lsColumns, rows); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// No line is wider than the terminal, and every column of a line begins where the header's does.
func TestTableFits(t *testing.T) {
	for _, w := range []int{70, 80, 100, 200} {
		lines := render(t, &screen{width: w}, wideRows)
		if len(lines) != 3 {
			t.Fatalf("%q", lines)
		}
		starts := []int{0}
		for i := 2; i < len(lines[0]); i++ {
			if lines[0][i] != ' ' && lines[0][i-2:i] == gap {
				starts = append(starts, i)
			}
		}
		for _, line := range lines {
			if width(line) > w {
				t.Errorf("%d columns: too wide: %q", w, line)
			}
			at, runes := 0, []rune(line)
			for i, r := range runes {
				for _, s := range starts[1:] {
					if at == s && i > 0 && runes[i-1] != ' ' {
						t.Errorf("%d columns: not aligned at %d: %q", w, s, line)
					}
				}
				at += runeWidth(r)
			}
		}
		if !strings.Contains(lines[0], "KEY") || !strings.Contains(lines[0], "STATE") || !strings.Contains(lines[0], "SINCE") {
			t.Errorf("%d columns: %q", w, lines[0])
		}
	}
	// With room for everything nothing is cut.
	if lines := render(t, &screen{width: 300}, wideRows); strings.Contains(strings.Join(lines, ""), "…") || !strings.Contains(lines[0], "NOTE") {
		t.Errorf("%q", lines)
	}
}

// A narrow terminal gets what it can: key and state first.
func TestTableTooNarrow(t *testing.T) {
	lines := render(t, &screen{width: 10}, wideRows)
	if !strings.HasPrefix(lines[0], "KEY") || !strings.Contains(lines[1], "held") {
		t.Errorf("%q", lines)
	}
}

func TestTableOfNothing(t *testing.T) {
	if lines := render(t, &screen{width: 80}, nil); len(lines) != 1 || lines[0] != "" {
		t.Errorf("%q", lines)
	}
}

// Colour changes nothing but the colour.
func TestTableColour(t *testing.T) {
	coloured := strings.Join(render(t, &screen{width: 80, colour: true}, wideRows), "\n")
	plainly := strings.Join(render(t, &screen{width: 80}, wideRows), "\n")
	if !strings.Contains(coloured, "\x1b[32mheld\x1b[0m") || strings.NewReplacer("\x1b[32m", "", "\x1b[33m", "", "\x1b[0m", "").Replace(coloured) != plainly {
		t.Errorf("%q\n%q", coloured, plainly)
	}
}

// Programs get every field in full, and no header.
func TestTableForPrograms(t *testing.T) {
	lines := render(t, nil, wideRows)
	if len(lines) != 2 || strings.Count(lines[0], "\t") != len(lsColumns)-1 || strings.Count(lines[1], "\t") != len(lsColumns)-1 || !strings.HasSuffix(lines[1], "とても幅が広い") {
		t.Errorf("%q", lines)
	}
}

func TestWidthAndCut(t *testing.T) {
	for in, want := range map[string]int{"abc": 3, "é": 1, "e\u0301": 1, "漢字": 4, "🙂": 2, "": 0, "한글": 4, "ｱ": 1, "👩\u200d💻": 4} {
		if got := width(in); got != want {
			t.Errorf("%q takes %d, want %d", in, got, want)
		}
	}
	for _, c := range []struct {
		in   string
		w    int
		want string
	}{{"abcdef", 6, "abcdef"}, {"abcdef", 5, "abcd…"}, {"漢字漢字", 5, "漢字…"}, {"漢字漢字", 4, "漢…"}, {"ab  cd", 5, "ab…"}, {"abc", 1, "…"}} {
		if got := cut(c.in, c.w); got != c.want {
			t.Errorf("%q cut to %d is %q, want %q", c.in, c.w, got, c.want)
		}
	}
}

// What is left out first is the time of the last renewal; who waits and the note are kept longest.
func TestTableLeavesOutInOrder(t *testing.T) {
	for w, want := range map[int]string{84: "RENEWED COMMAND NOTE WAITING", 78: "COMMAND NOTE WAITING", 64: "NOTE WAITING", 54: "WAITING", 44: ""} {
		head := render(t, &screen{width: w}, [][]cell{wideRows[0], wideRows[0]})[0]
		var got []string
		for _, name := range []string{"RENEWED", "COMMAND", "NOTE", "WAITING"} {
			if strings.Contains(head, name) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%d columns: %q, want of the spare ones %s", w, head, want)
		}
	}
}

// What does not fit on a line goes on below, between words, by what a terminal shows; nothing is lost.
func TestFolded(t *testing.T) {
	for _, c := range []struct {
		in   string
		w    int
		want string
	}{
		{"", 9, ""}, {"one", 9, "one"}, {"one two six", 7, "one two|six"}, {"one two six", 6, "one|two|six"}, {"one two", 2, "one|two"},
		{"漢字 漢字", 9, "漢字 漢字"}, {"漢字 漢字", 8, "漢字|漢字"}, {"a  b", 4, "a  b"},
	} {
		if got := strings.Join(folded(c.in, c.w), "|"); got != c.want {
			t.Errorf("%q in %d columns is %q, want %q", c.in, c.w, got, c.want)
		}
	}
	var b strings.Builder
	writeFinding(&b, &screen{width: 40}, cell{"ok", green}, "proc", "it shows all that it has", "/proc/self", "")
	if got, want := b.String(), "ok       proc         it shows all that\n                      it has\n                      /proc/self\n"; got != want {
		t.Errorf("is\n%swant\n%s", got, want)
	}
	l := lines{screen: &screen{width: 20}, width: 4}
	l.add("name", "the first value", "and another")
	if got, want := l.b.String(), "name  the first\n      value\n      and another\n"; got != want {
		t.Errorf("is\n%swant\n%s", got, want)
	}
}
