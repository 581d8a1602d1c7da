package fail

import "fslease/internal/torture/kit"

var faults = []kit.Fault{
	{
		Name:  "error-of-close-ignored",
		Rule:  "what could not be closed may not have been written",
		Share: 0.1,
		Edits: []kit.Edit{{
			File: "ledgerfs/dirwrite.go",
			Old:  "	if cerr := unix.Close(fd); err == nil {\n		err = cerr\n	}\n	if err != nil {\n		return &fs.PathError{Op: \"write\"",
			New:  "	_ = unix.Close(fd)\n	if err != nil {\n		return &fs.PathError{Op: \"write\"",
		}},
	},
	{
		Name:  "failed-sync-tried-again",
		Rule:  "a second sync after a failed one lies",
		Share: 0.1,
		Edits: []kit.Edit{{
			File: "ledgerfs/dirwrite.go",
			Old:  "		err = ignoreEINTR(func() error { return unix.Fsync(fd) }) // never tried again: a second one lies\n",
			New:  "		if err = unix.Fsync(fd); err != nil {\n			err = unix.Fsync(fd)\n		}\n",
		}},
	},
	{
		Name:  "record-that-cannot-be-read-taken-for-a-missing-one",
		Rule:  "what cannot be read is neither free nor absent",
		Share: 0.1,
		Edits: []kit.Edit{{
			File: "ledgerfs/read.go",
			Old:  "	if err != nil {\n		return false, r.l.fail(name, err)\n	}\n	if err := v.UnmarshalJSON",
			New:  "	if err != nil {\n		return false, nil\n	}\n	if err := v.UnmarshalJSON",
		}},
	},
	{
		Name:  "command-without-the-lease-that-could-not-be-written",
		Rule:  "no command runs without a lease",
		Share: 0.1,
		Edits: []kit.Edit{{
			File: "ledgerfs/tx.go",
			Old:  "	return t.l.writeChecked(name, data, c, func() error { return t.locks.protect(key) })\n",
			New:  "	_ = t.l.writeChecked(name, data, c, func() error { return t.locks.protect(key) })\n	return nil\n",
		}},
	},
}
