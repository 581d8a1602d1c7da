package power

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fslease/internal/crashstate"
)

// traced are the calls that change a file system, or make sure what was changed.
const traced = "openat,openat2,creat,open,write,pwrite64,writev,fsync,fdatasync,sync_file_range,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,link,linkat,symlink,symlinkat,truncate,ftruncate,fallocate"

// A replay does to a disk in memory what a traced command did to the directory of a ledger.
type replay struct {
	disk    *crashstate.Disk
	dir     string // of the ledger
	unnamed map[string]crashstate.File
	said    []said
	synced  []string // what fsync was called on, in order: paths in the ledger, "" for others
}

// said is what a command or its child wrote to its output after so many steps of the disk.
type said struct {
	at   int
	text string
}

// run replays the trace in a file.
func (r *replay) run(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	r.unnamed = map[string]crashstate.File{}
	return calls(f, r.call)
}

// in returns a path relative to the ledger; ok is false if it is not in it.
func (r *replay) in(path string) (string, bool) {
	at, err := filepath.Rel(r.dir, path)
	return at, err == nil && at != ".." && !strings.HasPrefix(at, "../")
}

// at returns the path that a folder's descriptor and a name mean.
func (r *replay) at(folder, name string) (string, bool) {
	base, err := text(name)
	if err != nil {
		return "", false
	}
	if filepath.IsAbs(base) {
		return r.in(base)
	}
	dir, _ := target(folder)
	return r.in(filepath.Join(dir, base))
}

func (r *replay) call(c call) error {
	if strings.HasSuffix(c.name, "sync") {
		return r.sync(c)
	}
	if !c.ok() {
		return nil
	}
	switch c.name {
	case "openat", "openat2":
		return r.open(c)
	case "write":
		return r.write(c)
	case "mkdirat":
		return r.one(c, r.disk.Mkdir)
	case "unlinkat":
		if strings.Contains(c.args[2], "AT_REMOVEDIR") {
			return r.one(c, r.disk.Rmdir)
		}
		return r.one(c, r.disk.Remove)
	case "renameat", "renameat2":
		return r.rename(c)
	case "linkat":
		return r.link(c)
	}
	return r.unknown(c)
}

// one replays a call on a name.
func (r *replay) one(c call, do func(string) error) error {
	if name, ok := r.at(c.args[0], c.args[1]); ok && name != "." {
		return do(name)
	}
	return nil
}

func (r *replay) open(c call) error {
	flags := c.args[2]
	if strings.Contains(flags, "O_TMPFILE") {
		if path, _ := target(c.result); path != "" {
			if _, ok := r.in(path); ok {
				r.unnamed[path] = r.disk.Unnamed()
			}
		}
		return nil
	}
	name, ok := r.at(c.args[0], c.args[1])
	switch {
	case !ok:
		return nil
	case strings.Contains(flags, "O_TRUNC"):
		return errors.New("a file is cut: the model does not know that")
	case strings.Contains(flags, "O_CREAT"):
		if _, _, err := r.disk.Stat(name); err == nil {
			return nil // it was there
		}
		_, err := r.disk.Create(name)
		return err
	}
	return nil
}

// file returns the file of a descriptor; ok is false if it is not in the ledger.
func (r *replay) file(descriptor string) (f crashstate.File, ok bool, err error) {
	path, _ := target(descriptor)
	if f, ok := r.unnamed[path]; ok {
		return f, true, nil
	}
	name, ok := r.in(path)
	if !ok {
		return f, false, nil
	}
	f, err = r.disk.Open(name)
	return f, true, err
}

func (r *replay) write(c call) error {
	data, err := text(c.args[1])
	if err != nil {
		return err
	}
	f, ok, err := r.file(c.args[0])
	switch {
	case err != nil:
		return err
	case ok:
		f.Write([]byte(data))
	case strings.HasPrefix(c.args[0], "1<"):
		r.said = append(r.said, said{r.disk.Len(), data})
	}
	return nil
}

func (r *replay) sync(c call) error {
	path, _ := target(c.args[0])
	name, ok := r.in(path)
	if !ok {
		r.synced = append(r.synced, "")
		return nil
	}
	folder, _, err := r.disk.Stat(name)
	if err == nil && folder {
		name += "/"
	}
	r.synced = append(r.synced, name)
	if err == nil && folder {
		if c.ok() {
			err = r.disk.SyncDir(name)
		}
		return err
	}
	f, _, err := r.file(c.args[0])
	switch {
	case err != nil:
	case c.ok():
		f.Sync()
	default:
		f.Fail()
	}
	return err
}

func (r *replay) rename(c call) error {
	from, ok := r.at(c.args[0], c.args[1])
	to, ok2 := r.at(c.args[2], c.args[3])
	switch {
	case !ok && !ok2:
		return nil
	case !ok || !ok2:
		return errors.New("a file is moved into or out of the ledger: the model does not know that")
	case len(c.args) > 4 && strings.Contains(c.args[4], "RENAME_EXCHANGE"):
		return r.disk.Exchange(from, to)
	}
	return r.disk.Rename(from, to)
}

func (r *replay) link(c call) error {
	to, ok := r.at(c.args[2], c.args[3])
	if !ok {
		return nil
	}
	f, _, err := r.file(c.args[0])
	if err != nil || !strings.Contains(c.args[4], "AT_EMPTY_PATH") {
		from, _ := r.at(c.args[0], c.args[1])
		if f, err = r.disk.Open(from); err != nil {
			return err
		}
	}
	return f.Link(to)
}

// unknown is an error if the call is about the ledger.
func (r *replay) unknown(c call) error {
	for _, arg := range c.args {
		path, _ := target(arg)
		if path == "" {
			path, _ = text(arg)
		}
		if _, ok := r.in(path); ok && path != "" {
			return fmt.Errorf("%s: the model does not know that", c.name)
		}
	}
	return nil
}
