/*
How settlements wake the loop thread, for the model checker Spin (https://spinroot.com). The comment at the beginning of
ring.pml explains how to read such a model.

The loop waits on a pipe. A settlement writes to the pipe only if the loop waits for it, because both ends of a wake-up cost
a system call. Whatever else wakes the loop, for example the request to stop, writes to the pipe every time.

What is checked: the loop never keeps waiting while there is something to do. The only end is that the loop has acted on
each settlement and has stopped; otherwise Spin reports an invalid end state. Each wait causes at most one write by a
settlement.

Faults, each of which must be found:
  LOOKFIRST     the loop looks for settlements, and says in a second step that it waits
  NOLOOK        the loop says that it waits, and does not look for settlements since its turn
  LOOKBEHIND    the loop looks for settlements since a moment after it has taken the prefix
  DRAINLATE     the loop empties the pipe after it has looked for the request to stop, not before
  WRITEALWAYS   settlements write although the loop does not wait
*/
#ifndef SETTLEMENTS
#define SETTLEMENTS 3
#endif

byte settled;           /* messages that the loop can acknowledge; protected by the lock, as isWaiting is */
bool isWaiting;
byte taken;             /* messages of which the loop has taken the acknowledgement */
bool isStopping;
byte pipe;              /* bytes in the pipe */
byte readable = 1;      /* how often the link becomes readable, which ends a wait, too */
byte waits, wakes;      /* waits of the loop, and writes by settlements */

/* A thread that settles a message, which the loop can then acknowledge. It writes after it has released the lock. */
proctype Settler() {
    bool mustWake;
    atomic {
        settled++;
#ifdef WRITEALWAYS
        mustWake = true;
#else
        mustWake = isWaiting;
#endif
        isWaiting = false
    }
    if
    :: mustWake -> atomic { pipe++; wakes++ }
    :: else -> skip
    fi
}

proctype Stopper() {
    isStopping = true;
    pipe++
}

active proctype Loop() {
    byte seen, count;
    bool mayWait, mustStop;
    do :: count < SETTLEMENTS -> run Settler(); count++ :: else -> break od;
    run Stopper();
    do
    :: true ->
        /* The turn: what the loop acts on. */
        mustStop = isStopping;
#ifdef DRAINLATE
        pipe = 0;
#endif
        taken = settled;
        seen = taken;
#ifdef LOOKBEHIND
        seen = settled;
#endif
        if
        :: mustStop && taken == SETTLEMENTS -> break
        :: else -> skip
        fi;

        /* beginWaiting */
#ifdef LOOKFIRST
        mayWait = (settled == seen);
        if :: mayWait -> isWaiting = true; waits++ :: else -> skip fi;
#else
        atomic {
#ifdef NOLOOK
            mayWait = true;
#else
            mayWait = (settled == seen);
#endif
            if :: mayWait -> isWaiting = true; waits++ :: else -> skip fi
        }
#endif
        if
        :: mayWait ->                   /* poll */
            if
            :: pipe > 0 ->
#ifndef DRAINLATE
                pipe = 0                /* drain */
#else
                skip
#endif
            :: readable > 0 -> readable--
            fi
        :: else -> skip
        fi;
        isWaiting = false               /* endWaiting */
    od;
    assert(wakes <= waits)
}
