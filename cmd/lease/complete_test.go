package main_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A completion is what is typed before TAB is pressed, and the words that the line has then, without the first.
type completion struct {
	typed string
	words []string
}

// What any shell completes, once something is held. In a shell's line a word that is not completed stays as it was typed.
var completions = []completion{
	{"lease doc", []string{"doctor"}},
	{"lease ticket che", []string{"ticket", "checkpoint"}},
	{"lease hook uni", []string{"hook", "uninstall"}},
	{"lease --qui", []string{"--quiet"}},
	{"lease run --conf", []string{"run", "--conflict-exit-code"}},
	{"lease ticket start 42 --no", []string{"ticket", "start", "42", "--no-wait"}},
	{"lease check build:7", []string{"check", "build:7/linux"}}, // a colon, and more below it
	{"lease -v release build:7/l", []string{"-v", "release", "build:7/linux"}},
	{"lease show rep", []string{"show", "repo/api"}},
	{"lease check k=v", []string{"check", "k=v,w"}},
	{"lease run -n --note 'an option -- or not' rep", []string{"run", "-n", "--note", "an option -- or not", "repo/api"}},
	{"lease ticket review fi", []string{"ticket", "review", "fix:login"}},
	{"lease run --ticket fi", []string{"run", "--ticket", "fix:login"}},
	{"lease run --then d", []string{"run", "--then", "done"}},
	{"lease hook run pre-c", []string{"hook", "run", "pre-commit"}},
	{"lease help ticket app", []string{"help", "ticket", "approve"}},
	{"lease completion z", []string{"completion", "zsh"}},
	{"lease break oddi", []string{"break", oddKey}},
	{"lease break oddity\\ \\$\\(to", []string{"break", oddKey}},
	{"lease break bac", []string{"break", "back`touch marker`"}},
	{"lease break apo", []string{"break", "apo'strophe"}},
	{"lease break semi", []string{"break", "semi;touch marker"}},
	// Nothing of lease's after --: the command's own completion, here that of commands and files.
	{"lease run rep -- printen", []string{"run", "rep", "--", "printenv"}},
	{"lease run rep -- cat read", []string{"run", "rep", "--", "cat", "read me"}},
	{"lease run rep -- cat bui", []string{"run", "rep", "--", "cat", "bui"}},
	{"lease fenced rep --token 1 -- touch marker rep", []string{"fenced", "rep", "--token", "1", "--", "touch", "marker", "rep"}},
	// Nothing runs because TAB was pressed, and what is unknown stays as it is.
	{"lease acquire --ttl 1h newk", []string{"acquire", "--ttl", "1h", "newk"}},
	{"lease init rep", []string{"init", "rep"}},
	{"lease frobnicate doc", []string{"frobnicate", "doc"}},
}

const oddKey = "oddity $(touch marker)"

// toComplete is a ledger in which there is something to complete, for somebody who types in a shell.
func toComplete(t *testing.T) *Ledger {
	l := NewLedger(t)
	l.Run("acquire", "--ttl", "1h", "build:7/linux", "repo/api", "k=v,w", oddKey, "back`touch marker`", "apo'strophe", "semi;touch marker").Want(t, 0)
	l.Run("ticket", "add", "42").Want(t, 0)
	l.Run("ticket", "add", "fix:login").Want(t, 0)
	if err := os.WriteFile(filepath.Join(l.Work, "read me"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// completesAll tries every completion on ask, which returns the words of a line after TAB was pressed in it. Neither a command nor
// anything that a key contains is executed, and the ledger stays as it is.
func completesAll(t *testing.T, l *Ledger, ask func(typed string) []string) {
	t.Helper()
	before := everything(t, l.Dir)
	for _, c := range completions {
		if got := ask(c.typed); !slices.Equal(got, c.words) {
			t.Errorf("%s: got %q, want %q", c.typed, got, c.words)
		}
	}
	same(t, before, everything(t, l.Dir))
	if names, _ := filepath.Glob(filepath.Join(l.Work, "*")); len(names) != 1 {
		t.Errorf("something was executed: %q", names)
	}
}

// inTerminal asks an interactive shell, whose line editor has the keys of emacs. begin is typed first. After each TAB the line becomes the
// arguments of a function, which writes them down: what a terminal shows of a line has been edited on the way.
func inTerminal(l *Ledger, shell *Terminal, begin string) func(string) []string {
	l.t.Helper()
	const prompt = "complete> "
	shell.Type("words() { printf '%s\\n' \"$@\" >../words.new && mv ../words.new ../words; }; " + begin + "; PS1='com''plete> '\r")
	shell.Until(prompt)
	return func(typed string) []string {
		l.t.Helper()
		shell.Type(typed + "\t")
		shell.Type("\x01words \x05\r")
		shell.Until(prompt)
		line := l.UntilFile("../words")
		if err := os.Remove(filepath.Join(l.Work, "..", "words")); err != nil {
			l.t.Fatal(err)
		}
		return strings.Split(line, "\n")[1:]
	}
}

const bashCompletion = "/usr/share/bash-completion/bash_completion"

func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{"alone": ":", "with bash-completion": "source " + bashCompletion} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(bashCompletion); name != "alone" && err != nil {
				t.Skip("not run: needs bash-completion: ", err)
			}
			l := toComplete(t)
			completesAll(t, l, inTerminal(l, l.shell(), begin+"; source <(lease completion bash)"))
		})
	}
}

