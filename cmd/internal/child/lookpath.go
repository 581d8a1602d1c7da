package child

import (
	"errors"
	"fmt"
	"os"
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
	if errors.Is(e.Err, errNotFound) || errors.Is(e.Err, syscall.ENOENT) || errors.Is(e.Err, syscall.ENOTDIR) {
		return 127
	}
	return 126
}

// NotFound reports whether there is no file of that name.
func (e *StartError) NotFound() bool {
	return e.Err == errNotFound || e.Err == syscall.ENOENT || e.Err == syscall.ENOTDIR
}

var errNotFound = errors.New("command not found")

// startError explains what the kernel said about the file of a command.
func startError(name, path string, err error) error {
	switch _, missing := os.Lstat(path); {
	case err == syscall.ENOEXEC:
		err = fmt.Errorf("%w: a script needs a first line such as #!/bin/sh", err)
	case err == syscall.ENOENT && missing == nil:
		err = fmt.Errorf("the program that should interpret it is missing: %w", err)
	}
	return &StartError{Name: name, Err: err}
}

// lookPath finds the file of a command as a shell does: a name with a slash is a path, any other is looked
// for in $PATH, where an empty entry is the working directory. Something that is found but cannot be
// executed is used only for the error.
func lookPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil // the kernel says what is wrong with it
	}
	path, set := os.LookupEnv("PATH")
	if !set {
		path = "/bin:/usr/bin"
	}
	err := errNotFound
	for _, dir := range strings.Split(path, ":") {
		if dir == "" {
			dir = "."
		}
		file := dir + "/" + name
		info, statErr := os.Stat(file)
		switch {
		case statErr != nil || name == "":
		case info.IsDir():
			err = syscall.EISDIR
		case unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS) != nil:
			err = syscall.EACCES
		default:
			return file, nil
		}
	}
	return "", &StartError{Name: name, Err: err}
}
