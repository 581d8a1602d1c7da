package crashstate

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Tree is all that is on a disk: the files by their paths, with what is in them, and the folders, whose paths end in
// a slash.
type Tree map[string]string

func (t Tree) paths() []string { return slices.Sorted(maps.Keys(t)) }

// String is the same for equal trees, and for no others.
func (t Tree) String() string {
	var b strings.Builder
	for _, p := range t.paths() {
		b.WriteString(p + "\x00" + t[p] + "\x00")
	}
	return b.String()
}

// node builds the tree.
func (t Tree) node() *node {
	root := &node{names: map[string]*node{}}
	defer root.begin()
	for _, p := range t.paths() {
		in, parts := root, strings.Split(strings.TrimSuffix(p, "/"), "/")
		for _, part := range parts[:len(parts)-1] {
			if in.names[part] == nil {
				in.names[part] = &node{names: map[string]*node{}}
			}
			in = in.names[part]
		}
		n := &node{data: []byte(t[p])}
		if strings.HasSuffix(p, "/") {
			n = &node{names: map[string]*node{}}
		}
		in.names[parts[len(parts)-1]] = n
	}
	return root
}

// begin notes that all below n is there from the beginning.
func (n *node) begin() {
	n.first = &node{names: maps.Clone(n.names), data: n.data}
	for _, in := range n.names {
		in.begin()
	}
}

// Read reads a directory.
func Read(dir string) (Tree, error) {
	t := Tree{}
	err := filepath.WalkDir(filepath.Clean(dir), func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == filepath.Clean(dir) {
			return err
		}
		at := strings.TrimPrefix(name, filepath.Clean(dir)+"/")
		if e.IsDir() {
			t[at+"/"] = ""
			return nil
		}
		data, err := os.ReadFile(name)
		t[at] = string(data)
		return err
	})
	return t, err
}

// Write makes the directory dir with what is in the tree. Folders get mode 0700, files 0600.
func (t Tree) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, p := range t.paths() {
		name := filepath.Join(dir, p)
		err := error(nil)
		if strings.HasSuffix(p, "/") {
			err = os.MkdirAll(name, 0o700)
		} else if err = os.MkdirAll(path.Dir(name), 0o700); err == nil {
			err = os.WriteFile(name, []byte(t[p]), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
