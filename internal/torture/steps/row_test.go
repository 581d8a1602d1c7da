package steps

import (
	"slices"
	"testing"
)

// A command that nobody made a row for, and did not say of that it changes nothing, is named; so is a row of no command.
func TestMissing(t *testing.T) {
	commands := slices.Clone(readers)
	for _, r := range Table() {
		commands = append(commands, r.Command)
	}
	if without, unknown := Missing(commands); len(without)+len(unknown) > 0 {
		t.Errorf("without a row %q, rows of no command %q", without, unknown)
	}
	commands = slices.DeleteFunc(commands, func(c string) bool { return c == "renew" })
	without, unknown := Missing(append(commands, "frobnicate"))
	if !slices.Equal(without, []string{"frobnicate"}) || !slices.Equal(unknown, []string{"renew"}) {
		t.Errorf("without a row %q, rows of no command %q", without, unknown)
	}
}
