"""timing: a command is told that its lease is lost before anybody else may enter for its holder's silence.

The rule
    The holder's stamp is read under the lock, immediately before the record is written. That very value is the
    base of its loss timer, once the write is known to be applied; with several keys the oldest of their stamps,
    once all are written. The timer runs beside the ledger's work, never behind it: it may be due while a
    renewal is stuck anywhere.
    An observer on the same clock may enter once now - stamp >= TTL. Any other counts from when it first saw this
    very revision, on its own clock, read after the record; a new revision starts again. Then the command has
    been told (and killed) by then, however long any step of anybody takes, as long as the holder's timer runs.
    A wrapper that is stopped while its command runs is beyond any stamp: only the fence covers that.

What is explored
    One clock that ticks at any time; a holder of two keys that renews, every step of its renewal delayed for as
    long as it likes; an observer of the first key of one of the two kinds, delayed likewise. The end of the
    command is due at 3/4 of the TTL and comes before 7/8 of it.

The code
    stamp      fslease/tenure.go (processTenure).renew: Renewed(cur, tx.Now()), then tx.Put
    base       fslease/lease.go (*Lease).settle, oldestStamp; for a grant (*Lease).hold
    timer      (*Lease).guard, (*Lease).lastChance; cmd/internal/cli/runloss.go (*call).attend, killIn
    observer   fslease/judge.go Judge, silence, (Record).NeedsSighting
    sighting   fslease/survey.go (*acquisition).judge; fslease/record.go (*Sighting).Of; ledgerfs/tx.go (*tx).See

fault base-after-write: the timer counts from when the renewal was confirmed, not from the stamp in the record
fault base-before-applied: the timer counts from a stamp that is not written yet
fault newest-stamp: with several keys the timer counts from the newest stamp; the first key is free before
fault timer-behind-write: the timer is looked at between renewals only
fault sighting-before-read: the observer's clock is read before the record that it saw
fault sighting-of-another: the time of the first sighting is kept although the revision has changed
fault wrapper-stopped: (a limit, not a bug) the wrapper is stopped, its command is not
"""
from typing import NamedTuple

from explore import main


class State(NamedTuple):
    now: int = 0
    # The holder.
    doing: str = ""  # its next step: "" none, lock, stamp, write, stamp2, write2, unlock, confirm
    stamps: tuple = ()  # of the renewal under way
    base: int = 0
    told: bool = False
    stopped: bool = False
    # The record of the first key, and who has its lock.
    stamp: int = 0
    revision: int = 1
    locked: str = ""
    taken: bool = False
    # The observer.
    look: str = ""  # its next step: "" begin, second, lock, judge
    saw: int = 0  # the revision
    since: int = -1  # when; -1: never


class Timing:
    environment = ("tick", "stop", "continue")

    def __init__(self, fault, observer, ttl, end, renewals):
        self.fault, self.observer, self.ttl, self.end, self.renewals = fault, observer, ttl, end, renewals

    def start(self):
        return State()

    def ended(self, s):
        return True

    def wrong(self, s):
        if s.taken and not s.told:
            return f"somebody entered at {s.now}, and the command was not told"
        return None

    def steps(self, s):
        due = s.now >= s.base + self.ttl * 3 // 4 and not s.told
        late = s.now >= s.base + self.ttl * 7 // 8 and not s.told
        timer = not s.stopped and not (self.fault == "timer-behind-write" and s.doing)
        if due and timer:
            yield "tell", s._replace(told=True)
        if s.now < self.end and not (late and timer):
            yield "tick", s._replace(now=s.now + 1)
        if self.fault == "wrapper-stopped":
            yield ("continue" if s.stopped else "stop"), s._replace(stopped=not s.stopped)
        if not s.stopped:
            yield from self.hold(s)
        if not s.taken:
            yield from self.on_the_same_clock(s) if self.observer == "same clock" else self.on_another_clock(s)

    def hold(self, s):
        if s.doing == "" and not s.told and s.revision <= self.renewals:
            yield "renew", s._replace(doing="lock")
        elif s.doing == "lock" and not s.locked:
            if s.taken:
                yield "lost", s._replace(doing="lost", told=True)
            else:
                yield "lock", s._replace(doing="stamp", locked="holder", stamps=())
        elif s.doing in ("stamp", "stamp2"):
            base = max(s.base, s.now) if self.fault == "base-before-applied" else s.base
            yield f"stamp {s.now}", s._replace(doing="write" + s.doing[5:], stamps=s.stamps + (s.now,), base=base)
        elif s.doing == "write":
            yield "write", s._replace(doing="stamp2", stamp=s.stamps[0], revision=s.revision + 1)
        elif s.doing == "write2":
            yield "write the second key", s._replace(doing="unlock")
        elif s.doing == "unlock":
            yield "unlock", s._replace(doing="confirm", locked="")
        elif s.doing == "confirm":
            base = min(s.stamps)
            if self.fault == "base-after-write":
                base = s.now
            elif self.fault == "newest-stamp":
                base = max(s.stamps)
            yield f"count from {base}", s._replace(doing="", stamps=(), base=max(s.base, base))

    def on_the_same_clock(self, s):
        if s.look == "" and not s.locked:
            yield "observer: lock", s._replace(look="judge", locked="observer")
        elif s.look == "judge":
            free = s.now - s.stamp >= self.ttl
            yield "observer: judge", s._replace(look="", locked="", taken=free)

    def on_another_clock(self, s):
        read = s._replace(saw=s.revision)
        clock = s._replace(since=s.now)
        first, second = (clock, read) if self.fault == "sighting-before-read" else (read, clock)
        if s.look == "":
            yield "observer: first look", first._replace(look="second")
        elif s.look == "second":
            yield "observer: second look", second._replace(look="lock")
        elif s.look == "lock" and not s.locked:
            yield "observer: lock", s._replace(look="judge", locked="observer")
        elif s.look == "judge":
            s = s._replace(locked="")
            if s.revision != s.saw:
                if self.fault == "sighting-of-another":
                    yield "observer: it was renewed", s._replace(look="lock", saw=s.revision)
                else:
                    yield "observer: it was renewed", s._replace(look="", saw=0, since=-1)
            elif s.now - s.since >= self.ttl:
                yield "observer: enter", s._replace(taken=True)
            else:
                yield "observer: wait", s._replace(look="lock")


def scenes(fault, size):
    for observer in ("same clock", "another clock"):
        if size == "short":
            yield observer, Timing(fault, observer, ttl=4, end=8, renewals=2)
        else:
            yield observer, Timing(fault, observer, ttl=8, end=18, renewals=3)


if __name__ == "__main__":
    main(__doc__, scenes)
