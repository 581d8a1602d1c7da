package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// A line is a command line taken apart and put in the order that urfave/cli understands: it takes every
// option after the first argument for an argument.
type line struct {
	command       *cli.Command
	global        []cli.Flag // the global options that are given
	words         []string   // global options, the command's name, its options, --, its arguments
	help, version bool
}

// sorter puts a command line in order. It reads on after the first mistake: --json and the command's name
// say how the mistake is told.
type sorter struct {
	c       *call
	top     *cli.Command // nil until a known command is named
	command *cli.Command // the same, or one of its subcommands
	err     error

	global, own, args []string
	given             map[string]bool
	lost              bool // no such command: the rest of the words means nothing
	help, version     bool
}

// sort sorts args. Options may stand before, between or after the keys, the global ones also before the
// command; everything after -- is left as it is.
func (c *call) sort(args []string) (line, error) {
	s := &sorter{c: c, given: map[string]bool{}}
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
			s.rest(args)
			args = nil
		case len(word) > 1 && word[0] == '-':
			args = s.option(word, args)
		default:
			s.word(word)
		}
	}
	if s.top == nil {
		s.fail("lease help lists the commands", "no command is given")
	} else if len(s.command.Subcommands) > 0 {
		s.fail("", "%s needs one of its commands: %s", s.command.Name, strings.Join(names(s.command.Subcommands), ", "))
	}
	if s.command != nil {
		s.command.Flags = s.only(s.command.Flags)
	}
	words := slices.Concat(s.global, c.path, s.own, []string{"--"}, s.args)
	return line{command: s.top, global: s.only(globalOptions()), words: words, help: s.help, version: s.version}, s.err
}

// only returns those of flags that are given. To urfave/cli the others need not exist, and each one costs it
// time at every start, whether it is given or not.
func (s *sorter) only(flags []cli.Flag) []cli.Flag {
	return slices.DeleteFunc(flags, func(f cli.Flag) bool { return !s.given[dashed(optionNames(f)[0])] })
}

func (s *sorter) fail(hint, format string, args ...any) {
	if s.err == nil {
		s.err = usage(hint, format, args...)
	}
}

// rest takes what follows --: of run and fenced the command, of all others arguments that may look like options.
func (s *sorter) rest(args []string) {
	if s.c.wrapper {
		s.c.argv = args
	} else {
		s.args = append(s.args, args...)
	}
}

// word takes a word that is no option.
func (s *sorter) word(word string) {
	if s.command == nil || len(s.command.Subcommands) > 0 {
		s.descend(word)
	} else {
		s.args = append(s.args, word)
	}
}

// descend takes a word for the name of a command or subcommand.
func (s *sorter) descend(name string) {
	if s.lost {
		return
	}
	s.c.path = append(s.c.path, name)
	var next *cli.Command
	head, hint, known := "lease ", "lease help lists the commands", s.commands()
	if s.top == nil {
		next = s.c.build(name)
		s.top, s.c.wrapper = next, wrappers[name]
	} else {
		next = s.top.Command(name)
		head += s.top.Name + " "
		if len(known) > 0 {
			hint = s.top.Name + " has " + strings.Join(known, ", ")
		}
	}
	if next == nil {
		s.lost = true
		s.fail(meant(head, name, known, hint), "there is no command %s", strings.Join(s.c.path, " "))
		return
	}
	s.command = next
}

func names(commands []*cli.Command) []string {
	var all []string
	for _, c := range commands {
		all = append(all, c.Name)
	}
	return all
}

// option takes one option, with its value from rest if it needs one, and returns what is left of rest.
func (s *sorter) option(word string, rest []string) []string {
	name, value, inline := strings.Cut(word, "=")
	switch name {
	case "-h", "--help":
		s.help = true
		return rest
	case "--version":
		s.version = true
		return rest
	case "--json":
		s.c.json = true
	}
	opt, to := s.find(name)
	if opt == nil {
		s.fail(meant("", name, s.options(), s.optionHint(rest)), "unknown option %s", name)
		return rest
	}
	long := dashed(optionNames(opt)[0])
	if _, many := opt.(*cli.StringSliceFlag); s.given[long] && !many {
		s.fail("", "option %s is given twice", long)
	}
	s.given[long] = true
	if !opt.(cli.DocGenerationFlag).TakesValue() {
		if inline {
			s.fail("", "option %s takes no value", long)
		}
		*to = append(*to, long)
		return rest
	}
	if !inline {
		if len(rest) == 0 || rest[0] == "--" {
			s.fail("", "option %s needs a value", long)
			return rest
		}
		value, rest = rest[0], rest[1:]
	}
	*to = append(*to, long+"="+value)
	return rest
}

// optionHint says what to do about an unknown option, after which rest is typed.
func (s *sorter) optionHint(rest []string) string {
	help := "lease help " + strings.Join(s.c.path, " ") + " lists them"
	switch {
	case s.command == nil:
		return "options of a command stand after its name; lease help lists those that may stand before it"
	case !s.c.wrapper:
		return help + "; what begins with - and is none stands after --"
	case slices.Contains(rest, "--"):
		return help
	}
	return help + "; the command and its options stand after --"
}

// find returns the option that is written as name, and where its words go.
func (s *sorter) find(name string) (cli.Flag, *[]string) {
	if s.command != nil {
		if f := optionNamed(s.command.Flags, name); f != nil {
			return f, &s.own
		}
	}
	return optionNamed(globalOptions(), name), &s.global
}

func optionNamed(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		for _, n := range optionNames(f) {
			if dashed(n) == name {
				return f
			}
		}
	}
	return nil
}

// optionNames returns the names of an option, the long one first. (The library's own answer looks for commas in
// each name, with a regular expression, each time.)
func optionNames(f cli.Flag) []string {
	switch f := f.(type) {
	case *cli.StringFlag:
		return append([]string{f.Name}, f.Aliases...)
	case *cli.BoolFlag:
		return append([]string{f.Name}, f.Aliases...)
	}
	return f.Names()
}

// dashed writes an option's name as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}
