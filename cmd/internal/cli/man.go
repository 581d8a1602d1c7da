package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// manual is lease.1 in roff. It is made from the table of commands, as the help pages are, so that it
// cannot say anything else.
func (c *call) manual() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH LEASE 1 \"\" \"lease %s\" \"User Commands\"\n", release)
	b.WriteString(".SH NAME\nlease \\- a lock for shell scripts that survives workers that die\n")
	b.WriteString(".SH SYNOPSIS\n.B lease\n[OPTIONS] COMMAND ...\n")
	b.WriteString(".SH DESCRIPTION\n" + roff(manualText.description))
	b.WriteString(".SH OPTIONS\nThese may stand before or after the command.\n" + roffOptions(globalOptions()))
	b.WriteString(".SH COMMANDS\n")
	for _, e := range commands() {
		roffCommand(&b, e.build(c), "lease")
	}
	b.WriteString(".SH EXIT STATUS\nOf\n.B run\nand\n.BR fenced :\n" + roffTable(runCodes) + ".PP\nOf all others:\n" + roffTable(otherCodes))
	b.WriteString(".SH ENVIRONMENT\n" + roffTable(environmentVariables))
	b.WriteString(".SH FILES\nIn the ledger:\n" + roffTable(ledgerFiles))
	b.WriteString(".SH NOTES\n" + roff(manualText.notes))
	return b.String()
}

func roffCommand(b *strings.Builder, cmd *cli.Command, path string) {
	path += " " + cmd.Name
	fmt.Fprintf(b, ".SS %s\n", roffLine(path))
	if cmd.UsageText != "" {
		b.WriteString(".nf\n" + roff(cmd.UsageText) + ".fi\n.PP\n")
	}
	b.WriteString(roff(cmd.Usage))
	b.WriteString(roffOptions(cmd.Flags))
	text, examples, _ := strings.Cut(cmd.Description, "examples:\n")
	if text = strings.TrimSpace(text); text != "" {
		b.WriteString(".PP\n" + roff(text))
	}
	if examples != "" {
		b.WriteString(".PP\n.nf\n" + roff(examples) + ".fi\n")
	}
	for _, sub := range cmd.Subcommands {
		roffCommand(b, sub, path)
	}
}

func roffOptions(flags []cli.Flag) string {
	var rows [][2]string
	for _, f := range flags {
		how, usage := typed(f)
		rows = append(rows, [2]string{how, usage})
	}
	return roffTable(rows)
}

func roffTable(rows [][2]string) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s", roffLine(r[0]), roff(r[1]))
	}
	return b.String()
}

// roff escapes text, paragraph by paragraph, for the formatter.
func roff(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			b.WriteString(`\&`)
		}
		b.WriteString(roffLine(line) + "\n")
	}
	return b.String()
}

func roffLine(line string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(line)
}

var manualText = struct{ description, notes string }{
	description: `A lease gives a key to one owner at a time. It has a generation, the fencing
token, which grows on every acquisition and never goes back. A holder that is
provably gone is taken over at once; one that is alive but has stopped renewing
is taken over after its TTL. A successor's command starts only after the
predecessor's has really ended, even if its wrapper was killed with signal 9.

A key is slash-separated segments, such as task:42 or repo/api. It covers
itself and everything below it: repo overlaps repo/api, not repo2.

The ledger is a directory of JSON files. It is the one named by --ledger or
LEASE_LEDGER, else the nearest .lease upward from the working directory, else
lease in the git common directory if it exists there, else lease in the user's
state directory.

DUR is a duration such as 30s, 15m, 2h or 7d.`,
	notes: `Not promised: a command that ignores its token and a resource that never checks
it; a descendant that closed the inherited descriptors after its parent ended;
keys that are declared wrongly; a TTL that was guessed wrongly; ledgers on
network file systems; restoring a ledger from a backup, after which
lease doctor --repair raises the floor of the generations.`,
}

var runCodes = [][2]string{
	{"N", "the command's own"},
	{"128+N", "signal N ended the command, or the wait for the lease"},
	{"75", "held by someone else, or a living waiter is ahead (-E changes it)"},
	{"76", "the token is not current, or was lost while the command ran"},
	{"125", "anything of lease's own, a wrong command line included"},
	{"126", "the command cannot be executed"},
	{"127", "the command was not found"},
}

var otherCodes = [][2]string{
	{"0", "yes, or done"},
	{"1", "no, or the status of a ticket forbids it"},
	{"64", "the command line is wrong"},
	{"74", "the ledger cannot be read or written, or is damaged"},
	{"75", "held by someone else"},
	{"76", "the token is not current"},
	{"128+N", "interrupted by signal N while waiting"},
}

var environmentVariables = [][2]string{
	{"LEASE_LEDGER", "the ledger; the command of run gets its absolute path"},
	{"LEASE_KEY", "for the command: the first key, with --ticket ticket:ID"},
	{"LEASE_TOKEN", "for the command: the token of LEASE_KEY. Of a ticket, it is the token of whoever works on it"},
	{"LEASE_KEYS", "for the command: every key that it runs under, as KEY=TOKEN, separated by spaces"},
	{"LEASE_KEYS_LEDGER", "for the command: the ledger that LEASE_KEYS speaks of"},
	{"LEASE_HOLDER", "for the command: the id of its holder"},
	{"LEASE_TICKET", "for the command of run --ticket: the ticket. Of a ticket, it says which one is worked on"},
	{"XDG_STATE_HOME, HOME", "where the user's own ledger is: lease in the state directory, ~/.local/state if none is named"},
	{"GIT_DIR", "if set, no repository is looked for upward"},
	{"PATH", "where a command without a slash is found"},
	{"NO_COLOR", "if set, no colours on a terminal"},
	{"TERM", "on a terminal that is dumb nothing is coloured or kept up to date in place"},
}

var ledgerFiles = [][2]string{
	{"ledger.json", "what the ledger is: ceiling and floor of the generations, and the settings record_command (full, name or none), sync_grants and allow_network"},
	{"leases", "who took which key and has not given it up, a file each"},
	{"tombstones", "how keys were last given up"},
	{"tickets, sessions, active", "tickets and the work on them"},
	{"queue", "who waits"},
	{"holders, orphans", "holders as long as they live; commands that outlived theirs"},
	{"journal", "what happened, a JSON value a line"},
	{"ledger.lock, locks, sightings", "for lease itself"},
	{"README", "what this folder is"},
}
