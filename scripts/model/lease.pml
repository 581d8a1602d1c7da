/*
lease: one owner at a time, generations that rise, whatever is killed at whichever file operation.

The rule
    The record of a key is read, judged and written under the exclusive lock of its lock file, with the locks of
    its ancestors shared; an ancestor's exclusive lock covers all below it. A lock file may be removed by gc, which
    has it exclusively then: after every locking the inode that is locked is compared with the path, and if it
    changed the lock is taken anew. Who finds the leases above, at and below its key free, dead or silent buries
    those (tombstone, then unlink) and writes its own at max(lease, tombstone, floor) + 1. A dead ancestor is
    buried under the shared lock of its lock file, so those who do it take turns by a lock on the lease itself.
    gc raises the floor to the ceiling before it removes a tombstone. A renewal and a release compare generation
    and holder first. Then
      * every grant of a key has a higher generation than any before,
      * never do two processes rely on leases that overlap,
      * no record is ever half,
      * nobody waits for ever.

What is explored
    Keys a, a/b, a/c. Each process picks a key, acquires, perhaps renews, and releases. A process may be killed
    between any two operations on files; a record may run out (TTL) at any time, its holder being told before
    (that it is: see timing.py); gc may collect a/b.
    Not in it: what is synced (power.py, grants.py), several keys at once (lockorder.py), waiting (waitqueue.py).

The code
    lock       ledgerfs/lock.go (*Ledger).lockKeys, (*Ledger).lock, (*lockedFile).current; fslease/key.go LockPlan
    survey     fslease/survey.go (*acquisition).surveyLeases; fslease/judge.go Judge
    bury       ledgerfs/tx.go (*tx).Bury, (*tx).alone, (*tx).save; ledgerfs/write.go (*Ledger).writeChecked
    grant      fslease/acquire.go (*acquisition).try, write; ledgerfs/tx.go (*tx).NextGeneration, (*tx).Put
    confirm    fslease/lease.go newLease, (*Lease).settle: the holder relies on what is known to be written
    renew      fslease/tenure.go (processTenure).renew; fslease/transition.go CheckToken, Renewed
    release    fslease/tenure.go (processTenure).end, releaseIn, giveUp
    gc         ledgerfs/gckeys.go (*collector).key, clear, oldTombstone; (*Ledger).raiseFloor

size short PROCESSES=2 KILLS=1 EXPIRIES=1 COLLECTIONS=0
size short PROCESSES=2 KILLS=0 EXPIRIES=0 COLLECTIONS=1
size long PROCESSES=3 KILLS=1 EXPIRIES=0 COLLECTIONS=0
size long PROCESSES=3 KILLS=0 EXPIRIES=1 COLLECTIONS=0
size long PROCESSES=3 KILLS=0 EXPIRIES=0 COLLECTIONS=1
size long PROCESSES=2 KILLS=1 EXPIRIES=1 COLLECTIONS=1

fault ancestors-unlocked [PROCESSES=2]: the locks of the ancestors are not taken; a and a/b are both granted
fault lock-shared [PROCESSES=2]: a key is locked shared; it is granted twice
fault no-inode-check [PROCESSES=2 COLLECTIONS=1]: a lock file that gc removed still counts; two are inside
fault no-tombstone [PROCESSES=2]: a release only unlinks; the next generation is one that was had before
fault unlink-first [PROCESSES=2 KILLS=1]: the lease is unlinked before its tombstone is written; killed in between, its generation is had again
fault bury-together [PROCESSES=3 KILLS=1]: two bury a dead ancestor at the same time; a half tombstone is seen
fault renew-unchecked [PROCESSES=2 EXPIRIES=1]: a renewal compares nothing; the old holder is back
fault release-unchecked [PROCESSES=2 EXPIRIES=1 ROUNDS=2]: a release compares nothing; it takes the successor's lease away
fault judge-itself-fresh [PROCESSES=2 EXPIRIES=1]: a stamp that ran out before it was written is relied upon
fault gc-keeps-floor [PROCESSES=2 COLLECTIONS=1]: gc does not raise the floor; a key begins anew at 1
fault hand-removes-lease [PROCESSES=2 HANDS=1]: (a limit, not a bug) a hand deletes the only file of a held key
*/
#ifndef PROCESSES
#define PROCESSES 2
#endif
#ifndef KILLS
#define KILLS 0
#endif
#ifndef EXPIRIES
#define EXPIRIES 0
#endif
#ifndef COLLECTIONS
#define COLLECTIONS 0
#endif
#ifndef HANDS
#define HANDS 0
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif

