package cli

import (
	"strings"
	"testing"
)

// Each help page is one screen with two examples, names every option, and shows how to type the command.
func TestHelpPages(t *testing.T) {
	for _, e := range commands() {
		cmd := e.build(&call{})
		text := page(e.name, cmd)
		onOneScreen(t, e.name, text)
		_, examples, ok := strings.Cut(text, "examples:\n")
		if n := strings.Count("\n"+strings.TrimSuffix(examples, "\n"), "\n  "); !ok || n != 2 {
			t.Errorf("%s: %d examples\n%s", e.name, n, text)
		}
		if !strings.HasPrefix(cmd.UsageText, "lease "+e.name) {
			t.Errorf("%s: usage is %q", e.name, cmd.UsageText)
		}
		for _, f := range cmd.Flags {
			for _, name := range f.Names() {
				if !strings.Contains(text, dashed(name)) {
					t.Errorf("%s: nothing is said of %s", e.name, dashed(name))
				}
			}
		}
	}
	overview := (&call{}).overview()
	onOneScreen(t, "overview", overview)
	for _, e := range commands() {
		if !strings.Contains(overview, "\n  "+e.name+" ") {
			t.Errorf("the overview does not name %s", e.name)
		}
	}
}

func onOneScreen(t *testing.T, name, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 40 {
		t.Errorf("%s: %d lines", name, len(lines))
	}
	for _, l := range lines {
		if width(l) > 80 {
			t.Errorf("%s: more than 80 columns: %s", name, l)
		}
	}
}
