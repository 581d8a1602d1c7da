"""tickets: sessions, expiry and crashes leave no ticket in two hands and nothing blocked for good.

The rule
    The ticket file is the commit point. A start takes the ticket's key and its scope as a process, then, again
    under their locks, writes active/ID, the reservations, the session, and last the ticket. Every end writes the
    ticket (with the failure), the session, then unlinks the reservations that still name this ticket, then
    active/ID. A reservation counts only while its ticket is live and lists the key. Reconcile looks at the
    tickets in active/ only, and decides again under the locks what it saw without them. A start closes sessions
    that crashes left active. Then, with a crash between any two writes,
      * a live ticket has its whole scope, and two live tickets never share a key,
      * no session is replaced while it is active, none expires twice, and none that did not run out expires,
      * after one pass of reconcile, once everybody has ended: no ticket is IN_PROGRESS on a session that ran
        out, no session is active that its ticket does not name, and every key can be had that no live ticket
        reserves.

What is explored
    Tickets 1 and 2, both with the scope {a}; commands on them at once: start, done, reconcile, acquire of a;
    the end of a session's time, and crashes, at any moment.

The code
    take       fslease/ticketstart.go (*Manager).starting, (*starting).startable as (*acquisition).prepare;
               fslease/acquire.go (*acquisition).try, write; survey.go (*acquisition).weighReservation
    open       fslease/ticketstart.go (*starting).open, reserve, closeStrays, undo
    end        fslease/ticketend.go EndSession, DropReservations, Expire; fslease/tickets.go (*Manager).TicketAct
    reconcile  reconcile/reconcile.go Run, settle; reconcile/plan.go survey, (*plan).apply
    counts     fslease/survey.go (*Ticket).Reserves; fslease/tickets.go activeSession, checkSession

fault active-last: a start writes active/ID after the ticket; a crash in between, and nobody ever looks
fault ticket-first: a start writes the ticket before its reservations; a live ticket lacks its scope
fault session-before-ticket: an end writes the session before the ticket; one that was done in time expires
fault reservations-before-ticket: an end drops the reservations before the ticket is done; a live ticket lacks them
fault inactive-first: an end removes active/ID before the session has ended; it stays active for ever
fault no-second-look: reconcile acts on what it saw without the locks
fault drop-blindly: reservations are removed without looking whose they are
fault strays-left: a start leaves sessions that a crash left active; they stay so for ever
fault start-unchecked: a start does not look again under the locks whether it may; a session is replaced
"""
from typing import NamedTuple

from explore import Wrong, main

LIVE = ("IN_PROGRESS", "BLOCKED")
KEYS = {1: ("t1", "a"), 2: ("t2", "a")}


class Ticket(NamedTuple):
    status: str = "READY"
    session: int = 0
    failed: tuple = ()  # sessions that were recorded as expired


class Lease(NamedTuple):
    generation: int
    ticket: int = 0  # that reserves; 0: a process
    session: int = 0
    process: int = -1


class State(NamedTuple):
    tickets: tuple
    leases: tuple  # of t1, t2, a: None or Lease
    generations: tuple = (0, 0, 0)
    sessions: tuple = ()  # (ticket, generation, status), sorted
    ran_out: tuple = ()  # (ticket, generation) of sessions whose time is over
    active: tuple = ()  # tickets in active/
    locks: tuple = ()  # (key, command)
    at: tuple = ()  # per command: (step, what it remembers); step -1: crashed, -2: ended
    crashes: int = 0


NAMES = ("t1", "t2", "a")


def lease(s, key):
    return s.leases[NAMES.index(key)]


def put_lease(s, key, value):
    leases = list(s.leases)
    leases[NAMES.index(key)] = value
    return s._replace(leases=tuple(leases))


def put_ticket(s, id, **changes):
    tickets = list(s.tickets)
    tickets[id - 1] = tickets[id - 1]._replace(**changes)
    return s._replace(tickets=tuple(tickets))


def put_session(s, id, generation, status):
    kept = tuple(x for x in s.sessions if x[:2] != (id, generation))
    return s._replace(sessions=tuple(sorted(kept + ((id, generation, status),))))


def session(s, id, generation):
    return next((x[2] for x in s.sessions if x[:2] == (id, generation)), None)


def set_active(s, id, there):
    return s._replace(active=tuple(sorted(set(s.active) - {id} | ({id} if there else set()))))


