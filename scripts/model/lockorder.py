"""lockorder: requests for several keys never wait for each other in a circle.

The rule
    A request takes the lock file of each of its keys exclusively and those of their ancestors shared: each file
    once, in its strongest mode, in the order of the segments compared one by one. (Plain string order puts a-b
    before a/b, although a/b is reached through a.) A key that another one of the request covers is dropped. Then
      * no set of requests deadlocks,
      * two requests that overlap are never inside together,
      * two requests that do not overlap never wait for each other.

What is explored
    Every pair and every triple of requests for up to three keys out of a, a-b, a/b, a/c, a/b/c, b, in every
    order in which their steps may happen.

The code
    the order  fslease/key.go LockPlan, CompareKeys, FoldKeys
    the locks  ledgerfs/lock.go (*Ledger).lockKeys, (*keyLocks).unlock
    the fences ledgerfs/fence.go (*Ledger).TryFence takes the same plan, without waiting

fault string-order: the files in plain string order, key by key; two requests wait for each other
fault asked-order: the files in the order in which the keys were asked for
fault weak-then-strong: an ancestor that is itself asked for is taken shared first, and again exclusively
fault exclusive-ancestors: ancestors are taken exclusively; requests that do not overlap wait for each other
fault own-only: ancestors are not taken; requests that overlap are inside together
"""
from itertools import combinations_with_replacement, permutations

from explore import main

KEYS = ["a", "a-b", "a/b", "a/c", "a/b/c", "b"]


def ancestors(key):
    parts = key.split("/")
    return ["/".join(parts[:i]) for i in range(1, len(parts))]


def covers(a, b):
    return a == b or a in ancestors(b)


def overlap(request, other):
    return any(covers(a, b) or covers(b, a) for a in request for b in other)


def plan(request, fault):
    """The (file, exclusive) that a request takes, in order."""
    fold = fault != "weak-then-strong"
    keys = [k for k in request if not (fold and any(a in request for a in ancestors(k)))]
    if fault == "own-only":
        return [(k, True) for k in sorted(keys, key=lambda k: k.split("/"))]
    if fault in ("string-order", "asked-order", "weak-then-strong"):
        keys = {"string-order": sorted(keys), "asked-order": keys}.get(fault, sorted(keys, key=len, reverse=True))
        files = []
        for k in keys:
            files += [(a, False) for a in ancestors(k) if a not in [f for f, _ in files]] + [(k, True)]
        return files
    modes = {a: fault == "exclusive-ancestors" for k in keys for a in ancestors(k)}
    modes.update({k: True for k in keys})
    return sorted(modes.items(), key=lambda file: file[0].split("/"))


class Requests:
    """A state is how many files each request has taken; -1: it has ended and let go of all."""

    def __init__(self, requests, fault):
        self.requests = requests
        self.plans = [plan(r, fault) for r in requests]

    def start(self):
        return (0,) * len(self.plans)

    def ended(self, state):
        return all(taken < 0 for taken in state)

    def inside(self, state):
        return [i for i, taken in enumerate(state) if taken == len(self.plans[i])]

    def wrong(self, state):
        inside = self.inside(state)
        for i in inside:
            for j in inside:
                if i < j and overlap(self.requests[i], self.requests[j]):
                    return f"{self.requests[i]} and {self.requests[j]} are inside together"
        for i, taken in enumerate(state):
            if 0 <= taken < len(self.plans[i]):
                for j in self.in_the_way(state, i):
                    if not overlap(self.requests[i], self.requests[j]):
                        return f"{self.requests[i]} waits for {self.requests[j]}"
        return None

    def in_the_way(self, state, i):
        file, exclusive = self.plans[i][state[i]]
        return [j for j, taken in enumerate(state) if j != i and taken > 0
                and any(f == file and (x or exclusive) for f, x in self.plans[j][:taken])]

    def steps(self, state):
        for i, taken in enumerate(state):
            if taken == len(self.plans[i]):
                yield f"{i} unlocks", state[:i] + (-1,) + state[i + 1:]
            elif taken >= 0 and not self.in_the_way(state, i):
                yield f"{i} locks {self.plans[i][taken]}", state[:i] + (taken + 1,) + state[i + 1:]


def scenes(fault, size):
    requests = [r for n in (1, 2, 3) for r in permutations(KEYS, n)]
    different = {}
    for r in requests:  # those with the same plan do the same
        different.setdefault((tuple(plan(r, fault))), r)
    for together in (2, 3):
        some = list(different.values())
        if together == 3 and size == "short":
            some = [r for r in some if len(r) < 3]
        for requests in combinations_with_replacement(some, together):
            yield str(requests), Requests(requests, fault)


if __name__ == "__main__":
    main(__doc__, scenes)
