package history

import "fslease/internal/torture/kit"

// faults are the mistakes that the histories must show. Each share is for some rounds.
var faults = []kit.Fault{
	{
		Name: "no locks", Rule: "a key is changed under its lock, and a command runs under its fence", Share: 0.01,
		Edits: []kit.Edit{
			{File: "ledgerfs/lock.go", Old: "how = unix.LOCK_EX", New: "how = unix.LOCK_SH"},
			{File: "ledgerfs/fence.go", Old: "mode = unix.LOCK_EX | unix.LOCK_NB", New: "mode = unix.LOCK_SH | unix.LOCK_NB"},
		},
	},
	{
		Name: "no inode re-check", Rule: "a lock on a file that was removed protects nothing", Share: 0.001,
		Edits: []kit.Edit{{
			File: "ledgerfs/lock.go",
			Old:  "func (f *lockedFile) current() error {\n",
			New:  "func (f *lockedFile) current() error {\n\tif true {\n\t\treturn nil\n\t}\n",
		}},
	},
	{
		Name: "renew without comparing the holder", Rule: "a lease whose record names somebody else is lost", Share: 0.001,
		Edits: []kit.Edit{{
			File: "fslease/tenure.go",
			Old:  "cur, err := CheckToken(old.Key, st, old.Generation, p.id)",
			New:  "cur, err := CheckToken(old.Key, st, old.Generation, \"\")",
		}},
	},
	{
		Name: "renew without comparing the generation", Rule: "an old token is refused", Share: 0.02,
		Edits: []kit.Edit{{
			File: "fslease/transition.go",
			Old:  "cur != nil && cur.Generation == token && (holderID",
			New:  "cur != nil && (holderID",
		}},
	},
	{
		Name: "lock files in the order of strings", Rule: "whoever locks several keys takes them in one order of all", Share: 0.1,
		Edits: []kit.Edit{{
			File: "fslease/key.go",
			Old:  "\tslices.SortFunc(plan, func(a, b KeyLock) int { return CompareKeys(a.Key, b.Key) })\n",
			New: `	plan = plan[:0]
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	for _, k := range sorted {
		for _, a := range append(k.Ancestors(), k) {
			if !slices.ContainsFunc(plan, func(l KeyLock) bool { return l.Key == a }) {
				plan = append(plan, KeyLock{a, mode[a]})
			}
		}
	}
`,
		}},
	},
}
