/*
fence: no two commands work under overlapping keys, whatever is killed, stopped or lost.

The rule
    The lease first, then the fence: an exclusive flock on the key's fence file, shared ones on those of its
    ancestors, all or none, without waiting; nothing is held while one waits, and losing the lease ends the wait.
    What was had under the locks of the lease needs no second look; otherwise the record is read again under
    them. Then the command is started; it inherits the descriptors. Its process is noted, and whoever buries a
    dead or silent holder notes it as an orphan first: a successor waits for the fence and for that process,
    for a command may close what it inherited. Only a command that ended by itself (no signal sent or
    received, nothing lost) is unfenced: LOCK_UN frees the fence for everybody who inherited it, so a daemon
    keeps nothing. A run within a run, or a shell, that hands on by its exit code that what it ran was ended by a
    signal (128+n) or for a lost lease (76) has not ended by itself. After any other end, and when the wrapper is
    killed, the fence lasts until the last process that inherited it is gone. Then
      * no two commands, nor what is left of one, work under overlapping keys at once,
      * on overlapping keys commands start in the order of their generations,
      * nobody waits for ever.

What is explored
    Keys a, a/b, a/b/c. Each wrapper takes one, waits for the fence, starts a command that may start a helper,
    and ends. Wrappers are killed at any step; leases run out at any time (a wrapper may be stopped, so its command
    is not told); commands are killed by whoever sends a signal, and what they ran in their turn too. The inside of
    the lease is in lease.pml.

The code
    lease      fslease/acquire.go (*acquisition).write, which takes the fence under the locks if it is free
    fence      ledgerfs/fence.go (*Ledger).TryFence, addFence; fslease/fenced.go (*Manager).awaitFence
    look again fslease/fenced.go (*Lease).awaitFence, verify
    start      cmd/internal/child/command.go Start; cmd/internal/cli/run.go (*call).runHeld
    note       cmd/internal/cli/run.go (*call).noteCommand; ledgerfs/orphan.go (*Presence).NoteCommand; of a command
               that works under a lease of others (*Ledger).NoteFenced
    bury       ledgerfs/tx.go (*tx).Bury: ledgerfs/orphan.go (*Ledger).noteOrphan and noteExec before the tombstone
    orphans    ledgerfs/orphan.go (*Ledger).orphans, asked by TryFence
    lost       cmd/internal/cli/runloss.go (*call).attend
    end        cmd/internal/cli/run.go (*call).settle: (*Lease).Unfence only if nothing was lost and
               endedByItself in cmd/internal/cli/fenced.go says so;
               fslease/lease.go (*Lease).Release

size short WRAPPERS=2 EXPIRIES=1
size short WRAPPERS=2 KILLS=1 CLOSES=1
size long WRAPPERS=2 KILLS=1 EXPIRIES=1 CLOSES=1
size long WRAPPERS=3

fault not-inherited [WRAPPERS=2 KILLS=1]: the command does not inherit the fence; its wrapper is killed, and two work
fault unlock-after-signal [WRAPPERS=2]: the fence is unlocked after a killed command too; its helper works on
fault unlock-after-handed-on-signal [WRAPPERS=2]: the fence is unlocked when the exit code says that what the command ran was killed; its helper works on
fault unlock-after-loss [WRAPPERS=2 EXPIRIES=1]: the fence is unlocked when the lease was lost; its helper works on
fault ancestors-unfenced [WRAPPERS=2 KILLS=1]: the fences of the ancestors are not taken; a and a/b work at once
fault no-second-look [WRAPPERS=3 EXPIRIES=2 ONE_KEY=1]: the record is not read again after the wait; an old generation starts late
fault no-orphan-note [WRAPPERS=2 KILLS=1 CLOSES=1]: who buries a holder does not note its command; one that closed the fence works on
fault orphans-not-asked [WRAPPERS=2 KILLS=1 CLOSES=1]: the fence is taken without asking for orphans
fault closes-unnoted [WRAPPERS=2 KILLS=1 CLOSES=1]: (a limit, not a bug) a command closes what it inherited before it was noted, or its lease ran out before that, and its wrapper is killed
*/
#ifndef WRAPPERS
#define WRAPPERS 2
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef EXPIRIES
#define EXPIRIES 0
#endif
#ifndef CLOSES
#define CLOSES 0
#endif

#define KEYS 3 /* 0 is a, 1 is a/b, 2 is a/b/c: each overlaps each, and fences that of the one above only shared */
#define ME (1 << me)