func TestCompletionInZsh(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sourced", "in fpath"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, "zsh")
			l := toComplete(t)
			functions := t.TempDir()
			l.Sh(`lease completion zsh >"$1/_lease"`, functions).Want(t, 0)
			begin := "fpath=(" + functions + " $fpath); autoload -Uz compinit; compinit -u -D"
			if name == "sourced" {
				begin = "autoload -Uz compinit; compinit -u -D; source " + functions + "/_lease"
			}
			shell := l.Env("PS1=> ").Terminal(200, "zsh", "-f", "-i")
			shell.Until("> ")
			completesAll(t, l, inTerminal(l, shell, "bindkey -e; "+begin))
		})
	}
}

// fish is asked by its own builtin what it would propose for a line.
func TestCompletionInFish(t *testing.T) {
	t.Parallel()
	needs(t, "fish")
	l := toComplete(t)
	l.Sh(`lease completion fish >../lease.fish`).Want(t, 0)
	completesAll(t, l, func(typed string) []string {
		r := l.Sh(`exec fish --no-config -c 'source ../lease.fish
			for word in (complete -C "$argv[1]"); string split -m 1 \t -- $word | head -n 1; end
			echo "|"; eval "printf \"%s\n\"" $argv[2]' "$1" "$2"`, typed, strings.TrimPrefix(typed, "lease "))
		proposed, line, _ := strings.Cut(r.Want(t, 0).Stdout, "|\n")
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\n")
		if all := strings.Split(strings.TrimSuffix(proposed, "\n"), "\n"); len(all) == 1 && all[0] != "" {
			words[len(words)-1] = all[0]
		}
		return words
	})
}

// Whatever a script of a shell asks, nothing of lease's stands after --, a line that means nothing is no error, and no ledger is made.
func TestCompletionAsked(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string]string{
		"run k -- ":           "",
		"run k -- --t":        "",
		"acquire -- re":       "",
		"run --ttl 5s --ttl ": "",
		"run --nope re":       "repo\n",
		"--ledger":            "--ledger\n",
		"ticket nope ":        "",
		"wait --no":           "--no-wait\n",
		"run --fence=t":       "--fence=tree\n",
		"--json --ledger ":    "",
		"show ticket:7 x":     "",
	} {
		l := NewLedger(t)
		l.Run("acquire", "--ttl", "1h", "repo").Want(t, 0)
		if r := l.Run(append([]string{"__complete"}, strings.Split(asked, " ")...)...).Want(t, 0); r.Stdout != want || r.Stderr != "" {
			t.Errorf("%q: want %q\n%v", asked, want, r)
		}
		l.Env("LEASE_LEDGER="+l.Work+"/none").Run("__complete", "show", "").Want(t, 0)
		if l.lines("none/ledger.json") > 0 {
			t.Error("a ledger was made")
		}
	}
}
