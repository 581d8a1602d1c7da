package cli

import (
	"context"
	"embed"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

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
			o := &options{ctx: ctx}
			o.one()
			shell := ctx.Args().First()
			script, err := completionScripts.ReadFile("completion/lease." + shell)
			if err != nil {
				o.fail("", "there is no completion for %.40q: bash, zsh and fish have one", shell)
			}
			if o.err != nil {
				return o.err
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
	last := words[len(words)-1]
	s := &sorter{c: &call{}, given: map[string]bool{}}
	before := words[:len(words)-1]
	for i := 0; i < len(before); i++ {
		switch word := before[i]; {
		case word == "--":
			return nil
		case len(word) > 1 && word[0] == '-':
			left := s.option(word, append(slices.Clone(before[i+1:]), last))
			i = len(before) - len(left)
			if i >= len(before) {
				return nil // the last word is the option's value
			}
		case s.command == nil || len(s.command.Subcommands) > 0:
			s.descend(word)
		}
	}
	var b strings.Builder
	for _, word := range c.candidates(s, last) {
		if strings.HasPrefix(word, last) && !strings.ContainsAny(word, "\n") {
			b.WriteString(word + "\n")
		}
	}
	return c.answer(b.String())
}

func (c *call) candidates(s *sorter, last string) []string {
	switch {
	case strings.HasPrefix(last, "-"):
		var all []string
		flags := globalOptions()
		if s.command != nil {
			flags = append(flags, s.command.Flags...)
		}
		for _, f := range flags {
			all = append(all, dashed(f.Names()[0]))
		}
		return append(all, "--help")
	case s.lost:
		return nil
	case s.top == nil:
		var all []string
		for _, e := range commands() {
			all = append(all, e.name)
		}
		return all
	case len(s.command.Subcommands) > 0:
		return names(s.command.Subcommands)
	case s.top.Name == "completion":
		return []string{"bash", "zsh", "fish"}
	case s.top.Name == "help":
		return c.candidates(&sorter{c: s.c}, last)
	case s.top.Name == "ticket":
		return c.ticketIDs()
	}
	return c.heldKeys()
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
