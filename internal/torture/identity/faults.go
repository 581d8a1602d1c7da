package identity

import "fslease/internal/torture/kit"

var faults = []kit.Fault{
	{Name: "namespace-blind", Rule: "a pid says something only in its own pid namespace", Share: 0.05, Edits: []kit.Edit{{
		File: "procinfo/judge.go",
		Old:  "case id.PIDNS != me.PIDNS:",
		New:  "case id.PIDNS != me.PIDNS && me.PID < 0:",
	}}},
	{Name: "exclusive-probe", Rule: "those who look at a holder do not see each other", Share: 0.5, Edits: []kit.Edit{{
		File: "ledgerfs/holder.go",
		Old:  "unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB)",
		New:  "unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)",
	}}},
	{Name: "first-seen-kept", Rule: "a renewed revision starts the silence again", Share: 0.05, Edits: []kit.Edit{{
		File: "fslease/record.go",
		Old:  "s.Generation == rec.Generation && s.Revision == rec.Revision &&",
		New:  "s.Generation == rec.Generation &&",
	}}},
	{Name: "boot-id-blind", Rule: "a boot id that was mounted over the kernel's is no other boot of the machine", Share: 0.05, Edits: []kit.Edit{{
		File: "procinfo/judge.go",
		Old:  "if reason == otherBoot && local && rebooted(id, me) {",
		New:  "if reason == otherBoot && local {",
	}}},
	{Name: "zombie-leader", Rule: "a process lives as long as one of its threads", Share: 1, Edits: []kit.Edit{{
		File: "procinfo/judge.go",
		Old:  "case ended && st.state == 'Z':",
		New:  "case st.state == 'Z':",
	}}},
	{Name: "hidden-is-gone", Rule: "a process that cannot be seen is not dead", Share: 1, Edits: []kit.Edit{{
		File: "procinfo/judge.go",
		Old:  "case hidden(statErr):\n\t\treturn Verdict{Unknown,",
		New:  "case hidden(statErr):\n\t\treturn Verdict{Dead,",
	}}},
}
