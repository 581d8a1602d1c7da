"""waitqueue: whoever waits gets its turn, in order, and nobody waits for ever.

The rule
    Who is refused and waits enters the queue of each of its keys under one number, 1 + the highest of every entry
    that overlaps any of them, drawn in the very hold of the locks in which its try failed. Nobody passes a living
    waiter of an overlapping key with a lower number, a try without waiting included. The dead are skipped; one
    that is stopped and does not take its turn is passed over until it wakes. A command under a lease that asks
    for more passes the queue, never a lease, else it would wait for those who wait for it; of several that would
    wait for each other in a circle the latest is refused.
    A waiter subscribes, then reads, then sleeps. It watches the living overlapping entry with the greatest
    smaller number, or if there is none the leases in the way. Then, without any timer,
      * leases that overlap are never held together,
      * no two overlapping entries have the same number,
      * nobody barges in,
      * nobody who could go on sleeps for ever, and no circle waits for ever; one that is refused is enough.

What is explored
    Up to five processes on overlapping keys: those that wait, those that only try, those that run under another's
    lease; kills, stops, ends of patience (--wait).

The code
    try      fslease/acquire.go (*acquisition).try, line; survey.go (*acquisition).survey; all in one hold
    number   ledgerfs/queue.go (*tx).Enqueue, (*reader).Places
    ahead    fslease/queue.go (*acquisition).surveyQueue, placesAhead, firstLiving
    stopped  fslease/queue.go (*acquisition).watchTurn, (Waiter).passedOver
    circle   fslease/queue.go (*acquisition).refuseCircle, (Waiter).cameAfter
    watch    fslease/await.go (*acquisition).await: Watch, survey, sleep; ledgerfs/waker.go
    leave    fslease/acquire.go (*acquisition).leave, after the locks; ledgerfs/queue.go (*Ledger).Leave

fault own-queue-only: a waiter looks at the queue of its own key only; others barge in
fault number-per-key: a number for each key instead of one; two waiters are each behind the other
fault number-drawn-late: the number is drawn in one hold and entered in another; two have the same
fault try-barges: a try without waiting does not look at the queue
fault dead-block: a dead waiter is not skipped
fault stopped-block: a stopped waiter is not passed over
fault read-before-watch: a waiter reads, then subscribes; the event in between is lost
fault nested-queues: a command under a lease queues like all others, behind those who wait for that lease
fault circle-waits: those who wait for each other in a circle are not told
fault circle-all-refused: everybody in a circle is refused, not only the latest
"""
from typing import NamedTuple

from explore import Wrong, main


def overlap(keys, others):
    def covers(a, b):
        return a == b or b.startswith(a + "/")
    return any(covers(a, b) or covers(b, a) for a in keys for b in others)


class Program(NamedTuple):
    """What a process does, once."""

    keys: tuple
    waits: bool = True
    under: int = -1  # the process under whose lease it runs: begins once that holds, and keeps it until its own end
    dies: bool = False  # may be killed
    stops: bool = False  # may be stopped for good
    tires: bool = False  # may give up waiting
    rounds: int = 1


class Process(NamedTuple):
    at: str = "idle"  # idle, enter (has its locks), watch, look, sleep, try, leave (holds, its entry stands), hold, done, quit, refused
    number: tuple = ()  # one, or with number-per-key one for each key; (): not queued
    drawn: tuple = ()  # the number with which it is about to enter
    came: int = 0  # in which order they entered the queue
    wants: tuple = ()  # what it saw in the way, to be watched
    watches: tuple = ()
    woken: bool = False
    dead: bool = False
    stopped: bool = False
    rounds: int = 0


