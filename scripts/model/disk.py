"""A disk as a power cut may leave it: what the models power and grants write to.

A file is a name "directory/base" with a value. A write makes a whole new file and renames it over the old
one, so a reader sees the old value or the new one. After a power cut

  * a change of a name (rename, unlink) that was not followed by a sync of its directory may be there or not,
    each name for itself; of several changes of one name, the first ones. That is weaker than what ext4, xfs and
    btrfs do, whose journals keep the order of all names: what holds here holds there;
  * a file whose content was not synced before its rename may be TORN;
  * a rename from one directory to another happens on both sides or on neither (journals keep that much).

(ledgerfs/fsys.go is the interface that the code writes through: WriteTemp, Rename, Remove, SyncDir.)
"""
from itertools import product
from typing import NamedTuple

TORN = "torn"


class Disk(NamedTuple):
    """Values do not change: each method returns another disk."""

    kept: tuple = ()  # (name, value, whole) whose name no power cut takes back, sorted
    changes: tuple = ()  # after that: tuples of (name, value, whole) that happen together, in order

    def read(self, name):
        """What a reader sees: the value, None if there is no such file."""
        return self._last(name)[0]

    def _last(self, name):
        for change in (*reversed(self.changes), self.kept):
            for changed, value, whole in change:
                if changed == name:
                    return value, whole
        return None, True

    def write(self, name, value, synced=True):
        if self._last(name) == (value, synced):
            return self  # a power cut leaves nothing else than before
        return self._replace(changes=self.changes + (((name, value, synced),),))

    def remove(self, name):
        if self.read(name) is None:
            return self
        return self._replace(changes=self.changes + (((name, None, True),),))

    def move(self, source, target):
        moved = (source, None, True), (target, self.read(source), True)
        return self._replace(changes=self.changes + (moved,))

    def sync(self, directory):
        """Makes the names in a directory durable. It does nothing for content that was never synced."""
        synced, later, names = [], [], set()
        for change in reversed(self.changes):
            if any(name.startswith(directory + "/") or name in names for name, _, _ in change):
                synced.insert(0, change)
                names.update(name for name, _, _ in change)
            else:
                later.insert(0, change)
        kept = {name: (value, whole) for name, value, whole in self.kept}
        for change in synced:
            kept.update({name: (value, whole) for name, value, whole in change})
        return Disk(_sorted(kept), tuple(later))

    def after_power_cut(self):
        """Returns every disk that a power cut may leave."""
        left = set()
        names = sorted({name for change in self.changes for name, _, _ in change})
        for done in product(*(range(self._count(n) + 1) for n in names)):
            files = self._with(dict(zip(names, done)))
            if files is None:
                continue
            risk = [n for n, (value, whole) in files.items() if not whole and value is not None]
            for torn in product([False, True], repeat=len(risk)):
                disk = {n: (value, True) for n, (value, _) in files.items()}
                disk.update({n: (TORN, True) for n, t in zip(risk, torn) if t})
                left.add(Disk(_sorted(disk)))
        return left

    def _count(self, name):
        return sum(1 for change in self.changes for n, _, _ in change if n == name)

    def _with(self, done):
        """The files after the first done[name] changes of each name; None if that would cut a move in two."""
        files = {name: (value, whole) for name, value, whole in self.kept}
        left = dict(done)
        for change in self.changes:
            reached = {left[name] > 0 for name, _, _ in change}
            if len(reached) > 1:
                return None
            if reached.pop():
                for name, value, whole in change:
                    files[name] = (value, whole)
                    left[name] -= 1
        return files


def _sorted(files):
    return tuple(sorted((name, value, whole) for name, (value, whole) in files.items() if value is not None))
