package ledgerfs

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystem is what is known of a kind of file system.
type fileSystem struct {
	name  string
	short string // why what lies on it does not last; "" if it does
}

var fileSystems = map[int64]fileSystem{
	unix.EXT4_SUPER_MAGIC:      {name: "ext4"},
	unix.XFS_SUPER_MAGIC:       {name: "xfs"},
	unix.BTRFS_SUPER_MAGIC:     {name: "btrfs"},
	unix.F2FS_SUPER_MAGIC:      {name: "f2fs"},
	0x2fc12fc1:                 {name: "zfs"},
	unix.TMPFS_MAGIC:           {"tmpfs", "it is gone with the next boot"},
	unix.RAMFS_MAGIC:           {"ramfs", "it is gone with the next boot"},
	unix.OVERLAYFS_SUPER_MAGIC: {"overlay", "in a container it is gone with the container"},
}

// Below these a file system is nearly full.
const (
	fewBytes  = 16 << 20
	fewInodes = 1000
)

// place looks at the file system that the ledger lies on.
func (e *examination) place() {
	var st unix.Statfs_t
	if err := ignoreEINTR(func() error { return unix.Fstatfs(e.l.dir.root, &st) }); err != nil {
		e.trouble("filesystem", Broken, e.l.fail("", err))
		return
	}
	kind, known := fileSystems[int64(st.Type)]
	switch {
	case !e.l.local():
		e.warn("filesystem", "it is "+e.l.network+", a network file system: locks hold as far as that one keeps them, every grant is synced, waiters poll, and holders are judged by their TTL alone",
			"keep the ledger on a local disk if all who use it are on one machine")
	case kind.short != "":
		e.warn("filesystem", "it is "+kind.name+": "+kind.short+", and then generations begin anew, below tokens that were handed out",
			"keep the ledger on a disk if anything outside remembers tokens")
	case known:
		e.ok("filesystem", "%s", kind.name)
	default:
		e.ok("filesystem", "of the kind 0x%x, which is local", uint32(st.Type))
	}
	e.readOnly = st.Flags&unix.ST_RDONLY != 0
	e.space(st)
}

// space looks what room is left for somebody without privileges. Some file systems have no number of
// inodes to run out of.
func (e *examination) space(st unix.Statfs_t) {
	bytes := st.Bavail * uint64(st.Bsize)
	room := size(bytes) + " free"
	if st.Files > 0 {
		room += fmt.Sprintf(", %d inodes", st.Ffree)
	}
	const hint = "free some: releasing works on a full disk, granting and renewing do not"
	switch {
	case e.readOnly:
	case st.Blocks > 0 && bytes == 0 || st.Files > 0 && st.Ffree == 0:
		e.broken("space", "the file system is full: "+room, hint)
	case st.Blocks > 0 && bytes < fewBytes || st.Files > 0 && st.Ffree < fewInodes:
		e.warn("space", "the file system is nearly full: "+room, hint)
	default:
		e.ok("space", "%s", room)
	}
}

// size writes a number of bytes for people.
func size(n uint64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	default:
		return fmt.Sprintf("%d KiB", n>>10)
	}
}