/* Leases. */
byte holder[KEYS], generation[KEYS];
bit held[KEYS], fresh[KEYS];
byte next;              /* the highest generation: one counter will do, as all keys overlap */
byte began;             /* the highest generation whose command was started */

/* Fences. The descriptors of wrapper w are one open file each, shared by who inherited them. */
byte exclusive[KEYS];   /* the wrapper whose file has it, plus 1 */
byte shared[KEYS];
byte has[WRAPPERS];     /* who has the descriptors of w: bits of WRAPPER, COMMAND, HELPER */
#define WRAPPER 1
#define COMMAND 2
#define HELPER 4

/* Processes. */
bit dead[WRAPPERS];     /* the wrapper was killed */
bit works[WRAPPERS];    /* the command */
bit helps[WRAPPERS];    /* what it started, and left as part of its work or as a daemon */
bit daemon[WRAPPERS];   /* the latter: not part of the work */
bit gone[WRAPPERS];     /* the command is no process any more, or never was */
bit noted[WRAPPERS];    /* holders/<id>.command.json */
bit orphan[WRAPPERS];   /* orphans/<id>.json */
bit told[WRAPPERS];     /* it was signalled */
bit handed[WRAPPERS];   /* what it ran was signalled, and its exit code says so */
byte kills, expiries, closes;

#define WORK(w) (works[w] || (helps[w] && !daemon[w]))
inline one_works() {
   assert(!(WORK(0) && WORK(1)));
#if WRAPPERS > 2
   assert(!(WORK(0) && WORK(2))); assert(!(WORK(1) && WORK(2)))
#endif
}

inline free_key(f) {
   if :: exclusive[f] == w + 1 -> exclusive[f] = 0 :: else fi;
   shared[f] = shared[f] & (255 - (1 << w))
}

/* LOCK_UN: free for everybody who has the descriptors. */
inline unlock(who) { w = who; free_key(0); free_key(1); free_key(2); w = 0 }

/* One of those who have the descriptors closes them; the last one frees the fence. */
inline close(who, part) {
   has[who] = has[who] & (255 - part);
   if :: has[who] == 0 -> unlock(who) :: else fi
}

#ifdef FAULT_CLOSES_UNNOTED
#define MAY_CLOSE true
#else
#define MAY_CLOSE noted[me]
#endif
#define TAKEABLE(k) (!held[k] || dead[holder[k]] || !fresh[k])
#define MINE (held[key] && holder[key] == me && generation[key] == g)
#ifdef FAULT_ANCESTORS_UNFENCED
#define FENCED(k) (exclusive[k] == 0)
#else
#define FENCED(k) (exclusive[k] == 0 && (shared[k] & (255 - ME)) == 0 && (k < 1 || exclusive[0] == 0) && (k < 2 || exclusive[1] == 0))
#endif
#define LIVING_ORPHAN(x) (orphan[x] && x != me && !gone[x])
#ifdef FAULT_ORPHANS_NOT_ASKED
#define ORPHANS false
#elif WRAPPERS > 2
#define ORPHANS (LIVING_ORPHAN(0) || LIVING_ORPHAN(1) || LIVING_ORPHAN(2))
#else
#define ORPHANS (LIVING_ORPHAN(0) || LIVING_ORPHAN(1))
#endif

/* TryFence that succeeds. That it takes one file after the other, and drops all if one is not to be had, only
   makes others try again. */
inline take_fence() {
   exclusive[key] = me + 1;
#ifndef FAULT_ANCESTORS_UNFENCED
   if :: key > 0 -> shared[0] = shared[0] | ME :: else fi;
   if :: key > 1 -> shared[1] = shared[1] | ME :: else fi;
#endif
   has[me] = WRAPPER
}

inline bury(k) {
   if
   :: held[k] ->
#ifndef FAULT_NO_ORPHAN_NOTE
      if :: noted[holder[k]] && !gone[holder[k]] -> orphan[holder[k]] = 1 :: else fi;
#endif
      held[k] = 0
   :: else
   fi
}

