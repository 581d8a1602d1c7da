package power

import (
	"strconv"
	"strings"

	"fslease/internal/crashstate"
)

// failures lets one sync of a file fail, in some of the commands, each from how things stood before it. What the kernel
// could not write it forgets: a second sync of the same file succeeds, and nothing is on the disk. So a command either
// says that it failed, or what it said is true in spite of a power cut.
func (b *bench) failures() {
	type sync struct{ step, nth int } // which of all syncs of a command
	var files []sync
	for i, m := range b.before {
		for nth, name := range m.syncs {
			if name != "" && !strings.HasSuffix(name, "/") {
				files = append(files, sync{i, nth + 1})
			}
		}
	}
	for range b.Scale(4) {
		if len(files) == 0 || b.Ended() {
			return
		}
		s := files[b.rand.IntN(len(files))]
		b.failed(b.steps[s.step], b.before[s.step], s.nth)
	}
}

func (b *bench) failed(s step, m moment, nth int) {
	if err := renewed(b.ledger.Dir, m.tree); err != nil {
		panic(err)
	}
	disk := crashstate.New(m.tree)
	var keys, tickets crashstate.Story
	for k, state := range m.keys {
		keys.Did(k, 0, 0, state)
		keys.Told(k, 0, m.told[k])
	}
	for id, state := range m.tickets {
		tickets.Did(id, 0, 0, state)
	}
	tokens := b.tokens
	b.tokens = m.told
	defer func() { b.tokens = tokens }()
	r, result, err := b.traced(disk, b.words(s), "-e", "inject=fsync:error=EIO:when="+strconv.Itoa(nth))
	if err != nil {
		b.Violate("%s: %v\n%s", b.task, err, result)
		return
	}
	b.Made("failed syncs", 1)
	b.told(s, &keys, r, result, 0)
	to := disk.Len()
	if result.Code != 0 || result.Stderr != "" { // run ends as its command does, and says what else went wrong
		to++ // it said that it is not done, so it may be or not
	}
	b.did(s, &keys, &tickets, 0, to, b.read())
	b.look(disk, disk.Len(), 10, &keys, &tickets, ", after sync "+strconv.Itoa(nth)+" of "+strings.Join(s.args, " ")+" failed")
}
