"""grants: no generation is handed out twice over power cuts, though grants to processes are not synced.

The rule
    ledger.json holds a ceiling C, a floor F and the boot during which grants may have gone unsynced. No
    generation above C is handed out; a key gets max(everything on record, F) + 1. What is bound to a process
    ends with the boot, so on a local file system whose boot id is the kernel's own (a "known" boot) its grants
    and its end go unsynced. For that
      1. C is durable before a generation up to it is handed out;
      2. before the first change of each known boot F moves up to C, durably: that is above everything that the
         boot before may have handed out and lost. In the same hold, before F moves, records that the power cut
         tore are set aside;
      3. on a boot that is not known, and after a boot that was, nobody can tell what was lost: each grant goes
         above C, and everything is synced;
      4. gc moves F up to C, durably, and syncs the folder of the lease, before it removes a tombstone;
      5. what outlives the boot (a lease without a process, a reservation) is synced, and before a process is granted
         its key the folder of leases is synced: the process's unsynced tombstone may be torn when it takes the place
         of the synced one, and with both gone the lease would count again if its unlink could be lost;
      6. who reads a ledger.json that another one has renamed into place but not synced yet (it is still at it,
         or was killed) relies on nothing in it before it has synced the directory itself.

What is explored
    Two keys, each with one process after another that acquires, for itself or for somebody without a process
    (acquire --ttl), and gives up; gc; kills between any two steps; power cuts at any moment with every disk
    that they may leave (disk.py), onto boots that are known or not.

The code
    settle   ledgerfs/boot.go (*Ledger).settleBoot, (*Ledger).setTornAside, called by (*Ledger).begin in tx.go
    next     ledgerfs/tx.go (*tx).NextGeneration; t.sure is rule 3
    raise    ledgerfs/config.go (*Ledger).raiseCeiling, changeConfig, writeConfig; configUnsynced is the mark of rule 6
    collect  ledgerfs/gckeys.go (*Ledger).raiseFloor, (*collector).oldTombstone, settleLease, clear
    care     ledgerfs/tx.go (*tx).care: which writes are synced; (*tx).Put, settleBuried, (*tx).Bury

fault floor-not-raised: a new boot does not raise the floor; what was granted unsynced comes again
fault torn-not-set-aside: a new boot leaves half records; the key is stuck
fault floor-before-torn: the floor moves before half records are set aside; a kill in between leaves the key stuck
fault ceiling-not-synced: a generation is handed out before its ceiling is durable
fault others-ceiling-trusted: a ceiling, floor or boot that another one has not synced yet is relied on
fault unknown-boot-trusted: a boot that is not known goes on above what is on record, which may not be all
fault gc-keeps-floor: tombstones are removed without raising the floor
fault gc-too-soon: gc does not sync the folder of the lease; its unlink is lost, its tombstone is collected, and what was given up is held again
fault all-unsynced: what outlives the boot is not synced either; a lease that was told is gone
fault unlink-not-synced: an unsynced tombstone takes the place of a synced one although the unlink of that one's lease may be lost; torn, and what was given up is held again
fault disk-fails-alone: (a limit, not a bug) the disk loses its unsynced writes while the machine runs on: the boot is the same, so nobody notices
"""
from typing import NamedTuple

from disk import TORN, Disk
from explore import Wrong, main

CONF = "top/ledger.json"
STEP = 2  # generations that one ceiling is good for (generationStep)


class Conf(NamedTuple):
    ceiling: int = 0
    floor: int = 0
    boot: int = 0  # the known boot during which grants may be unsynced; 0: none ever were


class Lease(NamedTuple):
    generation: int
    bound: bool  # to a process: means nothing after the boot


class Doing(NamedTuple):
    """What a process is about to do, under the lock of its key."""

    step: str = ""  # "": no process has the lock of this key
    conf: Conf = Conf()  # as it was read
    bound: bool = False
    next: int = 0  # the generation that it will hand out; 0 while it only gives up
    buried: int = 0  # the generation without a process that it gave up


class Key(NamedTuple):
    doing: Doing = Doing()
    alive: int = 0  # generation of the process that holds and lives
    told: int = 0  # the highest generation that anybody was told
    kept: int = 0  # generation without a process that was told, and not given up since
    ended: int = 0  # the highest generation without a process that was given up


class State(NamedTuple):
    disk: Disk
    keys: tuple
    boot: int = 1  # numbered; the odd ones are known
    locked: str = ""  # who has ledger.lock: the number of a key, or gc
    unsynced: bool = False  # ledger.json was renamed into place, and nobody has synced the directory since
    gc: str = ""
    grants: int = 0
    kills: int = 0
    cuts: int = 0
    collections: int = 0


