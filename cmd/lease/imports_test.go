package main_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The packages import each other in one direction, and what the binary links is paid for at each start.
func TestImportsGoOneWay(t *testing.T) {
	const module = "fslease/"
	rules := []struct {
		pkg    string
		forbid func(dep string) bool
		why    string
	}{
		{"fslease/fslease", func(d string) bool { return !standard(d) && d != "fslease/fslease" }, "what a lease is needs the standard library only"},
		{"fslease/fslease", exactly("os/exec"), "what a lease is touches no file and starts no process: that is a ledger's part"},
		{"fslease/fslease/ledgermem", exactly("os/exec", "fslease/ledgerfs", "fslease/procinfo"), "the ledger in memory stands on the domain alone"},
		{"fslease/ledgerfs", exactly("fslease/procinfo", "fslease/hostproc", "fslease/reconcile"), "a ledger is handed what it must know of processes"},
		{"fslease/reconcile", exactly("fslease/ledgerfs", "fslease/procinfo", "fslease/hostproc"), "the pass works on any ledger"},
		{"fslease/procinfo", func(d string) bool { return strings.HasPrefix(d, module) && d != "fslease/procinfo" }, "who lives can be told without knowing of leases"},
		{"fslease/cmd/lease", under("net/http", "google.golang.org/", "go.etcd.io/", "github.com/olekukonko/", "github.com/jedib0t/"),
			"each package linked into the binary is paid for at every start"},
		{"fslease/cmd/lease", exactly("github.com/cpuguy83/go-md2man/v2/md2man"), "the markdown renderer stays out (build with -tags urfave_cli_no_docs)"},
	}
	for _, r := range rules {
		for _, dep := range dependencies(t, r.pkg) {
			if r.forbid(dep) {
				t.Errorf("%s depends on %s, but %s", r.pkg, dep, r.why)
			}
		}
	}
}

// Only the command line knows its library, and the domain does not touch the system.
func TestDirectImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}: {{join .Imports \" \"}}", "fslease/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		pkg, imports, _ := strings.Cut(strings.TrimSpace(line), ": ")
		direct := strings.Fields(imports)
		if slices.Contains(direct, "github.com/urfave/cli/v2") && pkg != "fslease/cmd/internal/cli" {
			t.Errorf("%s imports urfave/cli; only fslease/cmd/internal/cli may", pkg)
		}
		if pkg == "fslease/fslease" && slices.ContainsFunc(direct, under("os", "syscall", "golang.org/x/sys")) {
			t.Errorf("%s imports %v; what a lease is touches no file and starts no process: that is a ledger's part", pkg, direct)
		}
	}
}

func dependencies(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-tags", "urfave_cli_no_docs", pkg).Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v", pkg, err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 2 {
		t.Fatalf("go list -deps %s printed %q", pkg, out)
	}
	return deps
}

func standard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".") && first != "fslease"
}

func exactly(pkgs ...string) func(string) bool {
	return func(d string) bool { return slices.Contains(pkgs, d) }
}

func under(prefixes ...string) func(string) bool {
	return func(d string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(d, p) })
	}
}