def next_generation(s, key):
    i = NAMES.index(key)
    numbers = list(s.generations)
    numbers[i] += 1
    return numbers[i], s._replace(generations=tuple(numbers))


def reserves(s, record, key):
    ticket = s.tickets[record.ticket - 1]
    return ticket.status in LIVE and key in KEYS[record.ticket]


class Stop(Exception):
    """The command ends here: refused, or nothing to do."""


class Command:
    """A list of steps. Each takes the state and what the command remembers, and returns both anew."""

    def __init__(self, fault, me):
        self.fault, self.me = fault, me

    def lock(self, *keys, waits=True):
        """One step for all: the order in which they are taken is the business of lockorder."""
        def lock_all(s, known):
            taken = {k for k, _ in s.locks}
            if taken & set(keys):
                if not waits:
                    raise Stop
                return None
            return s._replace(locks=tuple(sorted(s.locks + tuple((k, self.me) for k in keys)))), known
        return lock_all

    def unlock(self, s, known):
        return s._replace(locks=tuple(x for x in s.locks if x[1] != self.me)), known

    def dead(self, s, record):
        return record.process >= 0 and s.at[record.process][0] < 0

    def takeable(self, s, key):
        record = lease(s, key)
        if record is None or self.dead(s, record):
            return True
        return record.ticket > 0 and not reserves(s, record, key)

    def take(self, id, keys):
        """Judges and writes the leases of a process, under the locks. A ticket's own reservations stay."""
        def judge(s, known):
            for key in keys:
                record = lease(s, key)
                own = record and id and record.ticket == id and reserves(s, record, key)
                if not own and not self.takeable(s, key):
                    raise Stop
            return s, known

        def write(key):
            def write_lease(s, known):
                record = lease(s, key)
                if record and id and record.ticket == id and reserves(s, record, key):
                    return s, known
                generation, s = next_generation(s, key)
                return put_lease(s, key, Lease(generation, process=self.me)), known
            return write_lease
        return [judge] + [write(k) for k in keys]

    def end(self, id, status, how):
        """EndSession: known is the session that ends, 0 for none."""
        def ticket(s, known):
            failed = s.tickets[id - 1].failed + ((known,) if how == "expired" else ())
            if how == "expired" and (id, known) not in s.ran_out:
                return Wrong(f"session {known} of ticket {id} expires, and has not run out"), known
            return put_ticket(s, id, status=status, failed=failed), known

        def sessions(s, known):
            return (put_session(s, id, known, how) if session(s, id, known) else s), known

        def drop(key):
            def drop_reservation(s, known):
                record = lease(s, key)
                if record and (self.fault == "drop-blindly" or record.ticket == id and (
                        not reserves(s, record, key) or self.fault == "reservations-before-ticket" and status == "DONE")):
                    s = put_lease(s, key, None)
                return s, known
            return drop_reservation

        def inactive(s, known):
            return set_active(s, id, False), known
        drops = [drop(k) for k in KEYS[id]]
        return {
            "session-before-ticket": [sessions, ticket, *drops, inactive],
            "reservations-before-ticket": [*drops, ticket, sessions, inactive],
            "inactive-first": [ticket, inactive, sessions, *drops],
        }.get(self.fault, [ticket, sessions, *drops, inactive])


