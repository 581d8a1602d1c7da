package scarcity

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fslease/internal/torture/kit"
)

// A teller plays one story and knows what was promised in it.
type teller struct {
	*kit.T
	want want
	l    *kit.Ledger // in plenty
	poor *kit.Ledger // in want
	held map[string]string
	last map[string]int64 // the highest generation that was ever printed, by key
}

// An act is a command with what it says when it cannot: 74, and 125 of run.
type act struct {
	args []string
	cant int
}

func story(t *kit.T, w want) {
	l := t.Ledger()
	defer l.Close()
	if w.as != 0 {
		l = l.In("setpriv", "--reuid", fmt.Sprint(w.as), "--regid", fmt.Sprint(w.as), "--clear-groups")
	}
	s := &teller{T: t, want: w, l: l, poor: l, held: map[string]string{}, last: map[string]int64{}}
	if w.before != nil {
		if err := w.before(t, l); err != nil {
			t.NotRun("%s: %v", w.name, err)
			return
		}
	}
	if w.name != "16 KiB from the start" {
		for _, a := range plenty {
			if r := s.run(l, a); r.Code != 0 {
				s.Violate("before %s: %v", w.name, r)
				return
			}
		}
	}
	poor, end, err := w.begin(t, l)
	if err != nil {
		t.Violate("%s cannot be made: %v", w.name, err)
		return
	}
	s.poor = poor
	acts := slices.Clone(scarce)
	t.Shuffle(len(acts), func(i, j int) { acts[i], acts[j] = acts[j], acts[i] })
	for _, a := range append(acts, releases...) {
		if t.Ended() {
			break
		}
		s.play(a)
		t.Made("commands in want", 1)
	}
	if err := end(); err != nil {
		t.Violate("%s cannot be ended: %v", w.name, err)
		return
	}
	if !t.Ended() {
		s.after()
	}
}

// plenty is what is done before.
var plenty = []act{
	{[]string{"acquire", "--ttl", "1h", "held", "deep/er/held"}, 74},
	{[]string{"acquire", "--ttl", "1h", "kept"}, 74},
	{[]string{"run", "free", "--", "true"}, 125},
	{[]string{"ticket", "add", "1", "--scope", "repo/api"}, 74},
	{[]string{"ticket", "approve", "1"}, 74},
	{[]string{"ticket", "start", "1"}, 74},
	{[]string{"ticket", "add", "2", "--scope", "repo/web"}, 74},
	{[]string{"ticket", "approve", "2"}, 74},
	{[]string{"ticket", "add", "3"}, 74},
}

// scarce is what is tried in want, in any order. @KEY is the token of a key.
var scarce = []act{
	{[]string{"acquire", "-n", "--ttl", "1h", "free"}, 74},
	{[]string{"acquire", "-n", "--ttl", "1h", "kept"}, 74},
	{[]string{"acquire", "--ttl", "1h", "never/seen/before"}, 74},
	{[]string{"acquire", "-n", "--ttl", "1h", "two", "three/four"}, 74},
	{[]string{"acquire", "-n", "--ttl", "1h", "held/below"}, 74},
	{[]string{"run", "-n", "free/too", "--", "true"}, 125},
	{[]string{"run", "--wait", "50ms", "kept", "--", "true"}, 125},
	{[]string{"fenced", "kept", "--token", "@kept", "--", "true"}, 125},
	{[]string{"renew", "kept", "--token", "@kept"}, 74},
	{[]string{"transfer", "kept", "--token", "@kept", "--to-pid", fmt.Sprint(os.Getpid())}, 74},
	{[]string{"ticket", "add", "4", "--scope", "repo/four"}, 74},
	{[]string{"ticket", "approve", "3"}, 74},
	{[]string{"ticket", "start", "2"}, 74},
	{[]string{"ticket", "checkpoint", "1", "--token", "@ticket:1", "--note", "half way"}, 74},
	{[]string{"ticket", "review", "1", "--token", "@ticket:1"}, 74},
	{[]string{"ticket", "cancel", "3"}, 74},
	{[]string{"reconcile"}, 74},
	{[]string{"gc"}, 74},
	{[]string{"check", "kept"}, 74},
	{[]string{"show", "kept"}, 74},
	{[]string{"ls", "--all"}, 74},
	{[]string{"log"}, 74},
	{[]string{"ticket", "ls"}, 74},
	{[]string{"ticket", "show", "1"}, 74},
	{[]string{"wait", "-n", "kept"}, 74},
	{[]string{"break", "deep/er/held", "--reason", "in the way"}, 74},
}

