package loop

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"fslease/internal/crashstate"
	"fslease/internal/torture/power"
)

// An act that has ended has ended by the cut; one that has not may have done its work or not.
const (
	ended    = 1
	cut      = 1
	underWay = 2
)

// noted takes what the notes of a worker say into the story. tree is what is on the disk now.
func noted(log string, keys, tickets *crashstate.Story, tree crashstate.Tree) error {
	data, err := os.ReadFile(log)
	if err != nil {
		return err
	}
	var args []string // of the command under way
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "begin":
			args = words[1:]
		case words[0] == "told":
			n, err := strconv.ParseInt(words[2], 10, 64)
			if err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
			keys.Told(words[1], ended, n)
		case words[0] == "end":
			code, err := strconv.Atoi(words[1])
			if err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
			switch code {
			case 0:
				did(args, words[2:], ended, keys, tickets, tree)
			case 74, 125: // the file system is gone: it said that it failed, or that it cannot tell
				did(args, nil, underWay, keys, tickets, tree)
			case 75:
				if !strings.HasPrefix(args[1], "-n") || !strings.HasPrefix(args[2], "all/") {
					return fmt.Errorf("%q: nobody else can have that", args)
				}
			default:
				return fmt.Errorf("%q ended with %d", args, code)
			}
			args = nil
		}
	}
	if args != nil {
		did(args, nil, underWay, keys, tickets, tree)
	}
	return nil
}

// did adds what a command does, with what it printed.
func did(args, printed []string, to int, keys, tickets *crashstate.Story, tree crashstate.Tree) {
	from := 0
	switch args[0] {
	case "acquire":
		k := args[len(args)-1]
		keys.Did(k, from, to, power.ByToken)
		if len(printed) > 0 {
			n, _ := strconv.ParseInt(printed[0], 10, 64) // acquire prints nothing else
			keys.Told(k, to, n)
		}
	case "release", "break":
		keys.Did(args[1], from, to, power.Free)
	case "run":
		keys.Did(args[2], from, to, power.Free) // with its boot, or before
	case "ticket":
		moved(args[1], args[2], printed, to, keys, tickets, tree)
		if args[1] == "add" {
			keys.Did(args[4], from, ended, power.Free) // or of a ticket, as the ticket says
		}
	}
}

// moved adds a transition of a ticket.
func moved(verb, id string, printed []string, to int, keys, tickets *crashstate.Story, tree crashstate.Tree) {
	session := keys.Highest("ticket:"+id, cut)
	status := map[string]string{"add": "PROPOSED", "approve": "READY", "start": "IN_PROGRESS", "checkpoint": "IN_PROGRESS", "review": "REVIEW", "done": "DONE"}[verb]
	if verb == "start" && len(printed) > 0 {
		session, _ = strconv.ParseInt(printed[0], 10, 64) // start prints nothing else
		keys.Told("ticket:"+id, to, session)
	} else if t, err := power.TicketIn(tree, id); verb == "start" && err == nil && t != nil && t.Session > session {
		session = t.Session // nobody was told which it is
	}
	tickets.Did(id, 0, to, (&power.Ticket{Status: status, Session: session}).String())
}