#define KEYS 3 /* 0 is a, 1 is a/b, 2 is a/c */
#define OVERLAP(x, y) ((x) == (y) || (x) == 0 || (y) == 0)
#define MAX(x, y) ((x) > (y) -> (x) : (y))
#define ME (1 << me)
#define NOBODY 255

/* Locks. gc may replace a lock file once, so a key has one of two inodes. */
byte inode[KEYS];
#define FILE(k, i) (2 * (k) + (i))
byte exclusive[2 * KEYS]; /* who has it, plus 1 */
byte shared[2 * KEYS];    /* bits of those who do */
byte onlease;             /* who has the lock on the lease file of a, plus 1 */

/* Files. Generations of lease and tombstone; 0: no file. */
byte lease[KEYS], holder[KEYS], tomb[KEYS], floor;
bit fresh[KEYS];          /* the stamp in the lease has not run out */
byte temp, tempowner;     /* the temporary file of the tombstone of a: 1 half, 2 whole */

/* What is never forgotten, to check against. */
byte highest[KEYS], ceiling;

/* Processes. */
bit dead[PROCESSES];
byte relies[PROCESSES];   /* on its lease of this key, plus 1 */
bit ontime[PROCESSES];    /* and has not been told that it ran out */
bit stamped[PROCESSES];   /* a stamp that is being written has not run out */
bit written[PROCESSES];   /* and it is in the lease */
byte kills, expiries, collections, hands;

#define HELD(k) (lease[k] > 0 && lease[k] > tomb[k])
#define TAKEABLE(k) (!HELD(k) || dead[holder[k]] || !fresh[k])
#define MINE(k, g) (HELD(k) && lease[k] == g && holder[k] == me)
#define RELIES(p) (relies[p] > 0 && ontime[p] && !dead[p])
#define BOTH(p, q) (RELIES(p) && RELIES(q) && OVERLAP(relies[p] - 1, relies[q] - 1))

inline rely(k) {
   atomic {
      relies[me] = k + 1; ontime[me] = stamped[me];
#ifdef FAULT_JUDGE_ITSELF_FRESH
      ontime[me] = 1;
#endif
      assert(!BOTH(0, 1));
#if PROCESSES > 2
      assert(!BOTH(0, 2)); assert(!BOTH(1, 2));
#endif
   }
}

#define FREE_FOR_ME(f) (exclusive[f] == 0 && (shared[f] & (255 - ME)) == 0)

/* The lock file of key k is opened, locked, and looked at again. */
inline lock_key(k) {
   do
   :: i = inode[k];
#ifdef FAULT_LOCK_SHARED
      atomic { exclusive[FILE(k, i)] == 0 -> shared[FILE(k, i)] = shared[FILE(k, i)] | ME };
#else
      atomic { FREE_FOR_ME(FILE(k, i)) -> exclusive[FILE(k, i)] = me + 1 };
#endif
#ifdef FAULT_NO_INODE_CHECK
      break
#else
      if
      :: atomic { inode[k] == i -> break }
      :: else -> exclusive[FILE(k, i)] = 0
      fi
#endif
   od
}

/* The locks of key k: those above it shared, its own exclusively. gc never removes that of a: something is below. */
inline lock(k) {
#ifndef FAULT_ANCESTORS_UNLOCKED
   if
   :: k > 0 -> atomic { exclusive[FILE(0, 0)] == 0 -> shared[FILE(0, 0)] = shared[FILE(0, 0)] | ME }
   :: else
   fi;
#endif
   lock_key(k)
}

