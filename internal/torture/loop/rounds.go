package loop

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fslease/internal/crashstate"
	"fslease/internal/torture/kit"
	"fslease/internal/torture/power"
)

// A site is one file system with a ledger on it.
type site struct {
	*kit.T
	kind
	disk   *disk
	ledger *kit.Ledger
	keys   crashstate.Story // generations that were told in earlier rounds, or by tickets
}

// rounds makes a file system, and shuts it down so many times. Its error says that there can be none here.
func rounds(t *kit.T, k kind, n int) error {
	d, err := newDisk(t, k)
	if d != nil {
		defer d.remove()
	}
	if err == nil {
		err = d.mount()
	}
	if err != nil {
		return err
	}
	s := &site{T: t, kind: k, disk: d, ledger: t.LedgerIn(d.at)}
	defer s.ledger.Kill()
	if err := os.Mkdir(s.ledger.Dir, 0o700); err != nil {
		return err
	}
	if err := d.sync(); err != nil {
		return err
	}
	for i := range n {
		if t.Ended() || !s.round(i) {
			break
		}
	}
	return nil
}

// round lets the workers work, shuts the file system down, and goes on from what is left.
func (s *site) round(i int) bool {
	how := []int{0, 1, 2, 2, 2}[s.IntN(5)]
	before := power.OnBoot(s.ledger, fmt.Sprintf("boot-%d", 2*i), true)
	logs := make([]string, workers)
	for w := range workers {
		logs[w] = filepath.Join(s.Dir, fmt.Sprintf("log-%s-%d-%d", filepath.Base(s.disk.image), i, w))
		before.StartSh(work(rand.New(rand.NewPCG(s.Uint64(), 0)), i, w), logs[w])
	}
	enough := 1 + s.IntN(300)
	s.ledger.Until("the workers work", func() bool { return len(lines(logs)) >= enough })
	time.Sleep(time.Duration(s.IntN(10_000)) * time.Microsecond)
	failed := strings.Join(lines(logs), "")
	err := s.disk.shutdown(how)
	if err == nil && (strings.Contains(failed, "end 74") || strings.Contains(failed, "end 125")) {
		err = fmt.Errorf("a command failed before the file system was shut down")
	}
	s.Made("shutdowns of "+s.name, 1)
	s.ledger.Kill()
	if err == nil {
		err = s.disk.unmount()
	}
	if err == nil {
		err = s.disk.mount()
	}
	if err == nil {
		err = s.after(power.OnBoot(s.ledger, fmt.Sprintf("boot-%d", 2*i+1), true), logs)
	}
	if err != nil {
		s.Violate("%s, round %d, shut down so that %s: %v\nthe workers noted:\n%s", s.name, i, shutdowns[how], err, notes(logs))
		return false
	}
	for _, log := range logs {
		_ = os.Remove(log)
		_ = os.Remove(log + ".err")
	}
	return true
}

// after checks what is left, in another boot.
func (s *site) after(then *kit.Ledger, logs []string) error {
	tree, err := crashstate.Read(s.ledger.Dir)
	if err != nil {
		return err
	}
	var keys, tickets crashstate.Story
	for _, k := range s.keys.Things() {
		keys.Told(k, 0, s.keys.Highest(k, cut))
	}
	for _, log := range logs {
		if err := noted(log, &keys, &tickets, tree); err != nil {
			return err
		}
	}
	a := &power.Aftermath{Ledger: then, Tree: tree, Keys: &keys, Tickets: &tickets, Cut: cut, Lax: true, Genuine: true, Rand: s.Rand}
	if err := a.Check(); err != nil {
		return err
	}
	if r := then.Run("ls", "--all"); r.Code != 0 {
		return fmt.Errorf("not every record can be read: %s", r)
	}
	// What was taken to see whether it can be had is given up, and its generation is known from now on.
	for _, k := range keys.Things() {
		s.keys.Did(k, 0, ended, power.Free)
		s.keys.Told(k, 0, keys.Highest(k, cut))
		if r := then.Run("break", k, "--reason", "seen"); r.Code > 1 { // 1: nobody has it
			return fmt.Errorf("%s", r)
		}
	}
	return s.disk.sync()
}

// lines are those that the workers noted so far.
func lines(logs []string) (all []string) {
	for _, log := range logs {
		data, _ := os.ReadFile(log) // it may not have begun
		for line := range strings.Lines(string(data)) {
			all = append(all, line)
		}
	}
	return all
}

// notes are the last lines of each worker's notes, and what its commands said.
func notes(logs []string) string {
	out := ""
	for w, log := range logs {
		for _, name := range []string{log, log + ".err"} {
			data, _ := os.ReadFile(name) // for people only
			out += fmt.Sprintf("worker %d: ...%s\n", w, data[max(0, len(data)-700):])
		}
	}
	return out
}
