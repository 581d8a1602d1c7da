package kill

import "fslease/internal/torture/kit"

var faults = []kit.Fault{
	{
		Name:  "generation-reset-on-a-missing-file",
		Rule:  "the generation of a key is above its tombstone's, not only above its lease's",
		Share: 0.05,
		Edits: []kit.Edit{{
			File: "ledgerfs/tx.go",
			Old:  "	next := max(s.Generation(), c.Floor) + 1\n",
			New:  "	next := c.Floor + 1\n	if s.Lease != nil {\n		next = max(next, s.Lease.Generation+1)\n	}\n",
		}},
	},
	{
		Name:  "lease-unlinked-before-its-tombstone-is-written",
		Rule:  "a killed release leaves the lease or the tombstone, so that the generation is never lost",
		Share: 0.1,
		Edits: []kit.Edit{{
			File: "ledgerfs/tx.go",
			Old:  "	name := tombstonePath(rec.Key)\n	if st.Tomb",
			New:  "	name := tombstonePath(rec.Key)\n	if st.Lease == nil || st.Lease.Generation <= rec.Generation {\n		_ = t.l.fsys.Remove(leasePath(rec.Key))\n	}\n	if st.Tomb",
		}},
	},
	{
		Name:  "temporary-files-of-everybodys-own",
		Rule:  "what a killed writer left is cleared by the next one",
		Share: 0.1,
		Edits: []kit.Edit{{
			File: "ledgerfs/paths.go",
			Old:  "	return dir + \".\" + base + \".tmp\"\n",
			New:  "	return dir + \".\" + base + \".\" + newID() + \".tmp\"\n",
		}},
	},
}
