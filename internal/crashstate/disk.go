// Package crashstate is a file system in memory that remembers what was synced, and so knows what a power cut may
// leave of it.
//
// It promises as little as POSIX does. Data of a file is sure once the file was synced. A change of a folder is sure
// once that folder was synced; until then each change (a new name, a rename, a removal) may be lost or kept by
// itself, in whatever combination. What lies in a folder whose own name was lost is lost with it, synced or not.
package crashstate

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// A Disk is the file system as the running programs see it, and the log of all that was done to it.
type Disk struct {
	mu   sync.Mutex
	root *node
	log  []event
}

// A node is a file or a folder. Names lead to nodes.
type node struct {
	names map[string]*node // of a folder, nil for a file
	data  []byte
	first *node // what it was in the beginning, nil: it was not there
}

// An event is one step that a power cut may come before or after.
type event struct {
	wrote   *node    // a file got data
	data    []byte   // that was appended
	synced  *node    // a file or folder was synced
	failed  *node    // a file could not be synced
	changes []change // of names, which are one change: kept or lost together
}

// A change lets a name of a folder lead to another node, nil if to none.
type change struct {
	folder *node
	name   string
	to     *node
}

// New returns a disk with what is in t, all of it synced.
func New(t Tree) *Disk {
	return &Disk{root: t.node()}
}

// Len returns how many steps were made. A power cut comes before the first, after the last, or in between.
func (d *Disk) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.log)
}

// A File is an open file, which need not have a name.
type File struct {
	d *Disk
	n *node
}

// Unnamed makes a file that has no name yet.
func (d *Disk) Unnamed() File { return File{d, &node{}} }

// Create makes an empty file, which must not exist.
func (d *Disk) Create(name string) (File, error) {
	f := d.Unnamed()
	return f, f.Link(name)
}

// Open opens a file that exists.
func (d *Disk) Open(name string) (File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find("open", name)
	if err == nil && n.names != nil {
		err = &fs.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
	}
	return File{d, n}, err
}

// Write appends data.
func (f File) Write(data []byte) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.n.data = append(slices.Clip(f.n.data), data...)
	f.d.log = append(f.d.log, event{wrote: f.n, data: slices.Clone(data)})
}

// Sync makes sure what was written so far.
func (f File) Sync() { f.d.sync(f.n) }

// Fail is a sync that failed. What was not sure before never will be: the kernel forgets that it was to be written, and
// the next sync of the same file succeeds without having done anything.
func (f File) Fail() {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.d.log = append(f.d.log, event{failed: f.n})
}

func (d *Disk) sync(n *node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, event{synced: n})
}

// Link gives the file a name, which must be free.
func (f File) Link(name string) error { return f.d.add("link", name, f.n) }

// Mkdir makes a folder.
func (d *Disk) Mkdir(name string) error {
	return d.add("mkdir", name, &node{names: map[string]*node{}})
}

func (d *Disk) add(op, name string, n *node) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	folder, base, err := d.folder(op, name)
	if err != nil {
		return err
	}
	if folder.names[base] != nil {
		return &fs.PathError{Op: op, Path: name, Err: syscall.EEXIST}
	}
	d.change(change{folder, base, n})
	return nil
}

// Rename moves a name. What had the new one loses it.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find("rename", from)
	if err != nil {
		return err
	}
	target, base, err := d.folder("rename", to)
	if err != nil {
		return err
	}
	if there := target.names[base]; there != nil && there.names != nil {
		return &fs.PathError{Op: "rename", Path: to, Err: syscall.EEXIST}
	}
	source, old, _ := d.folder("rename", from) // it was found through it
	d.change(change{source, old, nil}, change{target, base, n})
	return nil
}

// Exchange lets two names change places.
func (d *Disk) Exchange(a, b string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find("rename", a)
	if err != nil {
		return err
	}
	m, err := d.find("rename", b)
	if err != nil {
		return err
	}
	in, base, _ := d.folder("rename", a) // both were found
	to, other, _ := d.folder("rename", b)
	d.change(change{in, base, m}, change{to, other, n})
	return nil
}

// Remove removes the name of a file.
func (d *Disk) Remove(name string) error { return d.drop(name, false) }

// Rmdir removes an empty folder.
func (d *Disk) Rmdir(name string) error { return d.drop(name, true) }

func (d *Disk) drop(name string, folder bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find("remove", name)
	if err != nil {
		return err
	}
	switch {
	case n.names != nil && !folder:
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.EISDIR}
	case n.names == nil && folder:
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOTDIR}
	case len(n.names) > 0:
		return &fs.PathError{Op: "remove", Path: name, Err: syscall.ENOTEMPTY}
	}
	in, base, _ := d.folder("remove", name) // it was found through it
	d.change(change{in, base, nil})
	return nil
}

func (d *Disk) change(changes ...change) {
	for _, c := range changes {
		c.apply(c.folder.names)
	}
	d.log = append(d.log, event{changes: changes})
}

func (c change) apply(names map[string]*node) {
	if c.to == nil {
		delete(names, c.name)
	} else {
		names[c.name] = c.to
	}
}

// SyncDir makes sure which names a folder has.
func (d *Disk) SyncDir(name string) error {
	d.mu.Lock()
	n, err := d.find("sync", name)
	d.mu.Unlock()
	if err == nil {
		d.sync(n)
	}
	return err
}

// ReadFile returns what is in a file.
func (d *Disk) ReadFile(name string) ([]byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find("open", name)
	if err == nil && n.names != nil {
		err = &fs.PathError{Op: "read", Path: name, Err: syscall.EISDIR}
	}
	if err != nil {
		return nil, err
	}
	return n.data, nil
}

// List returns the names in a folder, sorted; folders end in a slash.
func (d *Disk) List(name string) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find("open", name)
	if err != nil {
		return nil, err
	}
	var names []string
	for base, in := range n.names {
		if in.names != nil {
			base += "/"
		}
		names = append(names, base)
	}
	slices.Sort(names)
	return names, nil
}

// Stat reports whether name is a folder, and how large a file it is otherwise.
func (d *Disk) Stat(name string) (folder bool, size int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, err := d.find("stat", name)
	if err != nil {
		return false, 0, err
	}
	return n.names != nil, len(n.data), nil
}

func (d *Disk) find(op, name string) (*node, error) {
	n := d.root
	if name = path.Clean(name); name == "." {
		return n, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if n = n.names[part]; n == nil { // a file has no names
			return nil, &fs.PathError{Op: op, Path: name, Err: syscall.ENOENT}
		}
	}
	return n, nil
}

// folder returns the folder that name is in, and its last part.
func (d *Disk) folder(op, name string) (*node, string, error) {
	dir, base := path.Split(path.Clean(name))
	n, err := d.find(op, dir)
	if err == nil && n.names == nil {
		err = &fs.PathError{Op: op, Path: name, Err: syscall.ENOENT}
	}
	return n, base, err
}
