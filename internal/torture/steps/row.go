// Package steps is what the parts share that break a command at each of its system calls: the table of commands with the ledgers
// that they begin with, strace, and what must be true of a ledger after a command that did not end as it should have.
package steps

import (
	"slices"
	"strings"

	"fslease/fslease"
)

// A Row is a command that changes something, in one situation.
type Row struct {
	Command string   // as the command line lists it
	Case    string   // the situation, "" if it is the plain one
	Prepare string   // a shell script that makes the ledger it begins with
	Env     []string // of the command
	Args    []string // $PID is a process that lives on, $WORK a command that notes under which tokens it ran

	Keys   []fslease.Key // can be had after it, once whoever holds them rightly has given them up
	Answer fslease.Key   // a bare number on its stdout is a generation of this key
	Takes  bool          // it waits for its keys, so somebody can wait behind it
	Works  bool          // it runs $WORK
	Execs  bool          // $WORK takes its place, so its exit code is not known

	// Done says what is missing although the command is done; "" if nothing is.
	Done func(After) string
	// Again are the exit codes, other than 0, that the same command ends with once it was done.
	Again []int
}

// After is what can be seen after a command.
type After struct {
	Before, Now State
	Granted     []Grant // by the command itself
}

// Name names the row.
func (r Row) Name() string {
	if r.Case == "" {
		return r.Command
	}
	return r.Command + ", " + r.Case
}

// Table is every command that changes something, in every situation.
func Table() []Row { return slices.Concat(runs, holds, tickets, ledgers) }

// readers change nothing on a ledger, so they need no row.
var readers = []string{
	"check", "ls", "show", "log", "wait", "watch", "ticket ls", "ticket show", "scope check", "hook run", "hook status", "completion", "help",
}

// Missing returns those of the commands that change something and have no row, and the rows whose command is none of them.
func Missing(commands []string) (without, unknown []string) {
	rows := Table()
	for _, c := range commands {
		if !slices.Contains(readers, c) && !slices.ContainsFunc(rows, func(r Row) bool { return r.Command == c }) {
			without = append(without, c)
		}
	}
	for _, r := range rows {
		if !slices.Contains(commands, r.Command) {
			unknown = append(unknown, r.Command)
		}
	}
	return without, unknown
}

// words puts a process and the work into the arguments.
func (r Row) words(pid, work string) []string {
	args := make([]string, len(r.Args))
	for i, a := range r.Args {
		args[i] = strings.NewReplacer("$PID", pid, "$WORK", work).Replace(a)
	}
	return args
}