var releases = []act{
	{[]string{"release", "kept", "--token", "@kept"}, 74},
	{[]string{"release", "held", "--token", "@held"}, 74},
	{[]string{"release", "deep/er/held", "--token", "@deep/er/held"}, 74},
}

// run runs a command and keeps in mind what it got.
func (s *teller) run(l *kit.Ledger, a act) kit.Result {
	args := slices.Clone(a.args)
	for i, arg := range args {
		if key, ok := strings.CutPrefix(arg, "@"); ok {
			args[i] = s.held[key]
			if args[i] == "" {
				args[i] = "1"
			}
		}
	}
	r := l.Run(args...)
	if r.Code != 0 {
		return r
	}
	switch args[0] {
	case "acquire", "transfer":
		keys := args[slices.Index(args, "1h")+1:]
		if args[0] == "transfer" {
			keys = args[1:2]
		}
		for line := range strings.Lines(r.Stdout) {
			token, key, many := strings.Cut(strings.TrimSpace(line), "\t")
			if !many {
				key = keys[0]
			}
			s.got(key, token, r)
		}
	case "ticket":
		if args[1] == "start" {
			s.got("ticket:"+args[2], strings.TrimSpace(r.Stdout), r)
		}
	case "release", "break":
		delete(s.held, args[1])
	}
	return r
}

func (s *teller) got(key, token string, r kit.Result) {
	g, err := strconv.ParseInt(token, 10, 64)
	if err != nil || g <= s.last[key] {
		s.Violate("%s: %s was granted as generation %q after %d\n%v", s.want.name, key, token, s.last[key], r)
	}
	if s.held[key] != "" && slices.Contains(r.Args, "acquire") {
		s.Violate("%s: %s was granted although generation %s holds it\n%v", s.want.name, key, s.held[key], r)
	}
	s.held[key], s.last[key] = token, g
}

// partly is said where a ticket was moved and the rest was not to be done.
var partly = regexp.MustCompile(`lease: ticket (\S+) is (\w+) now, and what follows from that is left to the next command`)

// play runs a command in want: it works, or it says what is missing and has changed nothing but what it says.
func (s *teller) play(a act) {
	before := records(s.l.Dir)
	had := s.held[a.args[1%len(a.args)]] != ""
	r := s.run(s.poor, a)
	switch {
	case r.Hung || r.Code < 0 || strings.Contains(r.Stderr, "goroutine "):
		s.Violate("%s: %v", s.want.name, r)
	case a.args[0] == "release" && s.want.releases && had && r.Code != 0:
		s.Violate("%s: what is held cannot be given back\n%v", s.want.name, r)
	case r.Code == a.cant:
		if problem := unclear(a, r, s.want.says); problem != "" {
			s.Violate("%s: %s\n%v", s.want.name, problem, r)
		}
		after := records(s.l.Dir)
		if m := partly.FindStringSubmatch(r.Stderr); m != nil && strings.Contains(after["tickets/"+m[1]+".json"], `"status": "`+m[2]+`"`) {
			return // what is done is said
		}
		if a.args[0] == "gc" {
			return // it does what it can
		}
		if changed := difference(before, after); changed != "" {
			s.Violate("%s: a command that failed changed %s\n%v", s.want.name, changed, r)
		}
	case r.Code != 0 && r.Code != 1 && r.Code != 75 && r.Code != 76:
		s.Violate("%s: exit %d is none that this may have\n%v", s.want.name, r.Code, r)
	}
}

