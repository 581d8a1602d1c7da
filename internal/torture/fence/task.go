package fence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// keys are those that tasks use: several trees, with ancestors and descendants.
var keys = []string{"repo", "repo/api", "repo/api/v2", "repo/web", "db", "db/users"}

// outer is the key of a run around others.
const outer = "outer"

// overlapping returns those of keys, and outer, that overlap one of these.
func overlapping(held ...string) []string {
	return slices.DeleteFunc(append(slices.Clone(keys), outer), func(k string) bool {
		return !slices.ContainsFunc(held, func(key string) bool {
			return strings.HasPrefix(k+"/", key+"/") || strings.HasPrefix(key+"/", k+"/")
		})
	})
}

// A task is a piece of work and the way in which it is put under a lease.
type task struct {
	form    form
	keys    []string
	options []string
	seconds string
	family  []string // descendants: wait SECONDS for a child that is waited for, leave SECONDS for a daemon
	heeds   bool     // a signal to end is heeded by an orderly exit
}

// A form is how a command gets under the fence of a key.
type form string

const (
	plain   form = "run"
	detach  form = "setsid"         // the command has a session of its own
	redir   form = "redirections"   // a shell takes the descriptors 3 to 40 for itself
	few     form = "ulimit"         // no more than 40 descriptors
	tree    form = "tree"           // --fence=tree
	exec    form = "exec"           // --exec
	nested  form = "nested"         // a run in a run
	joins   form = "joins"          // fenced in a run
	fenced  form = "fenced"         // under the token of acquire
	closing form = "python"         // whose child has no fence
	closer  form = "python-closing" // which has closed its fence
)

// forms are those that lease's users are free to take.
var forms = []form{plain, detach, redir, few, tree, exec, nested, joins, fenced, closing}

// scripts start a task: WRAPPER is the run with its options and keys, "$@" the work.
var scripts = map[form]string{
	plain:   `exec lease run OPTIONS KEYS -- "$@"`,
	detach:  `exec lease run OPTIONS KEYS -- setsid "$@"`,
	redir:   `exec lease run OPTIONS KEYS -- bash -c 'for fd in {3..40}; do eval "exec $fd>shell"; done; exec "$@"' bash "$@"`,
	few:     `ulimit -n 40; exec lease run OPTIONS KEYS -- "$@"`,
	tree:    `exec lease run --fence=tree OPTIONS KEYS -- "$@"`,
	exec:    `exec lease run --exec OPTIONS KEYS -- "$@"`,
	nested:  `exec lease run OPTIONS ` + outer + ` -- lease run OPTIONS KEYS -- "$@"`,
	joins:   `exec lease run OPTIONS KEYS -- sh -c 'exec lease fenced "$LEASE_KEY" --token "$LEASE_TOKEN" -- "$@"' sh "$@"`,
	fenced:  `token=$(lease acquire OPTIONS --pid $$ KEYS) && lease fenced KEYS --token "$token" -- "$@"; code=$?; lease release KEYS --token "$token"; exit $code`,
	closing: `exec lease run OPTIONS KEYS -- python3 -c 'import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))' "$@"`,
	closer:  `exec lease run OPTIONS KEYS -- python3 -c 'import os, sys; os.closerange(3, 4096); os.execvp(sys.argv[1], sys.argv[1:])' "$@"`,
}

func (k task) String() string {
	return fmt.Sprintf("[%s %s %s, %ss, %s]", k.form, strings.Join(k.options, " "), strings.Join(k.keys, " "), k.seconds, strings.Join(k.family, " "))
}

// command returns the shell script that starts the task, and its arguments.
func (k task) command() (string, []string) {
	script := strings.NewReplacer("OPTIONS", strings.Join(k.options, " "), "KEYS", strings.Join(k.keys, " ")).Replace(scripts[k.form])
	return `set -- sh "$WORK" "$@"; ` + script, append([]string{"command", k.seconds}, k.family...)
}

// env says to the work what it is.
func (k task) env() []string {
	var env []string
	if k.keeps() {
		env = append(env, "WORK_TREE=1")
	}
	if k.form == closing {
		env = append(env, "WORK_PARENT=1")
	}
	if k.heeds {
		env = append(env, "WORK_HEED=1")
	}
	return env
}

// held returns the keys under which the work is done.
func (k task) held() []string {
	if k.form == nested {
		return append([]string{outer}, k.keys...)
	}
	return k.keys
}

// keeps reports whether the fence lasts for what a command leaves behind.
func (k task) keeps() bool { return k.form == tree || k.form == exec }

// randomTask is short work with a few descendants, under one key or two.
func randomTask(r *rand.Rand) task {
	k := task{form: pick(r, forms), keys: []string{pick(r, keys)}, seconds: pick(r, []string{"0", "0.01", "0.03", "0.08"}), heeds: r.IntN(4) == 0}
	if second := pick(r, keys); r.IntN(3) == 0 && k.form != fenced && !slices.Contains(overlapping(k.keys[0]), second) {
		k.keys = append(k.keys, second)
	}
	for range r.IntN(3) {
		if k.form == closing {
			break // the descendants have no fence
		}
		k.family = append(k.family, pick(r, []string{"wait", "leave"}), pick(r, []string{"0.02", "0.06", "0.15"}))
	}
	if k.form != exec && k.form != fenced && r.IntN(2) == 0 {
		k.options = append(k.options, "--ttl", pick(r, []string{"20s", "300s"}))
	}
	return k
}

func pick[E any](r *rand.Rand, from []E) E { return from[r.IntN(len(from))] }
