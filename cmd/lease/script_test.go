package main_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScript runs the scripts of testdata/script: the tool as a user types it, one topic a file.
// They know three commands of ours beside those of testscript:
//
//	exits CODE PROGRAM [ARG...]   runs the program, which must end with just that exit code
//	until PROGRAM [ARG...]        runs the program again and again until it succeeds
//	json FILE FILTER              the jq filter must be true of the file (or of stdout, stderr)
func TestScript(t *testing.T) {
	t.Parallel()
	needs(t, "jq")
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("..", "..", "testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Dir(binary(t))+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scriptExits,
			"until": scriptUntil,
			"json":  scriptJSON,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: until PROGRAM [ARG...]")
	}
	for deadline := time.Now().Add(hangGuard); ts.Exec(args[0], args[1:]...) != nil; {
		if time.Now().After(deadline) {
			ts.Fatalf("still not so after %v: %s", hangGuard, strings.Join(args, " "))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: json FILE FILTER")
	}
	jq := exec.Command("jq", "-e", args[1])
	text := ts.ReadFile(args[0])
	if strings.TrimSpace(text) == "" { // of nothing at all jq takes everything for true
		ts.Fatalf("%s: there is no value", args[0])
	}
	jq.Stdin = strings.NewReader(text)
	if out, err := jq.CombinedOutput(); err != nil {
		ts.Fatalf("%s: not true: %s (%v)\n%s%s", args[0], args[1], err, out, text)
	}
}