class Grants:
    environment = ("kill", "power", "disk")

    def __init__(self, fault, keys=1, grants=3, kills=1, cuts=1, collections=0, boots=(True,)):
        self.fault, self.boots = fault, boots
        self.keys, self.grants, self.kills, self.cuts, self.collections = keys, grants, kills, cuts, collections

    def start(self):
        disk = Disk().write(CONF, Conf()).sync("top")
        return [State(disk, (Key(),) * self.keys, boot=1 if known else 2) for known in self.boots]

    def ended(self, s):
        return True

    def wrong(self, s):
        for i, key in enumerate(s.keys):
            lease, tomb = self.record(s, i)
            if TORN in (lease, tomb) or key.doing.step:
                continue
            held = lease if lease and lease.generation > tomb else None
            if held and not held.bound and held.generation <= key.ended:
                return f"generation {held.generation} of key {i} was given up, and is held again"
            if key.kept and (held is None or held.generation != key.kept):
                return f"generation {key.kept} of key {i} was told to outlive the boot, and is not on record"
        return None

    def record(self, s, i):
        return s.disk.read(f"leases/{i}"), s.disk.read(f"tombstones/{i}") or 0

    def known(self, s):
        return s.boot % 2 == 1

    # Steps.

    def steps(self, s):
        for i, key in enumerate(s.keys):
            if key.doing.step:
                yield from getattr(self, key.doing.step)(s, i, key, key.doing)
                if s.kills < self.kills:
                    yield f"kill {i}", self.put(s, i, doing=Doing(), alive=0)._replace(locked=self.unlocked(s, i), kills=s.kills + 1)
            else:
                yield from self.begin(s, i, key)
        yield from self.collect(s)
        if s.cuts < self.cuts:
            yield from self.cut(s)

    def begin(self, s, i, key):
        if s.grants < self.grants:
            for bound in (True, False):
                yield f"{i}: lock to acquire{'' if bound else ' for nobody'}", self.put(
                    s, i, doing=Doing("read", bound=bound, next=1))._replace(grants=s.grants + 1)
        if key.alive or key.kept:
            yield f"{i}: lock to give up", self.put(s, i, doing=Doing("read"))

    def read(self, s, i, key, doing):
        conf = s.disk.read(CONF)
        stale = self.known(s) and conf.boot != s.boot
        needs_sync = s.unsynced and self.fault != "others-ceiling-trusted"
        step = "settle" if stale else "sync_for_others" if needs_sync else "judge"
        yield f"{i}: read ledger.json", self.put(s, i, doing=doing._replace(step=step, conf=conf))

    def sync_for_others(self, s, i, key, doing):
        """Rule 6: under ledger.lock, so that whoever is still at it has ended."""
        if not s.locked:
            yield f"{i}: sync ledger.json for whoever wrote it", self.put(
                s._replace(disk=s.disk.sync("top"), unsynced=False), i, doing=doing._replace(step="read"))

    def settle(self, s, i, key, doing):
        if s.locked:
            return
        conf = s.disk.read(CONF)
        if conf.boot == s.boot:
            yield f"{i}: somebody settled the boot", self.put(s, i, doing=doing._replace(step="read"))
            return
        s = s._replace(locked=str(i))
        floor_first = self.fault == "floor-before-torn"
        yield f"{i}: lock ledger.json", self.put(s, i, doing=doing._replace(step="set_floor" if floor_first else "set_aside"))

    def set_aside(self, s, i, key, doing):
        disk = s.disk
        if self.fault != "torn-not-set-aside" and (s.disk.read(CONF).boot or self.fault == "floor-before-torn"):
            for name in [f"{d}/{k}" for d in ("leases", "tombstones") for k in range(self.keys)]:
                if disk.read(name) == TORN:
                    disk = disk.remove(name)
        after = "unlock" if self.fault == "floor-before-torn" else "set_floor"
        yield f"{i}: set aside what is torn", self.put(s._replace(disk=disk), i, doing=doing._replace(step=after))

    def set_floor(self, s, i, key, doing):
        conf = s.disk.read(CONF)
        raised = conf.boot and self.fault != "floor-not-raised"
        conf = conf._replace(boot=s.boot, floor=conf.ceiling if raised else conf.floor)
        yield f"{i}: write {conf}", self.put(
            s._replace(disk=s.disk.write(CONF, conf), unsynced=True), i, doing=doing._replace(step="sync_floor"))

    def sync_floor(self, s, i, key, doing):
        after = "set_aside" if self.fault == "floor-before-torn" else "unlock"
        yield f"{i}: sync ledger.json", self.put(
            s._replace(disk=s.disk.sync("top"), unsynced=False), i, doing=doing._replace(step=after))

    def unlock(self, s, i, key, doing):
        yield f"{i}: unlock ledger.json", self.put(s._replace(locked=""), i, doing=doing._replace(step="read"))

    def judge(self, s, i, key, doing):
        """Under the lock of the key: read its record, and say what the next generation is."""
        lease, tomb = self.record(s, i)
        if TORN in (lease, tomb):
            if self.known(s):
                yield f"{i}: read", Wrong(f"a record of key {i} is torn, and nothing mends it")
            else:  # doctor --repair is needed, and says so
                yield f"{i}: damaged", self.put(s, i, doing=Doing())
            return
        held = lease if lease and lease.generation > tomb else None
        if not doing.next:
            if held and held.generation in (key.alive, key.kept):
                yield f"{i}: give up {held.generation}", self.put(s, i, doing=doing._replace(step="bury"))
            else:
                yield f"{i}: lost", self.put(s, i, doing=Doing(), alive=0, kept=0)
            return
        if held and held.bound and held.generation == key.alive:
            yield f"{i}: held", self.put(s, i, doing=Doing())
            return
        conf = doing.conf
        generation = max(lease.generation if lease else 0, tomb, conf.floor) + 1
        sure = self.known(s) or not conf.boot or self.fault == "unknown-boot-trusted"
        if not sure:
            generation = max(generation, conf.ceiling + 1)
        step = "raise_ceiling" if generation > conf.ceiling else "bury" if held else "write"
        yield f"{i}: next is {generation}", self.put(s, i, doing=doing._replace(step=step, next=generation))

    def raise_ceiling(self, s, i, key, doing):
        if s.locked:
            return
        conf = s.disk.read(CONF)
        generation = max(doing.next, conf.floor + 1)
        if generation <= conf.ceiling:  # somebody else raised it
            step = "read" if s.unsynced and self.fault != "others-ceiling-trusted" else "raised"
            doing = doing._replace(step=step, next=generation)
            yield f"{i}: the ceiling is {conf.ceiling}", self.put(s, i, doing=doing)
            return
        conf = conf._replace(ceiling=generation + STEP - 1)
        doing = doing._replace(next=generation, step="raised" if self.fault == "ceiling-not-synced" else "sync_ceiling")
        locked = "" if self.fault == "ceiling-not-synced" else str(i)
        yield f"{i}: write {conf}", self.put(s._replace(disk=s.disk.write(CONF, conf), unsynced=True, locked=locked), i, doing=doing)

    def sync_ceiling(self, s, i, key, doing):
        yield f"{i}: sync ledger.json", self.put(
            s._replace(disk=s.disk.sync("top"), unsynced=False, locked=""), i, doing=doing._replace(step="raised"))

    def raised(self, s, i, key, doing):
        lease, tomb = self.record(s, i)
        step = "bury" if lease and lease.generation > tomb else "write"
        yield f"{i}: go on", self.put(s, i, doing=doing._replace(step=step))

    def synced(self, s, bound):
        """Whether a write about such a lease is synced, and made durable."""
        if self.fault == "all-unsynced":
            return False
        return not (bound and self.known(s))

    def bury(self, s, i, key, doing):
        lease, tomb = self.record(s, i)
        whole = self.synced(s, lease.bound)
        disk = s.disk.write(f"tombstones/{i}", lease.generation, whole)
        step = "sync_tombstone" if whole else "unlink"
        yield f"{i}: write tombstone {lease.generation}", self.put(s._replace(disk=disk), i, doing=doing._replace(step=step), kept=0)

    def sync_tombstone(self, s, i, key, doing):
        yield f"{i}: sync the tombstone", self.put(s._replace(disk=s.disk.sync("tombstones")), i, doing=doing._replace(step="unlink"))

    def unlink(self, s, i, key, doing):
        lease, tomb = self.record(s, i)
        doing = doing._replace(step="buried", buried=0 if lease.bound else lease.generation)
        yield f"{i}: unlink lease {lease.generation}", self.put(s._replace(disk=s.disk.remove(f"leases/{i}")), i, doing=doing, alive=0)

    def buried(self, s, i, key, doing):
        after = doing._replace(step="write") if doing.next else Doing()
        yield f"{i}: buried", self.put(s, i, doing=after, ended=max(key.ended, doing.buried))

    def write(self, s, i, key, doing):
        if doing.next <= key.told:
            yield f"{i}: grant", Wrong(f"generation {doing.next} of key {i} is handed out again")
            return
        whole = self.synced(s, doing.bound)
        disk = s.disk
        if not whole and key.ended and self.fault != "unlink-not-synced":
            disk = disk.sync("leases")
        s = s._replace(disk=disk.write(f"leases/{i}", Lease(doing.next, doing.bound), whole))
        yield f"{i}: write lease {doing.next}", self.put(s, i, doing=doing._replace(step="sync_lease" if whole else "tell"))

    def sync_lease(self, s, i, key, doing):
        yield f"{i}: sync the lease", self.put(s._replace(disk=s.disk.sync("leases")), i, doing=doing._replace(step="tell"))

    def tell(self, s, i, key, doing):
        yield f"{i}: tell {doing.next}", self.put(
            s, i, doing=Doing(), told=doing.next, alive=doing.next if doing.bound else 0, kept=0 if doing.bound else doing.next)

    # gc. It removes tombstones one key after the other, each under the lock of its key.

    def collect(self, s):
        if not s.gc:
            if s.collections < self.collections:
                yield "gc: begin", s._replace(gc="floor", collections=s.collections + 1)
            return
        if s.gc == "floor" and not s.locked:
            conf = s.disk.read(CONF)
            raised = conf._replace(floor=conf.ceiling)
            if self.fault == "gc-keeps-floor" or raised == conf and (not s.unsynced or self.fault == "others-ceiling-trusted"):
                yield "gc: floor", s._replace(gc="remove")
            else:
                yield f"gc: write {raised}", s._replace(disk=s.disk.write(CONF, raised), unsynced=True, locked="gc", gc="sync")
        if s.gc == "sync":
            yield "gc: sync ledger.json", s._replace(disk=s.disk.sync("top"), unsynced=False, locked="", gc="remove")
        if s.gc == "remove":
            floor = s.disk.read(CONF).floor
            for i, key in enumerate(s.keys):
                lease, tomb = self.record(s, i)
                if key.doing.step or lease or not tomb or tomb == TORN:
                    continue
                if tomb <= floor or self.fault == "gc-keeps-floor":
                    disk = s.disk if self.fault == "gc-too-soon" else s.disk.sync("leases")
                    yield f"gc: remove tombstone {i}", s._replace(disk=disk.remove(f"tombstones/{i}"))
            yield "gc: end", s._replace(gc="")
        if s.kills < self.kills:
            yield "kill gc", s._replace(gc="", locked="" if s.locked == "gc" else s.locked, kills=s.kills + 1)

    # The environment.

    def cut(self, s):
        keys = tuple(k._replace(doing=Doing(), alive=0) for k in s.keys)
        for disk in s.disk.after_power_cut():
            after = s._replace(disk=disk, unsynced=False, cuts=s.cuts + 1, gc="", locked="", keys=keys)
            if self.fault == "disk-fails-alone":
                yield "disk fails, and is mounted again", after
                continue
            for known in self.boots:
                boot = s.boot + 1
                yield "power cut", after._replace(boot=boot if boot % 2 == known else boot + 1)

    def unlocked(self, s, i):
        return "" if s.locked == str(i) else s.locked

    def put(self, s, i, **changes):
        keys = list(s.keys)
        keys[i] = keys[i]._replace(**changes)
        return s._replace(keys=tuple(keys))


def scenes(fault, size):
    both = (True, False)
    if size == "short":
        yield "one key, known boots", Grants(fault, grants=3, kills=1, cuts=1)
        yield "one key, any boots", Grants(fault, grants=2, kills=0, cuts=2, boots=both)
        yield "one key, gc", Grants(fault, grants=2, kills=1, cuts=1, collections=1)
        yield "two keys", Grants(fault, keys=2, grants=2, kills=0, cuts=1)
        return
    yield "one key, known boots", Grants(fault, grants=4, kills=1, cuts=1)
    yield "one key, two power cuts", Grants(fault, grants=3, kills=0, cuts=2)
    yield "one key, any boots", Grants(fault, grants=3, kills=1, cuts=1, boots=both)
    yield "one key, gc", Grants(fault, grants=3, kills=1, cuts=1, collections=1)
    yield "two keys", Grants(fault, keys=2, grants=3, kills=0, cuts=1)


if __name__ == "__main__":
    main(__doc__, scenes)
