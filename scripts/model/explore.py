"""What the Python models share: an exhaustive search, and the command line that `run` calls.

A model is a value with

    start()        the first state, or several; a state is anything that hashes
    steps(state)   yields (name, next state) for everything that may happen next
    wrong(state)   what is wrong in this state, None if nothing is
    ended(state)   whether everything may rest here; asked of states without a step that is not the environment's
    environment    names of steps that happen to the others (a kill, a power cut): nobody may rely on them

A step may instead yield (name, Wrong("why")): the step itself breaks the rule.

The head comment of a model lists its seeded faults, a line each, `fault NAME: what it shows`. A model file
ends in `explore.main(__doc__, scenes)`: scenes(fault, size) yields (name, model) with fault one of those names or
None, and size "short" or "long".
"""
import argparse
import re
import sys
from collections import deque


class Wrong:
    """The outcome of a step that breaks the rule."""

    def __init__(self, why):
        self.why = why


def search(model):
    """Visits every state that can be reached. Returns their number, and how the first violation comes
    about: (what, [steps]), or None. Breadth first, so the way is a shortest one."""
    environment = getattr(model, "environment", ())
    came = {}  # state -> (state before, step)
    todo = deque()

    def way(state, last=()):
        steps = list(last)
        while came[state] is not None:
            state, step = came[state]
            steps.insert(0, step)
        return steps

    first = model.start()
    for state in first if isinstance(first, list) else [first]:
        came[state] = None
        todo.append(state)
    while todo:
        state = todo.popleft()
        why = model.wrong(state)
        if why:
            return len(came), (why, way(state))
        rests = True
        for step, after in model.steps(state):
            if isinstance(after, Wrong):
                return len(came), (after.why, way(state, [step]))
            if step.split(" ")[0] not in environment:
                rests = False
            if after not in came:
                came[after] = (state, step)
                todo.append(after)
        if rests and not model.ended(state):
            return len(came), ("nothing goes on, and somebody waits for ever", way(state))
    return len(came), None


def main(doc, scenes):
    faults = re.findall(r"^fault ([a-z-]+)", doc, re.MULTILINE)
    args = argparse.ArgumentParser()
    args.add_argument("--size", choices=["short", "long"], default="short")
    args.add_argument("--fault", choices=faults)
    args = args.parse_args()
    states, found = 0, False
    for name, model in scenes(args.fault, args.size):
        n, violation = search(model)
        states += n
        if violation:
            why, steps = violation
            print(f"violated: {why} ({name})\n  " + "\n  ".join(steps))
            found = True
            break
    print("states", states)
    sys.exit(1 if found else 0)
