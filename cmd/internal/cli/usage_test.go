package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// A page is a command or one of its subcommands, with its name below lease.
type commandPage struct {
	path    string
	command *cli.Command
}

// allPages lists every command with its subcommands.
func allPages() []commandPage {
	var all []commandPage
	var add func(above string, c *cli.Command)
	add = func(above string, c *cli.Command) {
		path := strings.TrimPrefix(above+" "+c.Name, " ")
		all = append(all, commandPage{path, c})
		for _, sub := range c.Subcommands {
			add(path, sub)
		}
	}
	for _, e := range commands() {
		add("", e.build(&call{}))
	}
	return all
}

// Each help page is one screen of 80 columns and 24 lines, the prompt after it included, with two examples of the command. It names
// every option, and shows how to type the command.
func TestHelpPages(t *testing.T) {
	pages := allPages()
	if len(pages) < 30 {
		t.Fatalf("only %d commands", len(pages))
	}
	for _, p := range pages {
		text := page(p.path, p.command)
		onScreen(t, p.path, text, 23)
		_, examples, ok := strings.Cut(text, "\nexamples:\n")
		lines := strings.Split(strings.TrimSuffix(examples, "\n"), "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "   ") }) // the example before goes on
		if !ok || len(lines) != 2 {
			t.Errorf("%s: %d examples\n%s", p.path, len(lines), text)
		}
		for _, l := range lines {
			if !strings.Contains(l, "lease "+p.path) {
				t.Errorf("%s: no example of it: %s", p.path, l)
			}
		}
		if !strings.HasPrefix(p.command.UsageText, "lease "+p.path) {
			t.Errorf("%s: usage is %q", p.path, p.command.UsageText)
		}
		for _, f := range p.command.Flags {
			for _, name := range f.Names() {
				if !strings.Contains(text, dashed(name)) {
					t.Errorf("%s: nothing is said of %s", p.path, dashed(name))
				}
			}
		}
	}
}

// The overview names every command.
func TestHelpOverview(t *testing.T) {
	overview := (&call{}).overview()
	onScreen(t, "the overview", overview, 40)
	for _, e := range commands() {
		if !strings.Contains(overview, "\n  "+e.name+" ") {
			t.Errorf("the overview does not name %s", e.name)
		}
	}
}

func onScreen(t *testing.T, name, text string, most int) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > most {
		t.Errorf("%s: %d lines\n%s", name, len(lines), text)
	}
	for _, l := range lines {
		if width(l) > 80 {
			t.Errorf("%s: %d columns: %s", name, width(l), l)
		}
	}
}
