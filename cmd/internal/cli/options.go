package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fslease/fslease"
)

// globalOptions may stand before or after the command. None of a command's own options may have their names.
func globalOptions() []cli.Flag {
	return []cli.Flag{
		text("ledger", "DIR", "the ledger (else $LEASE_LEDGER, else the nearest .lease upward)"),
		flag("json", "answer in JSON, errors too"),
		flag("quiet", "say nothing that is not an error", "q"),
		flag("verbose", "say more", "v"),
	}
}

// text is an option with a value, which the help page calls by the name value; flag is one without.
// Values are read by the methods of options, for errors that say what to type.
func text(name, value, usage string, aliases ...string) cli.Flag {
	return &cli.StringFlag{Name: name, Usage: "`" + value + "` " + usage, Aliases: aliases}
}

func flag(name, usage string, aliases ...string) cli.Flag {
	return &cli.BoolFlag{Name: name, Usage: usage, Aliases: aliases}
}

// options reads the options and arguments of a command. The first mistake is kept in err.
type options struct {
	ctx *cli.Context
	err error
}

func (o *options) fail(hint, format string, args ...any) {
	if o.err == nil {
		o.err = usage(hint, format, args...)
	}
}

// refuse takes what a check finds wrong with something, if it does, for a usage error. what names the option, "" if
// the error says enough.
func (o *options) refuse(what string, err error) {
	var e *fslease.ConfigError
	if errors.As(err, &e) {
		o.fail(e.Hint, "%s%s", what, e.What)
	}
}

func (o *options) has(name string) bool    { return o.ctx.IsSet(name) }
func (o *options) flag(name string) bool   { return o.ctx.Bool(name) }
func (o *options) text(name string) string { return o.ctx.String(name) }

// need is text for an option that must be there and not be empty.
func (o *options) need(name, hint string) string {
	s := o.text(name)
	if strings.TrimSpace(s) == "" {
		o.fail(hint, "--%s is missing", name)
	}
	return s
}

// note is the option --note.
func (o *options) note() string {
	note := o.text("note")
	o.refuse("", fslease.CheckNote(note))
	return note
}

// duration returns the duration name, or other if it is not given.
func (o *options) duration(name string, other time.Duration) time.Duration {
	if !o.has(name) {
		return other
	}
	d, err := parseDuration(o.text(name))
	if err != nil {
		o.fail(err.hint, "--%s: %s", name, err.what)
	}
	return d
}

// positive is duration for one that must be above zero.
func (o *options) positive(name string, other time.Duration) time.Duration {
	d := o.duration(name, other)
	if o.has(name) && d == 0 {
		o.fail("", "--%s: it must be longer than zero", name)
	}
	return d
}

// wait returns how long to wait by --wait and --no-wait, without limit by default.
func (o *options) wait() time.Duration {
	if o.flag("no-wait") {
		if o.has("wait") {
			o.fail("leave one of them out", "--no-wait and --wait contradict each other")
		}
		return 0
	}
	return o.duration("wait", fslease.Forever)
}

func waitOptions() []cli.Flag {
	return []cli.Flag{
		text("wait", "DUR", "give up after this long (no limit)"),
		flag("no-wait", "do not wait", "n"),
	}
}

// number returns the whole number name, which must be given and lie between least and most.
func (o *options) number(name string, least, most int64, hint string) int64 {
	if !o.has(name) {
		o.fail(hint, "--%s is missing", name)
		return 0
	}
	v, err := strconv.ParseInt(o.text(name), 10, 64)
	if err != nil || v < least || v > most {
		o.fail(hint, "--%s: %.40q is not a whole number from %d to %d", name, o.text(name), least, most)
	}
	return v
}

// token is the option --token.
func (o *options) token() int64 {
	return o.number("token", 1, fslease.MaxNumber, "the token is the generation that acquire printed; under lease run it is in the environment: --token \"$LEASE_TOKEN\"")
}

func tokenOption() cli.Flag { return text("token", "N", "the lease's token: what acquire printed") }

// pid is an option that names a process. Whether there is one is for hostproc to say.
func (o *options) pid(name string) int {
	const most = 1 << 22 // the kernel's limit
	return int(o.number(name, 1, most, "--"+name+" $$ is the shell itself"))
}

// choice returns the option name, one of words; the first is the default.
func (o *options) choice(name string, words ...string) string {
	if !o.has(name) {
		return words[0]
	}
	s := o.text(name)
	if !slices.Contains(words, s) {
		o.fail("", "--%s: %.40q is not %s", name, s, strings.Join(words, " or "))
	}
	return s
}

// keys returns the arguments as keys, at least one, which may not be keys of tickets.
func (o *options) keys() []fslease.Key {
	names := o.ctx.Args().Slice()
	if len(names) == 0 {
		o.fail("name what is to be leased, such as task:42", "no key is given")
	}
	keys := make([]fslease.Key, len(names))
	for i, name := range names {
		keys[i] = o.parseKey(name)
		if id, is := keys[i].Ticket(); is {
			o.fail("lease ticket start takes the keys of a ticket", "%s belongs to ticket %s", name, id)
		}
	}
	return keys
}

// key returns the one argument as a key that is not a ticket's.
func (o *options) key() fslease.Key {
	o.one()
	if o.err != nil {
		return ""
	}
	return o.keys()[0]
}

// anyKey is key, but a ticket's key will do.
func (o *options) anyKey() fslease.Key {
	o.one()
	return o.parseKey(o.ctx.Args().First())
}

func (o *options) one() {
	switch o.ctx.NArg() {
	case 1:
	case 0:
		o.fail("", "no key is given")
	default:
		o.fail(o.callEach("key"), "more than one key is given")
	}
}

// callEach is the hint for several arguments where one can be. What stands behind a key may be meant for its token.
func (o *options) callEach(what string) string {
	each := "each " + what + " needs a call of its own"
	if strings.Contains(o.ctx.Command.UsageText, "--token N") {
		return "--token N names the token; " + each
	}
	return each
}

func (o *options) none() {
	if o.ctx.NArg() > 0 {
		o.fail("", "%.60q is one word too many", o.ctx.Args().First())
	}
}

func (o *options) parseKey(name string) fslease.Key {
	k, err := fslease.ParseKey(name)
	o.refuse("", err)
	return k
}
