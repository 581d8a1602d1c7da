package cli

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The man page has a section for every command and subcommand, with all that its help page says.
func TestManPageNamesEveryCommand(t *testing.T) {
	man := unescaped((&call{}).manual())
	sections := map[string]string{}
	for part := range strings.SplitSeq(man, "\n.S") {
		if name, text, ok := strings.Cut(part, "\n"); ok {
			sections[name] = text + "\n"
		}
	}
	if options := sections["H OPTIONS"]; options == "" {
		t.Fatal("no section OPTIONS")
	}
	for _, f := range globalOptions() {
		if how, usage := typed(f); !strings.Contains(sections["H OPTIONS"], ".B "+how+"\n"+usage+"\n") {
			t.Errorf("nothing is said of %s", how)
		}
	}
	pages := allPages()
	for _, p := range pages {
		section, found := sections["S lease "+p.path]
		if !found {
			t.Errorf("nothing is said of %s", p.path)
			continue
		}
		delete(sections, "S lease "+p.path)
		said := []string{p.command.Usage, p.command.UsageText}
		for paragraph := range strings.SplitSeq(strings.Replace(p.command.Description, "examples:\n", "", 1), "\n\n") {
			said = append(said, paragraph)
		}
		for _, f := range p.command.Flags {
			how, usage := typed(f)
			said = append(said, ".B "+how+"\n"+usage)
		}
		for _, text := range said {
			if !strings.Contains(section, text+"\n") {
				t.Errorf("%s: not said is %q in\n%s", p.path, text, section)
			}
		}
		if n := strings.Count(section, "\n.TP\n"); n != len(p.command.Flags) {
			t.Errorf("%s: %d options, it has %d", p.path, n, len(p.command.Flags))
		}
	}
	for name := range sections {
		if strings.HasPrefix(name, "S ") {
			t.Errorf("there is no command %q", name)
		}
	}
}

// unescaped takes the escapes of the formatter back.
func unescaped(man string) string {
	return strings.NewReplacer(`\&`, "", `\-`, "-", `\(aq`, "'", `\e`, `\`).Replace(man)
}

// The exit codes that it lists, and README.md, are those that errors have.
func TestManPageNamesEveryExitCode(t *testing.T) {
	wrapper := map[string]bool{"N": true, "128+N": true, "126": true, "127": true} // the command's own end, or the attempt to start it
	others := map[string]bool{"0": true, "128+N": true}
	for _, f := range faults {
		wrapper[strconv.Itoa(f.run)] = true
		if f.code != f.run || f.code != 125 {
			others[strconv.Itoa(f.code)] = true
		}
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for about, c := range map[string]struct {
		listed [][2]string
		want   map[string]bool
	}{"of run and fenced": {runCodes, wrapper}, "of all others": {otherCodes, others}} {
		sameNames(t, "exit code "+about, c.listed, c.want)
		for code := range c.want {
			if digits := strings.TrimRight(code, "+N"); digits != "" && !regexp.MustCompile(`(?m)^\|[^|]*\b`+digits+`\b`).Match(readme) {
				t.Errorf("README.md says nothing of exit code %s", code)
			}
		}
	}
}

// The environment variables that it lists are those that the code reads, or sets for a command.
func TestManPageNamesEveryVariable(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	used := map[string]bool{}
	variable := regexp.MustCompile(`(?:Getenv|LookupEnv)\("([A-Z_]+)"\)|"(LEASE_[A-Z_]+)=`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || path == filepath.Join(root, "internal") || path == filepath.Join(root, "scripts")) {
			return fs.SkipDir // not part of the command
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range variable.FindAllSubmatch(source, -1) {
			used[string(m[1])+string(m[2])] = true
		}
		if strings.Contains(string(source), "os.UserHomeDir()") {
			used["HOME"] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sameNames(t, "environment variable", environmentVariables, used)
}

// The files that it lists are those of which the layout of a ledger consists, and the settings those that ledger.json may have.
func TestManPageNamesEveryFile(t *testing.T) {
	layout, err := os.ReadFile(filepath.Join("..", "..", "..", "ledgerfs", "paths.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\t\w+(?:File|Lock|Dir) += "(.+)"$`).FindAllSubmatch(layout, -1) {
		files[string(m[1])] = true
	}
	sameNames(t, "file", ledgerFiles, files)
	settings, err := os.ReadFile(filepath.Join("..", "..", "..", "ledgerfs", "config.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(settings), "type Settings struct {")
	fields := regexp.MustCompile(`json:"(\w+)`).FindAllStringSubmatch(strings.SplitN(after, "\n}", 2)[0], -1)
	if len(fields) == 0 {
		t.Fatal("ledgerfs/config.go has no Settings")
	}
	for _, f := range fields {
		if !strings.Contains(ledgerFiles[0][1], f[1]) {
			t.Errorf("nothing is said of the setting %s", f[1])
		}
	}
}

// sameNames compares the names in a table of the man page, some of which share a row, with those that there are.
func sameNames(t *testing.T, what string, table [][2]string, want map[string]bool) {
	t.Helper()
	man := unescaped((&call{}).manual())
	left := maps.Clone(want)
	for _, row := range table {
		for name := range strings.SplitSeq(row[0], ", ") {
			if !left[name] {
				t.Errorf("%s %s is listed, and is none, or twice", what, name)
			}
			delete(left, name)
		}
		if !strings.Contains(man, ".B "+row[0]+"\n"+row[1]+"\n") {
			t.Errorf("%s %s is not printed", what, row[0])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		t.Errorf("%s %s is not listed", what, name)
	}
}

// The formatters find nothing wrong with it, and nothing of it is lost.
func TestManPageIsFormatted(t *testing.T) {
	for _, formatter := range [][]string{{"groff", "-man", "-Tutf8", "-ww"}, {"mandoc", "-man", "-Tutf8", "-Wwarning"}} {
		t.Run(formatter[0], func(t *testing.T) {
			if _, err := exec.LookPath(formatter[0]); err != nil {
				t.Skipf("not run: needs %s: %v", formatter[0], err)
			}
			cmd := exec.Command(formatter[0], formatter[1:]...)
			cmd.Stdin = strings.NewReader((&call{}).manual())
			var shown, complaints strings.Builder
			cmd.Stdout, cmd.Stderr = &shown, &complaints
			_ = cmd.Run()
			for line := range strings.Lines(complaints.String()) {
				if !strings.Contains(line, "missing date") && !strings.Contains(line, "see above") {
					t.Error(line)
				}
			}
			for _, want := range []string{"lease run", "--conflict-exit-code", "LEASE_TOKEN", "doctor --repair"} {
				if !strings.Contains(regexp.MustCompile("\x1b\\[[0-9;]*m|.\b").ReplaceAllString(shown.String(), ""), want) {
					t.Errorf("%q is not shown", want)
				}
			}
		})
	}
}
