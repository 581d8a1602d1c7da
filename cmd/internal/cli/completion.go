package cli

import (
	"context"
	"embed"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/githook"
	"fslease/fslease"
)

//go:embed completion/lease.bash completion/lease.zsh completion/lease.fish
var completionScripts embed.FS

func completionCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script of a shell",
		UsageText: "lease completion bash|zsh|fish",
		Description: `The script completes commands, options, keys that are held and tickets. After
-- it leaves the line to the completion of the command that stands there.

examples:
  source <(lease completion bash)
  lease completion fish > ~/.config/fish/completions/lease.fish`,
		Action: func(ctx *cli.Context) error {
			if ctx.NArg() != 1 {
				return usage("", "one shell is to be named: bash, zsh or fish")
			}
			shell := ctx.Args().First()
			script, err := completionScripts.ReadFile("completion/lease." + shell)
			if err != nil {
				return usage("", "there is no completion for %.40q: bash, zsh and fish have one", shell)
			}
			return c.answer(string(script))
		},
	}
}

// completeWord is what the scripts call: a hidden command, which runs no other one.
const completeWord = "__complete"

// complete answers with what may stand for the last of words, a line each. It never fails: somebody is
// typing.
func (c *call) complete(words []string) error {
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	s := &sorter{c: &call{}, given: map[string]bool{}}
	var value cli.Flag // the option whose value is the last word
	for len(before) > 0 && value == nil {
		word := before[0]
		before = before[1:]
		switch {
		case word == "--":
			return nil
		case len(word) > 1 && word[0] == '-':
			left := s.option(word, append(slices.Clip(before), last))
			if len(left) == 0 {
				value, _ = s.find(word)
			} else {
				before = before[len(before)+1-len(left):]
			}
		default:
			s.word(word)
		}
	}
	for _, word := range s.global {
		if dir, ok := strings.CutPrefix(word, "--ledger="); ok {
			c.ledgerDir = dir
		}
	}
	var b strings.Builder
	for _, word := range c.candidates(s, value, last) {
		if strings.HasPrefix(word, last) {
			b.WriteString(word + "\n") // neither keys nor ids have line breaks
		}
	}
	return c.answer(b.String())
}

func (c *call) candidates(s *sorter, value cli.Flag, last string) []string {
	name, _, inline := strings.Cut(last, "=")
	switch {
	case value != nil:
		return c.values(value)
	case strings.HasPrefix(last, "-") && inline:
		opt, _ := s.find(name)
		var all []string
		for _, v := range c.values(opt) {
			all = append(all, name+"="+v)
		}
		return all
	case strings.HasPrefix(last, "-"):
		return s.options()
	case s.lost:
		return nil
	case s.command == nil || len(s.command.Subcommands) > 0:
		return s.commands()
	}
	return c.arguments(s)
}

// values are what may stand for the value of an option, as far as that can be told from its name.
func (c *call) values(opt cli.Flag) []string {
	if opt == nil {
		return nil
	}
	how, _ := typed(opt)
	switch value := how[strings.LastIndexByte(how, ' ')+1:]; {
	case strings.Contains(value, "|"):
		return strings.Split(value, "|")
	case value == "ID" || value == "TICKET":
		return c.ticketIDs()
	case value == "KEY":
		return c.heldKeys()
	}
	return nil
}

// arguments are what may stand for an argument of the command.
func (c *call) arguments(s *sorter) []string {
	switch s.top.Name {
	case "completion":
		return []string{"bash", "zsh", "fish"}
	case "help":
		about := &sorter{c: &call{}}
		for _, word := range s.args {
			about.word(word)
		}
		return c.candidates(about, nil, "")
	case "ticket":
		if s.command.Name != "ls" && s.command.Name != "add" {
			return c.ticketIDs()
		}
		return nil
	case "hook":
		if s.command.Name == "run" {
			return githook.Names
		}
		return nil
	case "scope", "reconcile", "init", "doctor", "gc":
		return nil
	}
	return c.heldKeys()
}

// options are those that may stand here.
func (s *sorter) options() []string {
	flags := globalOptions()
	if s.command != nil {
		flags = append(flags, s.command.Flags...)
	}
	all := []string{"--help"}
	for _, f := range flags {
		all = append(all, dashed(f.Names()[0]))
	}
	return all
}

// commands are those that may stand here.
func (s *sorter) commands() []string {
	if s.command != nil {
		return names(s.command.Subcommands)
	}
	var all []string
	for _, e := range commands() {
		all = append(all, e.name)
	}
	return all
}

// heldKeys returns the keys that are held, of tickets too. What cannot be read is left out.
func (c *call) heldKeys() []string {
	l, err := c.open()
	if err != nil {
		return nil
	}
	var keys []string
	_ = l.View(context.Background()).Walk("", false, func(k fslease.Key, st fslease.State, err error) error {
		if err == nil && st.Current() != nil {
			keys = append(keys, string(k))
		}
		return nil
	})
	return keys
}

func (c *call) ticketIDs() []string {
	l, err := c.open()
	if err != nil {
		return nil
	}
	var ids []string
	_ = l.View(context.Background()).Tickets(func(id string, _ *fslease.Ticket, err error) error {
		ids = append(ids, id)
		return nil
	})
	return ids
}
