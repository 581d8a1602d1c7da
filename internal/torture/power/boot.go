package power

import (
	"os"
	"path/filepath"

	"fslease/internal/torture/kit"
)

// Boot lets the command under test take the id of the boot from a file, and takes every machine for a real one.
var Boot = []kit.Edit{
	{
		File: "procinfo/place.go",
		Old:  "\tname := p.path(\"sys/kernel/random/boot_id\")\n",
		New: "\tif file := os.Getenv(\"" + bootFile + "\"); file != \"\" {\n" +
			"\t\ttext, err := os.ReadFile(file)\n" +
			"\t\treturn strings.TrimSpace(string(text)), os.Getenv(\"" + bootUnknown + "\") == \"\", err\n" +
			"\t}\n" +
			"\tname := p.path(\"sys/kernel/random/boot_id\")\n",
	},
	{
		File: "procinfo/judge.go",
		Old:  "\t\tid.PIDNS == initialPIDNS && me.PIDNS == initialPIDNS &&\n\t\tid.MachineID != \"\" && id.MachineID == me.MachineID\n",
		New:  "\t\tid.PIDNS == me.PIDNS && id.MachineID == me.MachineID\n",
	},
}

// Variables of the command under test.
const (
	bootFile    = "LEASE_TORTURE_BOOT"         // names the file with the id of the boot
	bootUnknown = "LEASE_TORTURE_BOOT_UNKNOWN" // set: the id is not provably the kernel's own
)

// OnBoot returns the ledger as commands of a boot see it: id is its id, genuine says that it is the kernel's own.
func OnBoot(l *kit.Ledger, id string, genuine bool) *kit.Ledger {
	name := filepath.Join(filepath.Dir(l.Dir), id)
	if err := os.WriteFile(name, []byte(id+"\n"), 0o644); err != nil {
		panic(err)
	}
	l = l.Env(bootFile + "=" + name)
	if !genuine {
		l = l.Env(bootUnknown + "=1")
	}
	return l
}
