package fence

import "fslease/internal/torture/kit"

const (
	fenceFile = "ledgerfs/fence.go"
	runFile   = "cmd/internal/cli/run.go"
	endFile   = "cmd/internal/cli/fenced.go"
)

// faults are mistakes that somebody could make with the fence.
var faults = []kit.Fault{
	{
		Name: "no-unlock-at-the-end", Rule: "a command that ended by itself leaves no fence to its daemons", Share: 0.1,
		Edits: []kit.Edit{{File: fenceFile, Old: "unix.Flock(fd, unix.LOCK_UN)", New: "func(int) error { return nil }(fd)"}},
	},
	{
		Name: "fence-not-inherited", Rule: "the fence lasts until the last process that inherited it is gone", Share: 0.1,
		Edits: []kit.Edit{{File: runFile, Old: "Inherit: descriptors(h.Fence())", New: "Inherit: nil"}},
	},
	{
		Name: "unlock-after-a-killed-command", Rule: "a signal that ended the command did not end its children", Share: 0.1,
		Edits: []kit.Edit{{File: endFile, Old: "return !bySignal &&", New: "_ = bySignal\n\treturn"}},
	},
	{
		Name: "unlock-after-a-handed-on-signal", Rule: "a run within a run hands on by its exit code that a signal ended its command", Share: 0.2,
		Edits: []kit.Edit{{File: endFile, Old: "return !bySignal && status.Code != lostCode &&", New: "_ = bySignal\n\treturn status.Signal == 0 &&"}},
	},
	{
		Name: "unlock-after-a-told-command", Rule: "a command that was asked to end has not ended by itself", Share: 0.1,
		Edits: []kit.Edit{{File: endFile, Old: " && !process.Disturbed()", New: ""}},
	},
	{
		Name: "unlock-of-the-tree", Rule: "with --fence=tree what is left behind keeps the fence", Share: 0.1,
		Edits: []kit.Edit{{File: runFile, Old: " && endedByItself(process, status) && !r.tree", New: " && endedByItself(process, status)"}},
	},
	{
		Name: "no-reading-after-the-fence", Rule: "a token is current when the command starts, however long the fence was waited for", Share: 0.1,
		Edits: []kit.Edit{{File: "fslease/fenced.go", Old: "return l.m.ledger.Update(ctx, l.tenure.keys(), func(tx Tx) error { return l.tenure.check(tx, l.Records()) })", New: "return nil"}},
	},
	{
		Name: "command-not-waited-for", Rule: "a killed wrapper's command is waited for even if it closed the fence", Share: 0.1,
		Edits: []kit.Edit{{File: fenceFile, Old: "if err != nil || len(orphans) > 0 {", New: "if err != nil {"}},
	},
	{
		Name: "fence-among-the-shells-descriptors", Rule: "a shell's own redirections do not close the fence", Share: 0.1,
		Edits: []kit.Edit{{File: fenceFile, Old: "fd = raise(fd)", New: "_ = raise"}},
	},
	{
		Name: "fence-without-ancestors", Rule: "the fence of a key keeps its ancestors out too", Share: 0.1,
		Edits: []kit.Edit{{File: fenceFile, Old: "ok, err := l.addFence(f, fencePath(p.Key), p.Exclusive)", New: "ok, err := true, error(nil)\n\t\tif p.Exclusive {\n\t\t\tok, err = l.addFence(f, fencePath(p.Key), p.Exclusive)\n\t\t}"}},
	},
}