class Queue:
    environment = ("kill", "stop", "tire")

    def __init__(self, fault, *programs):
        self.fault, self.programs = fault, programs
        self.all = range(len(programs))
        self.does = {
            "idle": self.idle, "enter": self.enter, "watch": self.watch, "look": self.look, "sleep": self.sleep,
            "try": self.attempt, "leave": self.leave, "quit": self.quit, "hold": self.hold,
        }

    def start(self):
        return tuple(Process(rounds=p.rounds) for p in self.programs)

    # What a process sees.

    def queued(self, p):
        return bool(p.number)

    def holds(self, s, i):
        return s[i].at in ("hold", "leave") and not s[i].dead

    def leases(self, s, i):
        """Who holds what is in the way of process i."""
        return tuple(j for j in self.all if j != i and self.holds(s, j) and overlap(self.programs[i].keys, self.programs[j].keys))

    def before(self, s, i, j):
        """Whether the entry of j goes before process i."""
        mine, its = self.programs[i].keys, self.programs[j].keys
        if not self.queued(s[j]) or self.fault == "own-queue-only" and not set(mine) & set(its):
            return False
        if self.fault == "number-per-key":
            return any(overlap([a], [b]) and (not s[i].number or s[j].number[y] < s[i].number[x])
                       for x, a in enumerate(mine) for y, b in enumerate(its))
        return overlap(mine, its) and (not s[i].number or s[j].number < s[i].number)

    def ahead(self, s, i):
        """The living waiters that go before process i, the last one last."""
        nested = self.programs[i].under >= 0 and self.fault != "nested-queues"
        if nested or self.fault == "try-barges" and not self.programs[i].waits:
            return ()
        waiters = [j for j in self.all if j != i and self.before(s, i, j)]
        if self.fault != "dead-block":
            waiters = [j for j in waiters if not s[j].dead]
        if self.fault != "stopped-block":
            waiters = [j for j in waiters if not (s[j].stopped and not self.leases(s, j))]
        return tuple(sorted(waiters, key=lambda j: s[j].number))

    def in_the_way(self, s, i):
        """What process i waits for, as it would watch it."""
        ahead = self.ahead(s, i)
        if ahead:
            return (("entry", ahead[-1]),)
        return tuple(("lease", j) for j in self.leases(s, i))

    def above(self, i):
        """The processes under whose leases process i runs."""
        up = []
        while self.programs[i].under >= 0:
            i = self.programs[i].under
            up.append(i)
        return up

    def closes_circle(self, s, i):
        """Whether somebody that process i waits for waits for a lease under which i runs, and came before it."""
        todo = [(j, 0) for j in self.leases(s, i)]
        seen = set()
        while todo:
            holder, latest = todo.pop(0)
            for w in self.all:
                if w in seen or s[w].dead or not self.queued(s[w]) or holder not in self.above(w):
                    continue
                seen.add(w)
                last = max(latest, s[w].came)
                for blocking in self.leases(s, w):
                    if blocking in self.above(i):
                        if not self.queued(s[i]) or s[i].came > last or self.fault == "circle-all-refused":
                            return True
                    todo.append((blocking, last))
        return False

    # Steps.

    def steps(self, s):
        for i, p in enumerate(s):
            if p.dead:
                continue
            if not p.stopped and p.at in self.does:
                for step, after in self.does[p.at](s, i, p):
                    yield f"{i} {step}", after
            program = self.programs[i]
            if program.dies and self.queued(p) | self.holds(s, i):
                yield f"kill {i}", self.tell(self.put(s, i, dead=True), i)
            if program.stops and self.queued(p) and not p.stopped and p.at not in ("leave", "quit"):
                yield f"stop {i}", self.put(s, i, stopped=True)
            if program.tires and self.queued(p) and p.at not in ("leave", "quit") and not p.stopped:
                yield f"tire {i}", self.tell(self.put(s, i, at="refused", number=()), i)

    def idle(self, s, i, p):
        up = self.programs[i].under
        if up >= 0 and not self.holds(s, up):
            return
        yield from self.attempt(s, i, p)

    def attempt(self, s, i, p):
        """One hold of the locks: judge, then take, enter the queue, or end. For others who need these locks that is
        one step. Who looks for a circle looks beyond its locks, so for that it is two."""
        if self.fault != "number-drawn-late" and any(q.at == "enter" and overlap(self.programs[i].keys, self.programs[j].keys) for j, q in enumerate(s)):
            return
        way = self.in_the_way(s, i)
        if not way:
            yield from self.take(s, i, p)
        elif not self.programs[i].waits:
            yield "is refused", self.put(s, i, at="refused")
        elif self.refuses(s, i):
            yield "is refused: a circle", self.put(s, i, at="quit")
        elif self.queued(p):
            yield "is refused again", self.put(s, i, at="watch", wants=way)
        elif self.above(i) or self.fault == "number-drawn-late":
            yield "draws a number", self.put(s, i, at="enter", drawn=self.draw(s, i), wants=way)
        else:
            yield from self.enter(s, i, p._replace(drawn=self.draw(s, i), wants=way))

    def refuses(self, s, i):
        return self.above(i) and self.fault != "circle-waits" and self.closes_circle(s, i)

    def draw(self, s, i):
        def highest(keys):
            return max([n for j in self.all if overlap(keys, self.programs[j].keys) for n in s[j].number] + [0])
        if self.fault == "number-per-key":
            return tuple(max([s[j].number[y] for j in self.all if s[j].number for y, k in enumerate(self.programs[j].keys) if k == key] + [0]) + 1
                         for key in self.programs[i].keys)
        return (highest(self.programs[i].keys) + 1,)

    def enter(self, s, i, p):
        came = max(q.came for q in s) + 1
        at = "look" if self.fault == "read-before-watch" else "watch"
        yield "enters the queue", self.put(s, i, at=at, number=p.drawn, drawn=(), came=came, wants=p.wants)

    def take(self, s, i, p):
        for j in self.all:
            if self.programs[i].under < 0 and j != i and self.queued(s[j]) and s[j].at != "leave" and not s[j].dead and not s[j].stopped \
                    and overlap(self.programs[i].keys, self.programs[j].keys) and (not p.number or p.number > s[j].number):
                yield "takes", Wrong(f"{i} passes {j}, which waits longer")
                return
        yield "takes", self.put(s, i, at="leave" if p.number else "hold", wants=(), watches=(), woken=False)

    def watch(self, s, i, p):
        yield "watches", self.put(s, i, at="sleep" if self.fault == "read-before-watch" else "look", watches=p.wants, woken=False)

    def look(self, s, i, p):
        way = self.in_the_way(s, i)
        if not way:
            yield "sees that it may go", self.put(s, i, at="try")
        elif self.refuses(s, i):
            yield "is refused: a circle", self.put(s, i, at="quit")
        elif way != p.watches:
            yield "sees something else", self.put(s, i, at="watch", wants=way)
        else:
            yield "sees the same", self.put(s, i, at="sleep")

    def sleep(self, s, i, p):
        unused = self.fault != "stopped-block" and any(
            what == "entry" and s[j].stopped and not self.leases(s, j) for what, j in p.watches)
        if p.woken or unused:  # a turn that is not used is noticed by the clock (watchTurn), all else by events
            yield "wakes", self.put(s, i, at="look", woken=False)

    def leave(self, s, i, p):
        yield "leaves the queue", self.tell(self.put(s, i, at="hold", number=()), i)

    def quit(self, s, i, p):
        yield "leaves the queue, refused", self.tell(self.put(s, i, at="refused", number=()), i)

    def hold(self, s, i, p):
        if any(self.programs[j].under == i and not self.over(s, j) for j in self.all):
            return
        p = p._replace(rounds=p.rounds - 1, at="idle" if p.rounds > 1 else "done")
        yield "gives up", self.tell(s[:i] + (p,) + s[i + 1:], i)

    def over(self, s, i):
        return s[i].at in ("done", "refused") or s[i].dead

    def tell(self, s, i):
        """Wakes whoever watches the entry or the lease of i."""
        return tuple(p._replace(woken=True) if any(j == i for _, j in p.watches) else p for p in s)

    def put(self, s, i, **changes):
        return s[:i] + (s[i]._replace(**changes),) + s[i + 1:]

    # What must hold.

    def ended(self, s):
        return all(self.over(s, i) or s[i].stopped or self.programs[i].under >= 0 and s[i].at == "idle" for i in self.all)

    def wrong(self, s):
        for i in self.all:
            for j in range(i):
                meet = overlap(self.programs[i].keys, self.programs[j].keys)
                if meet and self.holds(s, i) and self.holds(s, j):
                    return f"{i} and {j} hold overlapping keys"
                if meet and s[i].number and s[i].number == s[j].number and self.fault != "number-per-key":
                    return f"{i} and {j} have the same number"
        circle = [i for i in self.all if self.above(i)]
        if len(circle) > 1 and all(s[i].at == "refused" for i in circle):
            return "everybody in the circle was refused"
        return None


