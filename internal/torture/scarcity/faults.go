package scarcity

import "fslease/internal/torture/kit"

var faults = []kit.Fault{
	{Name: "release-needs-room", Rule: "what is held can be given back on a full disk", Share: 0.2, Edits: []kit.Edit{{
		File: "ledgerfs/tx.go",
		Old:  "if noRoom(err) &&",
		New:  "if noRoom(err) && err == nil &&",
	}}},
	{Name: "release-without-record", Rule: "no generation is lost where there is no room to write it", Share: 0.2, Edits: []kit.Edit{{
		File: "ledgerfs/tx.go",
		Old:  "err := t.l.fsys.Rename(leasePath(rec.Key), tombstonePath(rec.Key))",
		New:  "err := t.l.fsys.Remove(leasePath(rec.Key))",
	}}},
}
