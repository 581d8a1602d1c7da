package power

import "fslease/internal/torture/kit"

var faults = []kit.Fault{
	{
		Name: "no directory sync", Rule: "what must survive is on the disk before it is told, its name too", Share: 0.1,
		Edits: []kit.Edit{{
			File: "ledgerfs/dirwrite.go",
			Old:  "\terr := ignoreEINTR(func() error { return unix.Fsync(fd) })\n",
			New:  "\terr := error(nil)\n",
		}},
	},
	{
		Name: "no file sync", Rule: "a power cut leaves the old record or the new one, never half", Share: 0.1,
		Edits: []kit.Edit{{
			File: "ledgerfs/dirwrite.go",
			Old:  "\tif err == nil && sync {\n",
			New:  "\tif err == nil && sync && d == nil {\n",
		}},
	},
	{
		Name: "retried sync", Rule: "a failed fsync is never retried on the same file: the retry lies", Share: 0.3,
		Edits: []kit.Edit{{
			File: "ledgerfs/dirwrite.go",
			Old:  "\t\terr = ignoreEINTR(func() error { return unix.Fsync(fd) }) // never tried again: a second one lies\n",
			New:  "\t\tif err = unix.Fsync(fd); err != nil {\n\t\t\terr = unix.Fsync(fd)\n\t\t}\n",
		}},
	},
	{
		Name: "lease unlinked before its tombstone's directory is synced", Rule: "every tombstone is durable before its lease is unlinked", Share: 0.3,
		Edits: []kit.Edit{{
			File: "ledgerfs/tx.go",
			Old:  "\t\terr := t.save(name, rec.Key, tomb, c)\n",
			New:  "\t\tif c == durable {\n\t\t\tc = synced\n\t\t\tdefer func() { _ = t.l.syncAfter(name) }()\n\t\t}\n\t\terr := t.save(name, rec.Key, tomb, c)\n",
		}},
	},
}
