package loss

import "fslease/internal/torture/kit"

const (
	leaseFile = "fslease/lease.go"
	guardFile = "fslease/guard.go"
	lossFile  = "cmd/internal/cli/runloss.go"
)

// faults are mistakes that somebody could make with the loss of a lease.
var faults = []kit.Fault{
	{
		Name: "loss-timer-behind-the-write", Rule: "the command is told in time even while the ledger hangs", Share: 0.2,
		Edits: []kit.Edit{{File: guardFile, Old: "		moved := l.base+l.ttl*3/4 > now\n", New: "		for l.attempt != 0 {\n			l.mu.Unlock()\n			time.Sleep(time.Millisecond)\n			l.mu.Lock()\n		}\n		moved := l.base+l.ttl*3/4 > now\n"}},
	},
	{
		Name: "loss-timer-from-the-answer", Rule: "the holder counts from the very stamp in the record", Share: 0.2,
		Edits: []kit.Edit{{File: leaseFile, Old: "l.base = max(l.base, oldestStamp(fresh))", New: "l.base = l.m.mono()"}},
	},
	{
		Name: "lost-after-a-pause", Rule: "who was stopped tries to renew once before the lease counts as lost", Share: 0.2,
		Edits: []kit.Edit{{File: guardFile, Old: "if (paused || !tried) && l.lastChance(base, attempts) {", New: "_, _, _, _ = paused, tried, base, attempts\n\t\tif false {"}},
	},
	{
		Name: "not-killed-before-the-end", Rule: "a command that does not heed the loss is killed before anybody else may enter", Share: 0.2,
		Edits: []kit.Edit{{File: lossFile, Old: "return max(0, min(killAfter, left-min(ttl/16, time.Second)))", New: "return killAfter"}},
	},
	{
		Name: "ignored-loss-told-to-the-command", Rule: "--on-lost ignore leaves the command alone", Share: 0.2,
		Edits: []kit.Edit{{File: lossFile, Old: "if r.ignore {", New: "if false {"}},
	},
	{
		Name: "renewal-without-comparing", Rule: "a renewal compares the generation, so that who lost the lease is told", Share: 0.2,
		Edits: []kit.Edit{{File: "fslease/tenure.go", Old: "cur, err := CheckToken(old.Key, st, old.Generation, p.id)\n		if err != nil {\n			bequeath", New: "cur, err := old, error(nil)\n		if err != nil {\n			bequeath"}},
	},
}
