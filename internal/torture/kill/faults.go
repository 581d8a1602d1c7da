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
		Share: 0.2,
		Edits: []kit.Edit{{
			File: "ledgerfs/tx.go",
			Old:  "	name := tombstonePath(rec.Key)\n	if st.Tomb",
			New:  "	name := tombstonePath(rec.Key)\n	if st.Lease == nil || st.Lease.Generation <= rec.Generation {\n		_ = t.l.fsys.Remove(leasePath(rec.Key))\n	}\n	if st.Tomb",
		}},
	},
	{
		Name:  "temporary-files-of-everybodys-own",
		Rule:  "what a killed writer left is cleared by the next one",
		Share: 0.2,
		Edits: []kit.Edit{{
			File: "ledgerfs/paths.go",
			Old:  "	return dir + \".\" + base + \".tmp\"\n",
			New:  "	return dir + \".\" + base + \".\" + newID() + \".tmp\"\n",
		}},
	},
	{
		Name:  "active-made-after-the-ticket",
		Rule:  "reconcile finds every session that a killed start left",
		Share: 0.3,
		Edits: []kit.Edit{
			{
				File: "fslease/ticketstart.go",
				Old:  "		if err := tx.SetActive(t.ID, true); err != nil {\n			return err\n		}\n",
				New:  "		_ = 0\n",
			},
			{
				File: "fslease/ticketstart.go",
				Old:  "		if err := tx.PutTicket(t); err != nil {\n			return err\n		}\n		logMove",
				New:  "		if err := tx.PutTicket(t); err != nil {\n			return err\n		}\n		if err := tx.SetActive(t.ID, true); err != nil {\n			return err\n		}\n		logMove",
			},
		},
	},
}