// unclear says what is wrong with an error: it is one line with what and where, and one with what to do.
func unclear(a act, r kit.Result, says []string) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSuffix(r.Stderr, "\n"), "\n"), func(s string) bool {
		return strings.HasPrefix(s, "lease: waiting")
	})
	has := func(s string) bool { return strings.Contains(r.Stderr, s) }
	switch {
	case r.Stdout != "" && !slices.Contains(a.args, "ls") && a.args[0] != "log":
		return "it failed, but answers"
	case !slices.ContainsFunc(says, has):
		return fmt.Sprintf("the error says none of %q", says)
	case len(lines) < 2 || !strings.HasPrefix(lines[0], "lease: ") || !strings.HasPrefix(lines[len(lines)-1], "lease: hint: "):
		return "the error is not what is wrong and then what to do"
	case len(lines) > 2 && slices.Contains([]string{"acquire", "run", "release", "renew"}, a.args[0]):
		return "the error is told more than once"
	}
	return ""
}

// after is with plenty again.
func (s *teller) after() {
	done := func(args ...string) bool {
		r := s.run(s.l, act{args, 74})
		if r.Code != 0 {
			s.Violate("after %s: %v", s.want.name, r)
		}
		return r.Code == 0
	}
	for _, key := range slices.Sorted(maps.Keys(s.held)) {
		if !strings.HasPrefix(key, "ticket:") && !done("release", key, "--token", s.held[key]) {
			return
		}
	}
	for _, key := range []string{"free", "held", "kept", "deep/er/held", "never/seen/before", "two", "three/four"} {
		if !done("acquire", "-n", "--ttl", "1h", key) || !done("release", key, "--token", s.held[key]) {
			return
		}
	}
	for _, key := range []string{"free/too", "held/below", "kept"} {
		if !done("run", "-n", key, "--", "true") {
			return
		}
	}
	if !done("ticket", "add", "9", "--scope", "a/z") || !done("ticket", "approve", "9") || !done("ticket", "start", "9") ||
		!done("ticket", "done", "9", "--token", s.held["ticket:9"]) || !done("gc") {
		return
	}
	if r := s.l.Run("doctor"); r.Code != 0 {
		s.Violate("after %s: %v", s.want.name, r)
	}
	_ = filepath.WalkDir(s.l.Dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(name, filepath.Join(s.l.Dir, "holders")+"/") {
			s.Violate("after %s this is left: %s (%v)", s.want.name, name, err)
		}
		return nil
	})
}

// records are all files that say who holds what and how tickets stand.
func records(dir string) map[string]string {
	all := map[string]string{}
	for _, folder := range []string{"leases", "tickets", "sessions"} {
		_ = filepath.WalkDir(filepath.Join(dir, folder), func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(name, ".json") {
				data, _ := os.ReadFile(name)
				all[strings.TrimPrefix(name, dir+"/")] = string(data)
			}
			return nil
		})
	}
	// A lease that its tombstone outlived is none.
	for name, data := range all {
		if path, ok := strings.CutPrefix(name, "leases/"); ok {
			tomb, err := os.ReadFile(filepath.Join(dir, "tombstones", path))
			if err == nil && generation(string(tomb)) >= generation(data) {
				delete(all, name)
			}
		}
	}
	return all
}

func generation(record string) int64 {
	var r struct{ Generation int64 }
	_ = json.Unmarshal([]byte(record), &r)
	return r.Generation
}

// difference names the first file that is not the same, "" if all are.
func difference(before, after map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if after[name] != before[name] {
			return fmt.Sprintf("%s from\n%sto\n%s", name, before[name], after[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; !ok {
			return fmt.Sprintf("%s from nothing to\n%s", name, after[name])
		}
	}
	return ""
}
