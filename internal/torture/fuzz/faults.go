package fuzz

import "fslease/internal/torture/kit"

var faults = []kit.Fault{
	{Name: "paths-not-injective", Rule: "two keys never share a file", Share: 0.2, Edits: []kit.Edit{{
		File: "ledgerfs/paths.go",
		Old:  "\"_:@+=,.-\"",
		New:  "\"_:@+=,.-%\"",
	}}},
	{Name: "damaged-is-absent", Rule: "a record that cannot be read is never free", Share: 0.05, Edits: []kit.Edit{{
		File: "ledgerfs/read.go",
		Old:  "\t\treturn false, r.l.damaged(name, key, err)\n",
		New:  "\t\treturn false, nil\n",
	}}},
	{Name: "names-by-the-line", Rule: "a hook judges every path that git knows, whatever its bytes", Share: 0.2, Edits: []kit.Edit{{
		File: "cmd/internal/githook/changes.go",
		Old:  "case path:\n\t\t\tvisit(Change{Path: token, Commit: commit})",
		New:  "case path:\n\t\t\ttoken, _, _ = strings.Cut(token, \"\\n\")\n\t\t\tvisit(Change{Path: strings.ToValidUTF8(token, \"\"), Commit: commit})",
	}}},
}