proctype Wrapper(byte me) {
   byte key, g, w;
   bit lost, disturbed;
   {
#ifndef ONE_KEY
   if :: key = 0 :: key = 1 :: key = 2 fi;
#endif

   /* The lease: one step under the locks, with the fence if that is free. */
   atomic {
      TAKEABLE(0) && TAKEABLE(1) && TAKEABLE(2) ->
      bury(0); bury(1); bury(2);
      next++; g = next;
      held[key] = 1; holder[key] = me; generation[key] = g; fresh[key] = 1;
      if
      :: FENCED(key) && !ORPHANS -> take_fence()
      :: else
      fi
   };

   /* The fence, and a second look. */
   if
   :: has[me] == WRAPPER
   :: else ->
      if
      :: atomic { FENCED(key) && !ORPHANS -> take_fence() }
      :: !MINE -> lost = 1
      fi;
#ifndef FAULT_NO_SECOND_LOOK
      if
      :: !lost && !MINE -> lost = 1; atomic { close(me, WRAPPER) }
      :: else
      fi
#endif
   fi;
   if :: lost -> goto end :: else fi;

   /* The command is started: from the fork on it has every descriptor that it inherits. */
   atomic {
#ifndef FAULT_NOT_INHERITED
      has[me] = has[me] | COMMAND;
#endif
      assert(g > began); began = g;
      gone[me] = 0;
      run Command(me)
   };
   atomic { if :: MINE -> noted[me] = 1 :: else fi }; /* one that comes after the burial is too late to be an orphan's */

   /* Wait for its end; renew; tell it of a loss, or pass a signal on. */
   do
   :: atomic { gone[me] -> break }
   :: atomic { MINE && !fresh[key] -> fresh[key] = 1 }
   :: atomic { !MINE && !lost -> lost = 1; told[me] = 1 }
   :: atomic { !told[me] -> told[me] = 1; disturbed = 1 }
   od;

   /* Unfence what ended by itself, then give up the lease. */
   atomic {
      if
#ifdef FAULT_UNLOCK_AFTER_SIGNAL
      :: !lost && !handed[me] ->
#elif defined(FAULT_UNLOCK_AFTER_HANDED_ON_SIGNAL)
      :: !lost && !disturbed ->
#elif defined(FAULT_UNLOCK_AFTER_LOSS)
      :: !disturbed && !handed[me] ->
#else
      :: !lost && !disturbed && !handed[me] ->
#endif
         unlock(me)
      :: else
      fi;
      close(me, WRAPPER)
   };
   atomic { if :: MINE -> held[key] = 0 :: else fi };
end: skip
   } unless { dead[me] }
}

proctype Command(byte me) {
   byte w;
   /* Between fork and exec it is no work yet. A signal may end it at any moment. */
   if
   :: atomic { works[me] = 1; one_works() }
   :: told[me] -> goto ends
   fi;
   if
   :: atomic { works[me] && !told[me] -> helps[me] = 1; one_works();
         if :: has[me] & COMMAND -> has[me] = has[me] | HELPER :: else fi }
#if CLOSES > 0
   /* Or it closes what it inherited, as ssh, sudo and Python's subprocess do. */
   :: atomic { closes < CLOSES && MAY_CLOSE -> closes++; close(me, COMMAND) }
#endif
   :: true
   fi;
   if
   :: told[me] -> works[me] = 0                                    /* killed: its helper works on */
   :: atomic { helps[me] -> works[me] = 0; handed[me] = 1 }        /* what it ran was killed: the helper of that works on */
   :: atomic { works[me] = 0; if :: helps[me] -> daemon[me] = 1 :: else fi } /* done: what it leaves is a daemon */
   fi;
ends:
   atomic { close(me, COMMAND); gone[me] = 1 };
   if
   :: helps[me] -> atomic { helps[me] = 0; daemon[me] = 0; close(me, HELPER) }
   :: else
   fi
}

active proctype Environment() {
   byte p, w;
end:
   do
   :: atomic { kills < KILLS ->
         if :: !dead[0] -> p = 0 :: !dead[1] -> p = 1
#if WRAPPERS > 2
            :: !dead[2] -> p = 2
#endif
         fi;
         kills++; dead[p] = 1; close(p, WRAPPER); p = 0 }
   :: atomic { expiries < EXPIRIES && (held[0] || held[1] || held[2]) ->
         if :: held[0] -> fresh[0] = 0 :: held[1] -> fresh[1] = 0 :: held[2] -> fresh[2] = 0 fi; expiries++ }
   od
}

init {
   atomic {
      gone[0] = 1; gone[1] = 1;
#if WRAPPERS > 2
      gone[2] = 1;
#endif
      run Wrapper(0); run Wrapper(1);
#if WRAPPERS > 2
      run Wrapper(2);
#endif
   }
}
