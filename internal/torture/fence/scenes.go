package fence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"
)

// scenes are endings of a command whose order of events is certain. What must hold after each is known.
var scenes = []func(*site, *rand.Rand){killedWrapper, killedCommand, toldWrapper, leftBehind, kept, closed, brokenWhileWaiting, crowded}

const long = "600" // seconds: as long as the scene wants

// killedWrapper: the wrapper is killed. The fence lasts until the last process that inherited it is gone.
func killedWrapper(s *site, r *rand.Rand) {
	w := s.start(task{form: pick(r, []form{plain, detach, redir, few, tree, exec, nested}), keys: []string{pick(r, keys)}, seconds: long, family: []string{"wait", long}})
	child := w.untilMarked("child", 1)
	if child == nil {
		return
	}
	delay(r)
	if s.Signal(w.Process.Process.Pid, syscall.SIGKILL) {
		s.t.Made(kills, 1)
	}
	<-w.Ended()
	if command := w.marked("command"); r.IntN(2) == 0 && w.task.form != nested && !gone(command[0]) {
		s.refused(r, w, command[0], child[0])
	}
	s.end(w.besides(child...)...)
	s.refused(r, w, child[0])
	s.end(child...)
	s.free(r, w)
}

// killedCommand: a signal ends the command, and its child lives on. The wrapper gives the lease back, and the fence lasts for the child.
func killedCommand(s *site, r *rand.Rand) {
	k := task{form: pick(r, []form{plain, detach, redir, few, tree, exec, nested, joins, fenced}), keys: []string{pick(r, keys)}, seconds: long, family: []string{"wait", long}}
	w := s.start(k)
	child, command := w.untilMarked("child", 1), w.untilMarked("command", 1)
	if child == nil || command == nil {
		return
	}
	delay(r)
	sig := pick(r, []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGSEGV, syscall.SIGUSR1})
	if s.Signal(command[0], sig) {
		s.t.Made(kills, 1)
	}
	result := w.Wait()
	if k.form != exec && result.Code != 128+int(sig) || k.form == exec && result.Signal != sig {
		s.t.Violate("the command of %v was ended by %v: %v", w.task, sig, result)
	}
	s.end(w.besides(child...)...) // the sleep of the command
	s.refused(r, w, child[0])
	s.end(child...)
	s.free(r, w)
}

// toldWrapper: the wrapper is asked to end, and the command ends in good order but leaves its child. It has not ended by itself.
func toldWrapper(s *site, r *rand.Rand) {
	w := s.start(task{form: pick(r, []form{plain, detach, redir, few, tree, nested}), keys: []string{pick(r, keys)}, seconds: long, family: []string{"wait", long}, heeds: true})
	child := w.untilMarked("child", 1)
	if child == nil {
		return
	}
	delay(r)
	if s.Signal(w.Process.Process.Pid, pick(r, []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT})) {
		s.t.Made("wrappers asked to end", 1)
	}
	if result := w.Wait(); result.Code != 0 || !w.has("heeded") {
		s.t.Violate("the command of %v was to heed the signal and exit with 0, not 128+n: %v", w.task, result)
	}
	s.end(w.besides(child...)...)
	s.refused(r, w, child[0])
	s.end(child...)
	s.free(r, w)
}

// leftBehind: the command ends by itself. What it leaves behind keeps nothing.
func leftBehind(s *site, r *rand.Rand) {
	w := s.start(task{form: pick(r, []form{plain, detach, redir, few, nested, joins, fenced, closing}), keys: []string{pick(r, keys)}, seconds: "0", family: []string{"leave", long, "leave", long}})
	if result := w.Wait(); result.Code != 0 {
		s.t.Violate("%v: %v", w.task, result)
	}
	w.untilMarked("child", 2)
	s.t.Made("daemons left behind", 2)
	s.free(r, w)
}

// kept is leftBehind where the fence is that of the whole tree.
func kept(s *site, r *rand.Rand) {
	w := s.start(task{form: pick(r, []form{tree, exec}), keys: []string{pick(r, keys)}, seconds: "0", family: []string{"leave", long}})
	if result := w.Wait(); result.Code != 0 {
		s.t.Violate("%v: %v", w.task, result)
	}
	child := w.untilMarked("child", 1)
	if child == nil {
		return
	}
	s.t.Made("daemons left behind", 1)
	s.refused(r, w, child[0])
	s.end(child...)
	s.free(r, w)
}

// closed: the wrapper is killed, and its command has closed the fence. It is waited for by its note.
func closed(s *site, r *rand.Rand) {
	w := s.start(task{form: closer, keys: []string{pick(r, keys)}, seconds: long})
	command := w.untilMarked("command", 1)
	if command == nil || !s.Until("the command is noted", func() bool { return len(s.ledgerFiles("holders/*.command.json")) > 0 }) {
		return
	}
	if s.Signal(w.Process.Process.Pid, syscall.SIGKILL) {
		s.t.Made(kills, 1)
	}
	<-w.Ended()
	for range 1 + r.IntN(2) { // who gives up leaves the wait to the next one
		s.refused(r, w, command[0])
	}
	s.end(command...)
	s.free(r, w)
}