inline drop(f) {
   if :: exclusive[f] == p + 1 -> exclusive[f] = 0 :: else fi;
   shared[f] = shared[f] & (255 - (1 << p))
}

inline unlock_all(who) {
   d_step {
      p = who;
      drop(0); drop(1); drop(2); drop(3); drop(4); drop(5);
      if :: onlease == p + 1 -> onlease = 0 :: else fi;
      p = 0
   }
}

/* Gives up the lease of generation gen of key which, under its lock. */
inline give_up(which, gen) {
#ifdef FAULT_UNLINK_FIRST
   atomic { if :: lease[which] == gen -> lease[which] = 0 :: else fi };
   tomb[which] = MAX(tomb[which], gen)
#else
#ifndef FAULT_NO_TOMBSTONE
   tomb[which] = MAX(tomb[which], gen);
#endif
   atomic { if :: lease[which] == gen -> lease[which] = 0 :: else fi }
#endif
}

/* Buries a, of generation gen, under the shared lock of its lock file: others may be at it too. */
inline bury_ancestor(gen) {
   if
#ifdef FAULT_BURY_TOGETHER
   :: lease[0] == gen
#else
   :: atomic { lease[0] == gen && onlease == 0 -> onlease = me + 1 }
#endif
   -> if
      :: tomb[0] >= gen
      :: else ->
         atomic { temp = 1; tempowner = me };                           /* O_EXCL; one that a crash left is removed */
         atomic { if :: tempowner == me && temp == 1 -> temp = 2 :: else fi }; /* what is written goes into one's own file */
         atomic {                                                       /* rename, whatever is at that name */
            if
            :: temp > 0 -> assert(temp == 2); tomb[0] = gen; temp = 0; tempowner = NOBODY
            :: else
            fi
         }
      fi;
      atomic { if :: lease[0] == gen -> lease[0] = 0 :: else fi };
      onlease = (onlease == me + 1 -> 0 : onlease)
   :: lease[0] != gen /* somebody else buried it */
   fi
}

proctype Process(byte me) {
   byte key, round, g, i, p, x;
   bit refused;
   {
   do
   :: round < ROUNDS ->
      round++;
      if :: key = 0 :: key = 1 :: key = 2 fi;

      /* Acquire. */
      lock(key);
      atomic {
         refused = !TAKEABLE(key) || (key > 0 && !TAKEABLE(0)) || (key == 0 && (!TAKEABLE(1) || !TAKEABLE(2)))
      };
      if
      :: refused -> skip
      :: else ->
         if
         :: key > 0 && HELD(0) -> x = lease[0]; bury_ancestor(x); x = 0
         :: key == 0 ->
            if :: HELD(1) -> x = lease[1]; give_up(1, x); x = 0 :: else fi;
            if :: HELD(2) -> x = lease[2]; give_up(2, x); x = 0 :: else fi
         :: else
         fi;
         if :: HELD(key) -> x = lease[key]; give_up(key, x); x = 0 :: else fi;
         atomic { g = MAX(MAX(lease[key], tomb[key]), floor) + 1; stamped[me] = 1; written[me] = 0 };
         atomic {
            assert(g > highest[key]);
            lease[key] = g; holder[key] = me; fresh[key] = stamped[me]; written[me] = 1;
            highest[key] = g; ceiling = MAX(ceiling, g)
         }
      fi;
      unlock_all(me);
      if :: refused -> goto next :: else fi;
      rely(key);

      /* Renew, or not. */
      if
      :: true ->
         lock(key);
         atomic { stamped[me] = 1; written[me] = 0 };
         if
#ifdef FAULT_RENEW_UNCHECKED
         :: true ->
#else
         :: MINE(key, g) ->
#endif
            atomic { lease[key] = g; holder[key] = me; fresh[key] = stamped[me]; written[me] = 1 };
            unlock_all(me);
            rely(key)
#ifndef FAULT_RENEW_UNCHECKED
         :: else -> atomic { relies[me] = 0 }; unlock_all(me)
#endif
         fi
      :: true
      fi;

      /* Release: the work has ended before. */
      relies[me] = 0;
      lock(key);
      if
#ifdef FAULT_RELEASE_UNCHECKED
      :: lease[key] > 0 -> x = lease[key]; tomb[key] = MAX(tomb[key], g); lease[key] = 0; x = 0
#else
      :: MINE(key, g) -> give_up(key, g)
#endif
      :: else
      fi;
      unlock_all(me);
next: atomic { refused = 0; g = 0; key = 0; i = 0; relies[me] = 0; ontime[me] = 0; stamped[me] = 0; written[me] = 0 }
   :: else -> break
   od
   } unless { dead[me] }
}

