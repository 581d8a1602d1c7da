package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fslease/cmd/internal/githook"
	"fslease/fslease"
)

func hookRunCommand(c *call) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "what the hooks call: exit code 0 pass, 1 refuse, 74 cannot tell",
		UsageText: "lease hook run pre-commit|pre-push|prepare-commit-msg\n    [--strict] [--as TICKET] [ARG...]",
		Flags: []cli.Flag{
			flag("strict", "refuse also what is outside your own ticket's scope"),
			text("as", "TICKET", "count this ticket as yours, if nothing says which is"),
		},
		Description: `pre-commit refuses if a staged path lies in a key that somebody else holds or
has reserved; pre-push REMOTE URL the same for every commit about to be pushed;
prepare-commit-msg refuses nothing: it notes what went past pre-commit. Yours is
what LEASE_KEYS, or LEASE_TICKET with LEASE_TOKEN, name rightly, and what a
process holds under which git runs. Without a ledger everything passes.

examples:
  lease hook run pre-commit
  lease hook run pre-commit --strict --as 42`,
		Action: c.runHook,
	}
}

func (c *call) runHook(ctx *cli.Context) error {
	o := &options{ctx: ctx}
	words := ctx.Args().Slice()
	switch {
	case len(words) == 0:
		o.fail("", "no hook is named")
	case !slices.Contains(githook.Names, words[0]):
		o.fail("they are "+strings.Join(githook.Names, ", "), "%.40q is none of lease's hooks", words[0])
	case words[0] == githook.PrePush && len(words) < 2:
		o.fail("git calls it as pre-push REMOTE URL", "pre-push needs a remote and its URL")
	}
	mine := &claims{c: c, as: o.ticketID("as")}
	if o.err != nil {
		return o.err
	}
	result := githook.Run(ctx.Context, githook.Request{
		Hook: words[0], Args: words[1:], Stdin: os.Stdin, Repo: here(), Strict: o.flag("strict"),
	}, mine)
	switch {
	case is[*usageError](result.Err):
		return result.Err
	case result.Bypassed():
		if err := noteBypass(ctx.Context, mine.l, result); err != nil {
			c.tell("that this commit goes past pre-commit cannot be noted: %v", err)
		}
	case result.Refused():
		return &refusal{result}
	case result.Answer == githook.CannotTell && result.Lenient:
		for _, line := range hookLines(result) {
			c.tell("%s", line)
		}
	}
	return nil
}

// eventBypass is the event of a commit that pre-commit would have refused.
const eventBypass = "bypass"

// noteBypass writes to the history who commits what past pre-commit, a line for each key.
func noteBypass(ctx context.Context, l *opened, result githook.Result) error {
	var keys []fslease.Key
	var events []fslease.Event
	for _, r := range result.Refusals {
		key, why := r.Lease.Key, describe(r.Lease.Holder)+" has it"
		if r.Outside {
			key, why = lockable(r.Changes[0].Key), "outside the own scope"
		}
		keys = append(keys, key)
		events = append(events, fslease.Event{
			Event: eventBypass, Key: key, Generation: r.Lease.Generation,
			Reason: why + "; committed: " + strings.Join(changed(r), ", "),
		})
	}
	return l.Update(ctx, keys, func(tx fslease.Tx) error {
		for _, e := range events {
			tx.Log(e)
		}
		return nil
	})
}

// lockable is key, or if a path is too long to be one, what is above it.
func lockable(key fslease.Key) fslease.Key {
	for len(key) > fslease.MaxKeyBytes {
		key = key[:strings.LastIndexByte(string(key), '/')]
	}
	return key
}

// changed lists the paths of a refusal, as many as a message can hold.
func changed(r githook.Refusal) []string {
	const most = 20
	var list []string
	for i, change := range r.Changes {
		if i == most {
			return append(list, fmt.Sprintf("and %d more", len(r.Changes)-most))
		}
		line := githook.Escape(change.Path)
		if r.Outside {
			line += " (" + string(change.Key) + ")" // what would have to be declared
		}
		if change.Commit != "" {
			line += " in commit " + change.Commit[:12]
		}
		list = append(list, line)
	}
	return list
}
