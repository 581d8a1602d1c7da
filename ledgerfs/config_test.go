package ledgerfs

import (
	"math/rand/v2"
	"syscall"
	"testing"

	"fslease/fslease"
	"fslease/internal/crashstate"
)

// cutShort is a file system whose program gets no further than to the sync of the ledger's own folder.
type cutShort struct{ fsys }

func (c cutShort) SyncDir(name string) error {
	if name == "." {
		return syscall.EIO
	}
	return c.fsys.SyncDir(name)
}

// TestOthersConfigIsMadeSure: a program is killed when its ledger.json has its name, but may be lost. What others are granted
// under it must not come again.
func TestOthersConfigIsMadeSure(t *testing.T) {
	for name, first := range map[string]config{
		"the ceiling": {Schema: fslease.Schema, ID: newID(), BootID: "boot-1"},
		"the boot":    {Schema: fslease.Schema, ID: newID(), Ceiling: generationStep},
	} {
		t.Run(name, func(t *testing.T) {
			dir := realDir(t)
			m := start(t, dir, crashstate.Tree{configFile: string(first.encode()), leasesDir + "/": "", tombstonesDir + "/": ""}, 1, true)
			killed := m.program()
			killed.Ledger.fsys = cutShort{killed.Ledger.fsys}
			if _, err := killed.Acquire(ctx, "other"); err == nil {
				t.Fatal("it was not cut short")
			}
			m.kill(killed)
			l, err := m.program().Acquire(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			told := l.Token()
			var trees []crashstate.Tree
			for tree := range m.disk.States(m.disk.Len(), 1000, rand.New(rand.NewPCG(1, 2))) {
				trees = append(trees, tree)
			}
			m.off()
			for _, tree := range trees {
				next := start(t, dir, tree, 2, true)
				l, err := next.program().Acquire(ctx, "k")
				if err != nil {
					t.Fatal(err)
				}
				if l.Token() <= told {
					t.Errorf("generation %d was told, and after the power cut %d", told, l.Token())
				}
				next.off()
			}
			t.Logf("%d disks", len(trees))
		})
	}
}