// brokenWhileWaiting: a run has its lease and waits for the fence. The lease is broken: its command never starts.
func brokenWhileWaiting(s *site, r *rand.Rand) {
	key := pick(r, keys)
	w := s.start(task{form: plain, keys: []string{key}, seconds: long, family: []string{"wait", long}})
	child := w.untilMarked("child", 1)
	if child == nil {
		return
	}
	s.Signal(w.Process.Process.Pid, syscall.SIGKILL)
	s.t.Made(kills, 1)
	next := s.start(task{form: plain, keys: []string{key}, options: []string{"--ttl", "900s"}, seconds: "0"})
	if !s.Until("the next run has the lease", func() bool { return s.Run("check", key, "--token", "2").Code == 0 }) {
		return
	}
	if b := s.Run("break", key, "--reason", "torture"); b.Code != 0 {
		s.t.Violate("%v", b)
	}
	s.end(w.besides()...)
	if result := next.Wait(); result.Code != 76 || next.has("ran") {
		s.t.Violate("a run whose lease was broken while it waited for the fence is to say so, and not to start its command (started: %v): %v", next.has("ran"), result)
	}
	s.free(r, w)
}

// crowded: many wait for the last process of a killed run, on keys that overlap. They name it, and start when it is gone.
func crowded(s *site, r *rand.Rand) {
	w := s.start(task{form: pick(r, []form{plain, redir, few}), keys: []string{pick(r, keys)}, seconds: long, family: []string{"wait", long}})
	child := w.untilMarked("child", 1)
	if child == nil {
		return
	}
	var all []*work
	for range 8 {
		all = append(all, s.start(task{form: pick(r, []form{plain, redir, tree, joins}), keys: []string{pick(r, overlapping(w.task.keys[0]))}, options: []string{"--ttl", "300s"}, seconds: "0"}))
	}
	delay(r)
	s.Signal(w.Process.Process.Pid, syscall.SIGKILL)
	s.t.Made(kills, 1)
	s.end(w.besides(child...)...)
	s.Until(fmt.Sprintf("somebody who waits names pid %d", child[0]), func() bool {
		return slices.ContainsFunc(all, func(next *work) bool {
			return next.has("ran") || strings.Contains(next.Err.String(), fmt.Sprintf("pid %d ", child[0]))
		})
	})
	for _, next := range all {
		if next.has("ran") {
			s.t.Violate("%v started beside pid %d of %v", next.task, child[0], w.task)
		}
	}
	s.end(child...)
	for _, next := range all {
		if result := next.Wait(); result.Code != 0 || !next.has("ran") {
			s.t.Violate("%v is to run once %v is gone: %v", next.task, w.task, result)
		}
	}
}

// refused wants that nothing starts beside what is left of w, without waiting, and that the pids in the way are named.
func (s *site) refused(r *rand.Rand, w *work, pids ...int) {
	next := s.start(task{form: pick(r, []form{plain, tree, redir}), keys: []string{pick(r, overlapping(w.task.held()...))}, options: []string{"-n"}, seconds: "0"})
	result := next.Wait()
	if result.Code != 75 || next.has("ran") {
		s.t.Violate("%v must not start beside pids %v of %v (started: %v): %v", next.task, pids, w.task, next.has("ran"), result)
	}
	for _, pid := range pids {
		if result.Code == 75 && !strings.Contains(result.Stderr, fmt.Sprintf("pid %d ", pid)) {
			s.t.Violate("%v does not name pid %d of %v: %v", next.task, pid, w.task, result)
		}
	}
	s.t.Made("starts refused", 1)
}

// free wants that nothing of w is in the way any more.
func (s *site) free(r *rand.Rand, w *work) {
	next := s.start(task{form: pick(r, []form{plain, tree, exec}), keys: []string{pick(r, overlapping(w.task.held()...))}, options: []string{"-n"}, seconds: "0"})
	if result := next.Wait(); result.Code != 0 || !next.has("ran") {
		s.t.Violate("nothing of %v is left that keeps its fence, and %v must start (started: %v): %v", w.task, next.task, next.has("ran"), result)
	}
	if notes := s.ledgerFiles("orphans/*.json"); len(notes) > 0 {
		s.t.Violate("after %v and %v notes of commands that are gone are left: %v", w.task, next.task, notes)
	}
}

// delay waits up to 20 ms, so that a kill hits any step of the wrapper.
func delay(r *rand.Rand) { time.Sleep(time.Duration(r.Int64N(int64(20 * time.Millisecond)))) }
