package cli

import (
	"slices"
	"strings"
	"testing"
)

// Options are put first wherever they stand, and everything after -- is left as it is.
func TestSort(t *testing.T) {
	for typed, want := range map[string]string{
		"run k -- cmd":                               "run -- k | cmd",
		"run a --ttl 5s b -n -- cmd -n --ttl":        "run --ttl=5s --no-wait -- a b | cmd -n --ttl",
		"-q run a --note=x --json b -- cmd -- -q":    "--quiet --json run --note=x -- a b | cmd -- -q",
		"run -E 3 k -- c":                            "run --conflict-exit-code=3 -- k | c",
		"run --note -x k -- c":                       "run --note=-x -- k | c",
		"run --note= k -- c":                         "run --note= -- k | c",
		"--ledger d acquire --pid 1 h help":          "--ledger=d acquire --pid=1 -- h help |",
		"acquire --ttl 1h -- -dash --ttl":            "acquire --ttl=1h -- -dash --ttl |",
		"check - --token=1":                          "check --token=1 -- - |",
		"run h -- help":                              "run -- h | help",
		"run help -- -h":                             "run -- help | -h",
		"ls":                                         "ls -- |",
		"release --token 1 --verbose k --ledger=a=b": "--verbose --ledger=a=b release --token=1 -- k |",
	} {
		c := &call{}
		l, err := c.sort(strings.Fields(typed))
		got := strings.TrimSpace(strings.Join(l.words, " ") + " | " + strings.Join(c.argv, " "))
		if err != nil || got != want {
			t.Errorf("%s\nis   %s, %v\nwant %s", typed, got, err, want)
		}
	}
}

// Empty arguments and those that are not UTF-8 are kept.
func TestSortKeepsArguments(t *testing.T) {
	c := &call{}
	argv := []string{"", "\xff", "a b", "--"}
	l, err := c.sort(append([]string{"run", "", "k", "--"}, argv...))
	if err != nil || !slices.Equal(c.argv, argv) || !slices.Equal(l.words, []string{"run", "--", "", "k"}) {
		t.Errorf("%q | %q, %v", l.words, c.argv, err)
	}
}

// The first mistake is told, and the rest is still read: --json and the command say how it is told.
func TestSortMistakes(t *testing.T) {
	for typed, want := range map[string]string{
		"run --ttl 5s k --ttl 5s -- c":      "option --ttl is given twice",
		"run -n k --no-wait -- c":           "option --no-wait is given twice",
		"--ledger a run --ledger b k -- c":  "option --ledger is given twice",
		"-q run k --quiet -- c":             "option --quiet is given twice",
		"run --nope k --ttl 1s --ttl 2s":    "unknown option --nope",
		"run -ttl 5s k -- c":                "unknown option -ttl",
		"run --n k -- c":                    "unknown option --n",
		"run --token 1 k -- c":              "unknown option --token",
		"run k --ttl -- c":                  "option --ttl needs a value",
		"run k --ttl":                       "option --ttl needs a value",
		"run --no-wait=yes k -- c":          "option --no-wait takes no value",
		"--nope=1 run k -- c":               "unknown option --nope",
		"":                                  "no command is given",
		"-q":                                "no command is given",
		"-- run k":                          "no command is given",
		"nope k --x":                        "there is no command nope",
		"RUN k -- c":                        "there is no command RUN",
		"acquire --pid 1 --ttl 1s --pid":    "option --pid is given twice",
		"--wait 5s acquire --ttl 1s k":      "unknown option --wait",
		"release k --token 1 -x --token 2z": "unknown option -x",
	} {
		c := &call{}
		_, err := c.sort(strings.Fields(typed))
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", typed, err, want)
		}
		if fields := strings.Fields(typed); slices.Contains(fields, "run") && fields[0] != "--" != c.wrapper {
			t.Errorf("%s: it is forgotten that run was meant", typed)
		}
	}
	c := &call{}
	if _, err := c.sort([]string{"run", "--nope", "k", "--json"}); err == nil || !c.json {
		t.Errorf("--json is forgotten: %v", err)
	}
}

// Help is asked for anywhere before --, whatever else is wrong.
func TestSortHelp(t *testing.T) {
	for typed, help := range map[string]bool{
		"--help": true, "-h run": true, "run --help": true, "run k --nope -h": true, "run k -- -h": false, "run help -- c": false,
	} {
		c := &call{}
		if l, _ := c.sort(strings.Fields(typed)); l.help != help {
			t.Errorf("%s: help is %v", typed, l.help)
		}
	}
}

// A command's own option would hide a global one of the same name.
func TestOptionNamesAreUnique(t *testing.T) {
	for _, e := range commands() {
		cmd := e.build(&call{})
		if cmd.Name != e.name {
			t.Errorf("%s is built as %s", e.name, cmd.Name)
		}
		seen := map[string]bool{"help": true, "h": true, "version": true}
		for _, f := range append(globalOptions(), cmd.Flags...) {
			for _, name := range f.Names() {
				if seen[name] {
					t.Errorf("%s: option %s is there twice", e.name, name)
				}
				seen[name] = true
			}
		}
	}
}