/* gc collects a/b, if nobody is at it: it waits for no lock. */
proctype Collector() {
   byte me = PROCESSES, p, i;
   collections < COLLECTIONS;
   collections++;
#ifndef FAULT_GC_KEEPS_FLOOR
   floor = ceiling; /* durably */
#endif
   if
   :: atomic { exclusive[FILE(0, 0)] == 0 -> shared[FILE(0, 0)] = shared[FILE(0, 0)] | ME };
      if
      :: atomic { FREE_FOR_ME(FILE(1, 0)) -> exclusive[FILE(1, 0)] = me + 1 };
         if
#ifdef FAULT_GC_KEEPS_FLOOR
         :: lease[1] == 0 ->
#else
         :: lease[1] == 0 && tomb[1] <= floor ->
#endif
            tomb[1] = 0;
            inode[1] = 1 /* the lock file is unlinked: who needs it makes another */
         :: else
         fi
      :: exclusive[FILE(1, 0)] != 0
      fi
   :: exclusive[FILE(0, 0)] != 0
   fi;
   unlock_all(me)
}

active proctype Environment() {
   byte p, k;
end:
   do
   :: atomic { kills < KILLS ->
         if :: !dead[0] -> k = 0 :: !dead[1] -> k = 1
#if PROCESSES > 2
            :: !dead[2] -> k = 2
#endif
         fi;
         kills++; dead[k] = 1; relies[k] = 0; unlock_all(k); k = 0 }
      /* A record runs out. The holder was told; a stamp of it that is still on its way is as old. */
   :: atomic { expiries < EXPIRIES && (lease[0] || lease[1] || lease[2]) -> expiries++;
         if :: lease[0] -> k = 0 :: lease[1] -> k = 1 :: lease[2] -> k = 2 fi;
         p = holder[k]; fresh[k] = 0; ontime[p] = 0;
         if :: written[p] -> stamped[p] = 0 :: else fi;
         p = 0; k = 0 }
      /* A stamp runs out before it is written, and all that the process wrote before it. */
   :: atomic { expiries < EXPIRIES -> expiries++;
         if :: p = 0 :: p = 1
#if PROCESSES > 2
            :: p = 2
#endif
         fi;
         stamped[p] = 0; ontime[p] = 0;
         if :: lease[0] > 0 && holder[0] == p -> fresh[0] = 0 :: else fi;
         if :: lease[1] > 0 && holder[1] == p -> fresh[1] = 0 :: else fi;
         if :: lease[2] > 0 && holder[2] == p -> fresh[2] = 0 :: else fi; p = 0 }
#ifdef FAULT_HAND_REMOVES_LEASE
   :: atomic { hands < HANDS -> hands++; if :: k = 0 :: k = 1 :: k = 2 fi; lease[k] = 0; k = 0 }
#endif
   od
}

init {
   atomic {
      tempowner = NOBODY;
      run Process(0); run Process(1);
#if PROCESSES > 2
      run Process(2);
#endif
#if COLLECTIONS > 0
      run Collector();
#endif
   }
}
