"""power: what was granted, renewed and given up survives a power cut, where every grant is synced.

The rule
    The content of a file is synced before it is renamed into its place, always, so a power cut leaves the old
    record or the new one and never half of one. A grant is told to nobody before the directory of the lease is
    synced too. A tombstone's directory is synced before its lease is unlinked: they are two directories, and
    the unlink may reach the disk alone. A lease whose generation is not above its tombstone's has been given
    up, because the unlink may also be lost alone. Then
      * no generation that was told is handed out again,
      * no record is half,
      * what was given up, and told so, is not held again.

What is explored
    One key; grant, renewal, release, release on a full disk, takeover of what a killed process left; kills
    between any two steps; power cuts at any moment, each with every disk that it may leave (disk.py), after
    which all goes on. The rules of a ledger where grants are not synced are in grants.py.

The code
    grant       ledgerfs/tx.go (*tx).Put with lasting: ledgerfs/write.go (*Ledger).writeChecked
                (makeTemp, Rename), then (*Ledger).syncAfter
    renewal     (*tx).Put without lasting: care "synced", no syncAfter
    give up     (*tx).Bury: save of the tombstone with care "durable", then Remove of the lease;
                called by fslease/keepers-free (processTenure).end in fslease/tenure.go, and (*acquisition).write
    full disk   ledgerfs/tx.go (*tx).buryInPlace: Rename, then syncAfter on both sides
    what counts fslease/record.go (State).Current and (State).Generation
    next        ledgerfs/tx.go (*tx).NextGeneration

fault grant-not-synced: the directory is not synced before a grant is told; its generation comes again
fault renewal-not-synced: a renewal does not sync the file; the record may be half, and its generation is lost
fault tombstone-not-whole: the tombstone's content is not synced before its rename; it may be half
fault unlink-before-sync: the lease is unlinked before the tombstone's directory is synced; both may be gone
fault tombstone-ignored: a lease counts although its tombstone has its generation; what was given up is back
fault in-place-not-synced: the release on a full disk does not sync; what was given up is back
"""
from typing import NamedTuple

from disk import TORN, Disk
from explore import Wrong, main

LEASE, TOMB = "leases/k", "tombstones/k"


class State(NamedTuple):
    disk: Disk = Disk()
    doing: str = ""  # what the one process that has the lock is about to do; "": nobody has it
    holds: int = 0  # generation of a process that was told that it holds
    told: int = 0  # highest generation that anybody was told
    ended: int = 0  # highest generation of which it was told that it was given up
    grants: int = 0
    kills: int = 0
    cuts: int = 0


class Power:
    environment = ("kill", "power")

    def __init__(self, fault, grants, kills, cuts):
        self.fault, self.grants, self.kills, self.cuts = fault, grants, kills, cuts

    def start(self):
        return State()

    def ended(self, state):
        return True

    def record(self, disk):
        """Generation and whether it is held, as fslease.State tells it."""
        lease, tomb = disk.read(LEASE) or 0, disk.read(TOMB) or 0
        counts = lease > 0 and (lease > tomb or self.fault == "tombstone-ignored")
        return max(lease, tomb), lease if counts else 0

    def wrong(self, s):
        if TORN in (s.disk.read(LEASE), s.disk.read(TOMB)):
            return "a record is half"
        if not s.doing and 0 < self.record(s.disk)[1] <= s.ended:
            return "what was given up is held"
        return None

    def steps(self, s):
        if s.doing:
            yield getattr(self, s.doing.replace(" ", "_"))(s)
            if s.kills < self.kills:
                yield "kill", s._replace(doing="", holds=0, kills=s.kills + 1)
        else:
            yield from self.begin(s)
            if s.holds and s.kills < self.kills:
                yield "kill", s._replace(holds=0, kills=s.kills + 1)
        if s.cuts < self.cuts:
            for disk in s.disk.after_power_cut():
                yield "power cut", s._replace(disk=disk, doing="", holds=0, cuts=s.cuts + 1)

    def begin(self, s):
        held = self.record(s.disk)[1]
        if s.holds:
            yield "lock to renew", s._replace(doing="renew")
            yield "lock to give up", s._replace(doing="bury")
            yield "lock to give up on a full disk", s._replace(doing="bury in place")
        elif s.grants < self.grants:
            yield "lock to acquire", s._replace(doing="bury" if held else "grant", grants=s.grants + 1)

    # Each step returns its name and what comes of it. Who buries without holding goes on to a grant.

    def grant(self, s):
        generation = self.record(s.disk)[0] + 1
        if generation <= s.told:
            return "grant", Wrong(f"generation {generation} is handed out again")
        return f"write lease {generation}", s._replace(disk=s.disk.write(LEASE, generation), doing="sync grant")

    def sync_grant(self, s):
        disk = s.disk if self.fault == "grant-not-synced" else s.disk.sync("leases")
        generation = s.disk.read(LEASE)
        return f"sync, tell {generation}", s._replace(disk=disk, doing="", holds=generation, told=generation)

    def renew(self, s):
        whole = self.fault != "renewal-not-synced"
        return "write the renewal", s._replace(disk=s.disk.write(LEASE, s.holds, whole), doing="")

    def bury(self, s):
        generation = self.record(s.disk)[1]
        whole = self.fault != "tombstone-not-whole"
        after = "unlink" if self.fault == "unlink-before-sync" else "sync tombstone"
        return f"write tombstone {generation}", s._replace(disk=s.disk.write(TOMB, generation, whole), doing=after)

    def sync_tombstone(self, s):
        after = "tell" if self.fault == "unlink-before-sync" else "unlink"
        return "sync the tombstone", s._replace(disk=s.disk.sync("tombstones"), doing=after)

    def unlink(self, s):
        after = "sync tombstone" if self.fault == "unlink-before-sync" else "tell"
        return "unlink the lease", s._replace(disk=s.disk.remove(LEASE), doing=after)

    def bury_in_place(self, s):
        return "rename the lease to the tombstone", s._replace(disk=s.disk.move(LEASE, TOMB), doing="sync in place")

    def sync_in_place(self, s):
        disk = s.disk
        if self.fault != "in-place-not-synced":
            disk = disk.sync("tombstones").sync("leases")
        return "sync both directories", s._replace(disk=disk, doing="tell")

    def tell(self, s):
        if not s.holds:
            return "go on", s._replace(doing="grant")
        return f"tell that {s.holds} was given up", s._replace(doing="", ended=s.holds, holds=0)


def scenes(fault, size):
    if size == "short":
        yield "one key", Power(fault, grants=3, kills=1, cuts=1)
    else:
        yield "one key", Power(fault, grants=4, kills=3, cuts=3)


if __name__ == "__main__":
    main(__doc__, scenes)