class Start(Command):
    def __init__(self, fault, me, id):
        super().__init__(fault, me)
        self.name = f"start {id}"
        keys = KEYS[id]

        def read(s, known):  # before the locks
            if s.tickets[id - 1].status not in ("READY", "BLOCKED"):
                raise Stop
            return s, (s.tickets[id - 1].session, s.tickets[id - 1].status)

        def startable(s, known):
            ticket = s.tickets[id - 1]
            if fault != "start-unchecked" and (ticket.status not in ("READY", "BLOCKED") or ticket.session != known[0]):
                raise Stop
            return s, (known[0], ticket.status)

        def again(s, known):
            startable(s, known)
            if fault != "start-unchecked" and s.tickets[id - 1].status != known[1]:
                raise Stop
            for i, generation, status in s.sessions:
                if fault != "strays-left" and i == id and status == "active" and generation >= known[0]:
                    s = put_session(s, i, generation, "ended")
            return s, known

        def active(s, known):
            return set_active(s, id, True), known

        def reserve(key):
            def reserve_key(s, known):
                record = lease(s, key)
                if record and record.process == self.me:
                    generation = record.generation
                elif record and record.ticket == id:
                    generation, s = next_generation(s, key)
                else:
                    raise Stop
                opened = generation if key == keys[0] else known
                return put_lease(s, key, Lease(generation, id, opened)), opened
            return reserve_key

        def write_session(s, known):
            return put_session(s, id, known, "active"), known

        def ticket(s, known):
            before = s.tickets[id - 1].session
            if session(s, id, before) == "active" and (id, before) not in s.ran_out and s.tickets[id - 1].status == "IN_PROGRESS":
                return Wrong(f"session {before} of ticket {id} is replaced while it is active"), known
            return put_ticket(s, id, status="IN_PROGRESS", session=known), known

        reservations = [reserve(k) for k in keys]
        opening = {
            "active-last": [*reservations, write_session, ticket, active],
            "ticket-first": [active, reservations[0], ticket, reservations[1], write_session],
        }.get(fault, [active, *reservations, write_session, ticket])
        self.steps = [read, self.lock(*keys), startable, *self.take(id, keys), self.unlock,
                      self.lock(*keys), again, *opening, self.unlock]


class Done(Command):
    """done with the token that the session of the start state has."""

    def __init__(self, fault, me, id, token=1):
        super().__init__(fault, me)
        self.name = f"done {id}"

        def check(s, known):
            ticket = s.tickets[id - 1]
            if ticket.status != "IN_PROGRESS" or ticket.session != token or session(s, id, token) != "active":
                raise Stop
            return s, token
        self.steps = [self.lock(*KEYS[id]), check, *self.end(id, "DONE", "ended"), self.unlock]


class Reconcile(Command):
    """One pass over ticket id."""

    def __init__(self, fault, me, id):
        super().__init__(fault, me)
        self.name = f"reconcile {id}"

        def survey(s, known):
            if id not in s.active:
                raise Stop
            ticket = s.tickets[id - 1]
            if ticket.status == "IN_PROGRESS":
                if session(s, id, ticket.session) != "active":
                    return s, ("missing", ticket.session)
                if (id, ticket.session) in s.ran_out:
                    return s, ("expire", ticket.session)
                raise Stop
            return s, ("clear", 0)

        def look_again(s, known):
            return (s, known) if fault == "no-second-look" else survey(s, known)

        def strays(s, known):
            what, _ = known
            for i, generation, status in s.sessions:
                if i == id and status == "active" and what != "expire":  # else one session is enough to read
                    s = put_session(s, i, generation, "ended")
            return s, known

        expire = self.end(id, "BLOCKED", "expired")
        clear = self.end(id, "", "")[2:]

        def either(one, other):
            def step(s, known):
                do = other if known[0] == "clear" else one
                if do is None:
                    return s, known
                after, _ = do(s, known[1])
                return after, known
            step.__name__ = one.__name__
            return step
        acts = [either(e, None) for e in expire[:2]] + [either(e, c) for e, c in zip(expire[2:], clear)]
        self.steps = [survey, self.lock(*KEYS[id], waits=False), look_again, strays, *acts, self.unlock]


class Acquire(Command):
    """A command that has nothing to do with tickets takes a, and gives it back."""

    def __init__(self, fault, me):
        super().__init__(fault, me)
        self.name = "acquire a"

        def release(s, known):
            record = lease(s, "a")
            return (put_lease(s, "a", None) if record and record.process == self.me else s), known
        self.steps = [self.lock("a"), *self.take(0, ["a"]), self.unlock, self.lock("a"), release, self.unlock]


