package child

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A StartError says that the command could not be started; nothing of it ran.
type StartError struct {
	Name string
	Err  error
}

func (e *StartError) Error() string { return fmt.Sprintf("cannot run %s: %v", e.Name, e.Err) }

func (e *StartError) Unwrap() error { return e.Err }

// ExitCode is 127 for a command that was not found, else 126, as a shell has it.
func (e *StartError) ExitCode() int {
	if errors.Is(e.Err, errNotFound) || errors.Is(e.Err, os.ErrNotExist) || errors.Is(e.Err, syscall.ENOTDIR) {
		return 127
	}
	return 126
}

var errNotFound = errors.New("command not found")

func startError(name string, err error) error { return &StartError{Name: name, Err: err} }

// LookPath finds the file of a command as a shell does: a name with a slash is a path, any other is looked
// for in $PATH, where an empty entry is the working directory. Something that is found but cannot be
// executed is used only for the error.
func LookPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil // the kernel says what is wrong with it
	}
	err := errNotFound
	if name != "" {
		for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
			path := dir + "/" + name
			if dir == "" {
				path = "./" + name
			}
			info, statErr := os.Stat(path)
			switch {
			case statErr != nil:
			case info.IsDir():
				err = syscall.EISDIR
			case unix.Access(path, unix.X_OK) != nil:
				err = syscall.EACCES
			default:
				return path, nil
			}
		}
	}
	return "", startError(name, err)
}
