package kit

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// An Edit is a change of one place in the source of the command under test.
type Edit struct {
	File string // from the root of the module; a file that does not exist is made, and Old is empty then
	Old  string // stands there exactly once
	New  string
}

// A Fault is a mistake that somebody could make, switched on in a test build only: the source itself stays as it is.
type Fault struct {
	Name  string
	Rule  string  // what it breaks
	Share float64 // of a whole run of the part that catches it for certain
	Edits []Edit
}

// Root is the directory of the module, found from the working directory upward.
func Root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, e := os.Stat(filepath.Join(dir, "go.mod")); e == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod from the working directory upward: run it inside the repository")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// Pinned keeps the main goroutine on its thread, so that a system call of the n-th time is the same one in each run.
var Pinned = Edit{File: "cmd/lease/pinned.go", New: "package main\n\nimport \"runtime\"\n\nfunc init() { runtime.LockOSThread() }\n"}

// Build builds the command into dir with edits laid over the source, and returns its path.
func Build(dir, name string, edits ...Edit) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	overlay, err := lay(root, dir, edits)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, name)
	cmd := exec.Command("go", "build", "-buildvcs=false", "-tags", "urfave_cli_no_docs", "-overlay", overlay, "-o", binary, "./cmd/lease")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return binary, nil
}

// lay writes the edited files into dir, and the list of them that the go command wants.
func lay(root, dir string, edits []Edit) (string, error) {
	files := map[string]string{}
	for _, e := range edits {
		path := filepath.Join(root, e.File)
		content, edited := files[path]
		if !edited {
			raw, err := os.ReadFile(path)
			if err != nil && !(os.IsNotExist(err) && e.Old == "") {
				return "", err
			}
			content = string(raw)
		}
		if e.Old == "" {
			files[path] = e.New
			continue
		}
		if n := strings.Count(content, e.Old); n != 1 {
			return "", fmt.Errorf("%s: %q stands there %d times, not once: bring the edit up to date", e.File, e.Old, n)
		}
		files[path] = strings.Replace(content, e.Old, e.New, 1)
	}
	replace := map[string]string{}
	for path, content := range files {
		f, err := os.CreateTemp(dir, "edited-*.go")
		if err != nil {
			return "", err
		}
		_, err = f.WriteString(content)
		if e := f.Close(); err == nil {
			err = e
		}
		if err != nil {
			return "", err
		}
		replace[path] = f.Name()
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o600)
}

// Applies reports whether the edits still fit the source.
func (f Fault) Applies(dir string) error {
	root, err := Root()
	if err == nil {
		_, err = lay(root, dir, f.Edits)
	}
	return err
}
