package steps

import (
	"fmt"
	"strings"
)

// commands asks the command line for the list of its commands, those below others included.
func (b *Bench) commands() ([]string, error) {
	l := b.ledger()
	defer l.Close()
	list := func(above ...string) ([]string, error) {
		r := l.Run(append(append([]string{"__complete"}, above...), "")...)
		if r.Code != 0 {
			return nil, fmt.Errorf("%v", r)
		}
		return strings.Fields(r.Stdout), nil
	}
	top, err := list()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, c := range top {
		below, err := list(c)
		switch {
		case err != nil:
			return nil, err
		case len(below) == 0 || c == "completion" || c == "help": // those complete other words
			all = append(all, c)
		default:
			for _, sub := range below {
				all = append(all, c+" "+sub)
			}
		}
	}
	if len(all) < 10 {
		return nil, fmt.Errorf("it lists only %q", all)
	}
	return all, nil
}
