package steps

import (
	"os"
	"path/filepath"

	"fslease/fslease"
)

// ledgers are the commands on the ledger as a whole, and on a git repository.
var ledgers = []Row{
	{Command: "init", Args: []string{"init"}, Keys: one, Done: initialized},
	{Command: "init", Case: "--shared", Args: []string{"init", "--shared"}, Keys: one, Done: initialized},
	{
		Command: "gc", Prepare: "lease run k -- true\nlease run a/b -- true\nlease run c -- sh -c 'kill -9 $PPID'\nlease run c -- true\n",
		Args: []string{"gc", "--older-than", "1ns"}, Keys: []fslease.Key{"k", "a/b"}, Done: both(forgotten("k"), forgotten("a/b")),
	},
	{
		Command: "doctor", Case: "--repair", Prepare: used + "lease run a -- true\necho '{' >\"$LEASE_LEDGER\"/leases/k.json\necho >\"$LEASE_LEDGER\"/tombstones/a.json\n",
		Args: []string{"doctor", "--repair"}, Keys: []fslease.Key{"k", "a"}, Done: undamaged,
	},
	{
		Command: "hook install", Prepare: used + "git init -q .\n", Args: []string{"hook", "install"},
		Done: func(a After) string { return exists(filepath.Join(a.Now.Root, "work", ".git", "hooks", "pre-commit")) },
	},
	{
		Command: "hook uninstall", Prepare: used + "git init -q .\nlease hook install\n", Args: []string{"hook", "uninstall"},
		Done: func(a After) string {
			if exists(filepath.Join(a.Now.Root, "work", ".git", "hooks", "pre-commit")) == "" {
				return "the hook is still there"
			}
			return ""
		},
	},
}

func initialized(a After) string { return exists(filepath.Join(a.Now.Root, "ledger", "ledger.json")) }

func exists(path string) string {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return path + " is not there"
	}
	return ""
}