def scenes(fault, size):
    P = Program
    all = [
        ("children pass by a parent", [P(("a/b",), rounds=2), P(("a/c",), rounds=2), P(("a",))]),
        ("parents, a child waits", [P(("a",), rounds=2), P(("a",)), P(("a/b",))]),
        ("a try", [P(("a",)), P(("a",)), P(("a/b",), waits=False)]),
        ("several keys", [P(("a/b",)), P(("a", "c")), P(("c", "a/c"))]),
        ("under a lease", [P(("a/b",)), P(("a",)), P(("a/c",), under=0), P(("a/c",))]),
        ("crosswise under leases", [P(("a",)), P(("b",)), P(("b",), under=0), P(("a",), under=1)]),
        ("kills", [P(("a",), dies=True), P(("a/b",), dies=True), P(("a",))]),
        ("stops", [P(("a",)), P(("a/b",), stops=True), P(("a",))]),
    ]
    if size == "long":
        all += [
            ("kills, ends of patience, stops", [P(("a/b",), dies=True, rounds=2), P(("a", "c"), tires=True), P(("c", "a/c")), P(("a/b/d",), dies=True, stops=True)]),
            ("five, one under a lease", [P(("a/b",)), P(("a", "c"), tires=True), P(("c",)), P(("a/c",), under=0), P(("c",), dies=True)]),
            ("three crosswise under leases", [P(("a",)), P(("b",)), P(("c",)), P(("b",), under=0), P(("c",), under=1), P(("a",), under=2)]),
            ("five on three levels", [P(("a",)), P(("a/b",), dies=True), P(("a/b/c",)), P(("a/d",), tires=True), P(("a/b",), waits=False)]),
        ]
    for name, programs in all:
        yield name, Queue(fault, *programs)


if __name__ == "__main__":
    main(__doc__, scenes)
