package ledgerfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fslease/fslease"
)

// fail makes an error of the ledger out of what the system said about one of its files, with what to do.
func (l *Ledger) fail(name string, err error) error {
	var re *fslease.RepositoryError
	if err == nil || errors.As(err, &re) {
		return err
	}
	path := l.file(name)
	var not errNotRegular
	if errors.As(err, &not) {
		return &fslease.RepositoryError{Fault: fslease.FaultDamaged, Path: path, What: path + " " + not.Error(),
			Hint: "look what put it there and remove it: nothing in a ledger is ever followed"}
	}
	var pe *fs.PathError
	op := "use"
	if errors.As(err, &pe) {
		op, err = pe.Op, pe.Err
	}
	e := &fslease.RepositoryError{Fault: fslease.FaultLedger, Path: path, What: "cannot " + op + " " + path, Err: err}
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		e.Hint = "you are " + userName(os.Geteuid())
		switch o := owner(l.path); o {
		case userName(os.Geteuid()):
			e.Hint = "the ledger is your own (" + o + "): chmod -R u+rwX " + l.path + " permits it again"
		case "":
			e.Hint += "; " + asOwner
		default:
			e.Hint = "the ledger belongs to " + o + ", " + e.Hint + "; " + asOwner
		}
	case noSpace(err):
		e.Hint = "the disk is full: free some space, or release what is not needed (release works on a full disk)"
	case errors.Is(err, unix.EIO):
		e.Hint = "the disk fails: dmesg says more"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		e.Hint = tooFewFiles
	case errors.Is(err, unix.EFBIG):
		e.Hint = "files may not grow: raise ulimit -f"
	case errors.Is(err, unix.EROFS):
		e.Hint = "the file system is mounted read-only; reading commands still work"
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		e.Fault = fslease.FaultDamaged
		e.Hint = "a folder of the ledger is a symbolic link or a file; nothing in a ledger is ever followed"
	}
	return e
}

// failSelf says that this process could not find out who it is.
func (l *Ledger) failSelf(err error) error {
	e := &fslease.RepositoryError{Fault: fslease.FaultLedger, What: "cannot tell who this process is", Err: err, Hint: "is /proc mounted?"}
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		e.Hint = tooFewFiles
	}
	return e
}

const asOwner = "work as its owner, or make a shared ledger for a group (lease init --shared)"

const tooFewFiles = "this process may open too few files: raise ulimit -n, 64 is plenty for a few keys, and each one more takes two"

// damaged says that a record is not what it should be.
func (l *Ledger) damaged(name string, key fslease.Key, err error) error {
	held := "it counts as held; "
	if name == configFile {
		held = ""
	}
	e := &fslease.RepositoryError{Fault: fslease.FaultDamaged, Path: l.file(name), Key: key,
		What: l.file(name) + " is damaged", Err: err, Hint: held + "lease doctor --repair mends it"}
	if errors.Is(err, fslease.ErrNewerSchema) {
		e.Fault, e.What = fslease.FaultNewer, l.file(name)+" is not understood"
		e.Hint = held + "use the version of lease that wrote it"
	}
	return e
}

func (l *Ledger) file(name string) string { return filepath.Join(l.path, filepath.FromSlash(name)) }

// userName returns the name of a user, or the number if it has none. (It reads /etc/passwd only: the
// system's own lookup would need cgo.)
func userName(uid int) string {
	data, err := os.ReadFile("/etc/passwd")
	if err == nil {
		want := strconv.Itoa(uid)
		for line := range strings.Lines(string(data)) {
			if f := strings.SplitN(line, ":", 4); len(f) == 4 && f[2] == want {
				return f[0]
			}
		}
	}
	return "uid " + strconv.Itoa(uid)
}
