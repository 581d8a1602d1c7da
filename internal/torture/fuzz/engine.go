package fuzz

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fslease/internal/torture/kit"
)

// engine runs every fuzz target of the module, all for the same number of executions.
func engine(t *kit.T) {
	if t.Ended() {
		return
	}
	root, err := kit.Root()
	if err != nil {
		t.Violate("%v", err)
		return
	}
	targets, err := findTargets(root)
	if err != nil || len(targets) == 0 {
		t.Violate("no fuzz targets below %s: %v", root, err)
		return
	}
	binaries, count := map[string]string{}, 0
	for _, pkg := range slices.Sorted(maps.Keys(targets)) {
		count += len(targets[pkg])
		binaries[pkg] = filepath.Join(t.Dir, strings.ReplaceAll(pkg, "/", "_")+".test")
		cmd := exec.CommandContext(t, "go", "test", "-c", "-fuzz=.", "-buildvcs=false", "-tags", "urfave_cli_no_docs", "-o", binaries[pkg], "./"+pkg)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Violate("the fuzz targets of %s cannot be built: %v\n%s", pkg, err, out)
			return
		}
	}
	n := t.Scale(executions)/count + 1
	for _, pkg := range slices.Sorted(maps.Keys(targets)) {
		for _, target := range targets[pkg] {
			if t.Ended() {
				return
			}
			made, err := fuzz(t, filepath.Join(root, pkg), binaries[pkg], target, n)
			if err != nil {
				t.Violate("%s in %s: %v", target, pkg, err)
			}
			t.Made("fuzz executions", made)
			t.Logf("%s in %s: %d executions", target, pkg, made)
		}
	}
}

var (
	targetLine = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)
	execsWord  = regexp.MustCompile(`execs: (\d+)`)
)

// findTargets returns the names of the fuzz targets, by the directory of their package.
func findTargets(root string) (map[string][]string, error) {
	targets := map[string][]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != root || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(name)
		pkg, _ := filepath.Rel(root, filepath.Dir(name))
		for _, m := range targetLine.FindAllStringSubmatch(string(text), -1) {
			targets[pkg] = append(targets[pkg], m[1])
		}
		return err
	})
	return targets, err
}

// fuzz runs one target n times and returns how many executions it made. What it is to learn from starts with the seeds in the
// package each time.
func fuzz(t *kit.T, dir, binary, target string, n int) (int, error) {
	cache, err := os.MkdirTemp(t.Dir, "corpus-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(cache)
	cmd := exec.CommandContext(t, binary, "-test.run=^$", "-test.fuzz=^"+target+"$", fmt.Sprintf("-test.fuzztime=%dx", n),
		"-test.fuzzminimizetime=1x", "-test.fuzzcachedir="+cache)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+t.Dir) // what the engine shares with its workers is kept in memory, too
	out, err := cmd.CombinedOutput()
	all := execsWord.FindAllStringSubmatch(string(out), -1)
	switch {
	case err != nil && t.Err() != nil:
		return 0, t.Err()
	case err != nil:
		return 0, fmt.Errorf("%w\n%s", err, out)
	case len(all) == 0:
		return 0, fmt.Errorf("it says nothing of executions:\n%s", out)
	}
	return strconv.Atoi(all[len(all)-1][1])
}