class Tickets:
    environment = ("crash", "time")

    def __init__(self, fault, commands, crashes=1, works=False):
        self.fault, self.crashes, self.works = fault, crashes, works
        self.commands = [make(fault, i, *args) for i, (make, *args) in enumerate(commands)]
        self.last = len(commands)
        self.after = [Reconcile(fault, self.last, 1), Reconcile(fault, self.last, 2)]

    def start(self):
        at = ((0, None),) * len(self.commands)
        if not self.works:
            return State((Ticket(), Ticket()), (None, None, None), at=at)
        return State((Ticket("IN_PROGRESS", 1), Ticket()), (Lease(1, 1, 1), None, Lease(1, 1, 1)),
                     (1, 0, 1), ((1, 1, "active"),), active=(1,), at=at)

    def ended(self, s):
        return all(step < 0 for step, _ in s.at)

    def steps(self, s):
        for i, command in enumerate(self.commands):
            step, known = s.at[i]
            if step < 0:
                continue
            after = self.do(s, i, command, step, known)
            if after is not None:
                yield f"{command.name}: {command.steps[step].__name__}", after
            if s.crashes < self.crashes and step > 0:
                s2, _ = command.unlock(s, None)
                yield f"crash of {command.name}", self.place(s2._replace(crashes=s.crashes + 1), i, -1, None)
        for id, ticket in enumerate(s.tickets, 1):
            if session(s, id, ticket.session) == "active" and (id, ticket.session) not in s.ran_out:
                yield f"time of session {ticket.session} of ticket {id} is over", s._replace(
                    ran_out=tuple(sorted(s.ran_out + ((id, ticket.session),))))

    def do(self, s, i, command, step, known):
        try:
            done = command.steps[step](s, known)
        except Stop:
            s, _ = command.unlock(s, None)
            return self.place(s, i, -2, None)  # what it took as a process is free now
        if done is None:
            return None
        after, known = done
        if isinstance(after, Wrong):
            return after
        ended = step + 1 == len(command.steps)
        return self.place(after, i, -2 if ended else step + 1, None if ended else known)

    def place(self, s, i, step, known):
        at = list(s.at)
        at[i] = (step, known)
        return s._replace(at=tuple(at))

    def wrong(self, s):
        for id, ticket in enumerate(s.tickets, 1):
            if len(set(ticket.failed)) != len(ticket.failed):
                return f"a session of ticket {id} expired twice"
            for key in KEYS[id]:
                record = lease(s, key)
                if ticket.status in LIVE and (record is None or record.ticket != id):
                    return f"ticket {id} is {ticket.status}, and {key} is not its own"
        return self.wrong_at_the_end(s) if self.ended(s) else None

    def wrong_at_the_end(self, s):
        """What is left when everybody has ended, time has gone by, and the next command has reconciled."""
        s = s._replace(at=s.at + ((0, None),), ran_out=tuple((i, g) for i, g, _ in s.sessions))
        for command in self.after:
            s, known = self.place(s, self.last, 0, None), None
            for step in range(len(command.steps)):
                s = self.do(s, self.last, command, step, known)
                if isinstance(s, Wrong):
                    return s.why
                if s.at[self.last][0] < 0:
                    break
                known = s.at[self.last][1]
        for id, ticket in enumerate(s.tickets, 1):
            if ticket.status == "IN_PROGRESS":
                return f"ticket {id} stays IN_PROGRESS for ever"
        for id, generation, status in s.sessions:
            if status == "active":
                return f"session {generation} of ticket {id} stays active for ever"
        reserved = {k for i, t in enumerate(s.tickets, 1) if t.status in LIVE for k in KEYS[i]}
        for key in NAMES:
            if key not in reserved and not self.after[0].takeable(s, key):
                return f"{key} stays blocked for ever"
        return None


def scenes(fault, size):
    works = [
        ("done, reconcile, start of the other", [(Done, 1), (Reconcile, 1), (Start, 2)]),
        ("two reconciles and a new start", [(Reconcile, 1), (Reconcile, 1), (Start, 1)]),
        ("done, reconcile, acquire", [(Done, 1), (Reconcile, 1), (Acquire,)]),
    ]
    ready = [
        ("both start", [(Start, 1), (Start, 2), (Reconcile, 1)]),
        ("two start the same", [(Start, 1), (Start, 1), (Reconcile, 1)]),
    ]
    if size == "long":
        works += [("done, two reconciles, start of the other", [(Done, 1), (Reconcile, 1), (Reconcile, 1), (Start, 2)])]
        ready += [("both start, twice", [(Start, 1), (Start, 2), (Start, 1)]), ("start, acquire, reconcile", [(Start, 1), (Acquire,), (Reconcile, 1)])]
    for name, commands in works:
        yield name, Tickets(fault, commands, 1 if size == "short" else 2, works=True)
    for name, commands in ready:
        yield name, Tickets(fault, commands, 1 if size == "short" else 2)


if __name__ == "__main__":
    main(__doc__, scenes)
