package githook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Repo is the repository that git finds from a directory, asked through git itself.
type Repo struct {
	dir string
	env []string
}

// At returns the repository that git finds from dir in the environment env, of the form of os.Environ.
// A hook hands in the directory and the environment that git gave it: GIT_INDEX_FILE may be relative to
// that directory and may name the index of this one commit (commit -a, commit -- path), and in a linked
// worktree only GIT_DIR says which repository it is.
func At(dir string, env []string) Repo {
	return Repo{dir: dir, env: append(slices.Clip(env), "GIT_OPTIONAL_LOCKS=0")}
}

// elsewhere returns the repository that git finds from dir, whatever repository r's environment names.
func (r Repo) elsewhere(ctx context.Context, dir string) (Repo, error) {
	local, err := r.lines(ctx, "rev-parse", "--local-env-vars")
	if err != nil {
		return Repo{}, err
	}
	env := slices.DeleteFunc(slices.Clone(r.env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(local, name)
	})
	return Repo{dir: dir, env: env}, nil
}

// A gitError is a git command that failed.
type gitError struct {
	args   []string
	code   int // exit status, -1 if it did not run
	stderr string
	err    error
}

func (e *gitError) Error() string {
	said := strings.TrimSpace(e.stderr)
	if said == "" {
		said = e.err.Error()
	}
	return fmt.Sprintf("git %s: %s", e.args[0], said)
}

func (e *gitError) Unwrap() error { return e.err }

// run runs git and writes its standard output to stdout.
func (r Repo) run(ctx context.Context, stdin io.Reader, stdout io.Writer, args ...string) error {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = r.dir, r.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &stderr
	if err := cmd.Run(); err != nil {
		code := -1
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		}
		return &gitError{args: args, code: code, stderr: stderr.String(), err: err}
	}
	return nil
}

// output returns what git prints, less one newline at the end.
func (r Repo) output(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	err := r.run(ctx, nil, &out, args...)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// lines returns the lines that git prints.
func (r Repo) lines(ctx context.Context, args ...string) ([]string, error) {
	out, err := r.output(ctx, args...)
	if out == "" || err != nil {
		return nil, err
	}
	return strings.Split(out, "\n"), nil
}

// tokens calls visit with each part of git's output that ends in a NUL. File names pass as they are.
func (r Repo) tokens(ctx context.Context, stdin io.Reader, visit func(string), args ...string) error {
	return r.run(ctx, stdin, &splitter{visit: visit}, args...)
}

type splitter struct {
	visit func(string)
	rest  []byte // the beginning of a token whose NUL has not come yet
}

func (s *splitter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		head, tail, ok := bytes.Cut(p, []byte{0})
		if !ok {
			s.rest = append(s.rest, p...)
			return n, nil
		}
		s.visit(string(append(s.rest, head...)))
		s.rest, p = s.rest[:0], tail
	}
}

// config returns the value of a configuration variable, read with options such as --type=bool.
func (r Repo) config(ctx context.Context, name string, options ...string) (value string, set bool, err error) {
	args := append([]string{"config"}, options...)
	value, err = r.output(ctx, append(args, "--get", name)...)
	if failed, ok := errors.AsType[*gitError](err); ok && failed.code == 1 {
		return "", false, nil
	}
	return value, err == nil, err
}

// path returns where git keeps name, such as MERGE_HEAD or hooks. It may not exist.
func (r Repo) path(ctx context.Context, name string) (string, error) {
	path, err := r.output(ctx, "rev-parse", "--git-path", name)
	return r.abs(path), err
}

// abs makes absolute a path that git gave relative to the directory in which it ran.
func (r Repo) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	abs, err := filepath.Abs(filepath.Join(r.dir, path))
	if err != nil {
		return path
	}
	return abs
}
