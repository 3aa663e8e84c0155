/*
The acknowledgement ring between a broker, the loop thread and the plugins' threads, for the model checker Spin
(https://spinroot.com). Spin executes every possible interleaving of the steps below and reports the first one that breaks
an assertion or from which nothing can go on although the broker still keeps a message.

How to read it: a `proctype` is a thread. `atomic { guard -> steps }` is one indivisible step that is possible while its
guard holds. Of several `::` alternatives in `do` or `if`, any possible one may be taken, and Spin tries all of them; `else`
is taken if no other is possible. `run` starts a thread. A line that is only a condition waits until it holds.

What is checked:
  - No acknowledgement leaves before its message was settled.
  - Acknowledgements leave in the order of arrival, and none at or behind an abandoned message.
  - No message is lost: the only end is that the broker keeps nothing, and then each message was handled.
  - A packet identifier that the broker uses again, for the same message on the next connection or for another message
    after the acknowledgement, is never taken for one that is still in use.
  - A second settlement of a token, even if it comes after its place in the ring was used again, changes nothing.

Variants, given to Spin with -D:
  MESSAGES, PLACES, CONNECTIONS   sizes; the last connection does not fail, so that an end is possible
  DRAIN                           the next connection begins only when nothing is unsettled, as in the product

Faults, each of which must be found without DRAIN. With DRAIN, ANYGENERATION is none, because no plugin has a token of an
earlier connection then: the two are independent guards of the same property.
  ANYGENERATION       a token of an earlier connection is accepted
  ANYTICKET           a token is accepted if its place in the ring is in use, by whatever message
  SKIPABANDONED       an abandoned message is acknowledged
  PASSING             a released message passes an unsettled one
  KEEPOUTPUT          acknowledgements that were not written are written on the next connection
  KEEPIDENTIFIERS     the identifiers in use are not forgotten with the connection
  LATEIDENTIFIERS     an identifier becomes free only when all pending acknowledgements are written
*/
#ifndef MESSAGES
#define MESSAGES 3
#endif
#ifndef PLACES
#define PLACES 2                /* fewer than messages, so that each is used again */
#endif
#ifndef CONNECTIONS
#define CONNECTIONS 2
#endif
#define IDENTIFIERS PLACES

#ifdef DRAIN
#define MAYRECONNECT (calls == 0)
#else
#define MAYRECONNECT true
#endif

mtype = { unsettled, released, abandoned, taken };   /* taken: only for a fault */

/* The broker: which messages it keeps, and their packet identifiers (MESSAGES: the message has none yet). */
bool kept[MESSAGES];
byte identifier[MESSAGES];
bool isTaken[IDENTIFIERS];      /* identifiers of messages that it has sent and keeps */
byte next;                      /* the next message to send on this connection */
byte expected;                  /* the message from which on an acknowledgement is in order */

/* The ring: tickets head..<tail of this connection. */
byte message[PLACES];
mtype state[PLACES];
byte head, tail, generation;
bool inUse[IDENTIFIERS];

/* Acknowledgements that the loop took from the ring and that are not written yet. */
chan output = [MESSAGES] of { byte };

bool isOpen, isEnding;          /* isEnding: a message was abandoned, so nothing more is read */
bool handled[MESSAGES];         /* settled by a plugin, on whichever connection */
byte calls;                     /* plugins at work */

#if defined(ANYTICKET)
#define MATCHES (g == generation && state[t % PLACES] == unsettled && head < tail)
#elif defined(ANYGENERATION)
#define MATCHES (t >= head && t < tail && state[t % PLACES] == unsettled)
#else
#define MATCHES (g == generation && t >= head && t < tail && state[t % PLACES] == unsettled)
#endif

#ifdef SKIPABANDONED
#define TAKEABLE(s) (s != unsettled)
#else
#define TAKEABLE(s) (s == released)
#endif

/* Settles a token, under the ring's lock. */
inline settle(s) {
    if
    :: MATCHES ->
        state[t % PLACES] = s;
        if :: s == abandoned -> isEnding = true :: else -> skip fi
    :: else -> skip
    fi
}

/* A plugin's call for message m. The core settles twice: first it permits the acknowledgement, then comes the outcome. */
proctype Call(byte g, t, m) {
    if
    :: atomic { handled[m] = true; settle(released) };
       atomic { settle(released); calls-- }
    :: atomic { g < CONNECTIONS - 1 -> settle(abandoned); calls-- }
    fi
}

/* The broker gives its message an identifier that is free, unless it has one from an earlier connection. */
inline identify(m) {
    if
    :: identifier[m] == MESSAGES ->
        i = 0;
        do :: isTaken[i] -> i++ :: else -> break od;
        identifier[m] = i; isTaken[i] = true
    :: else -> skip
    fi
}

/* Takes a place out of the ring, and gives the next acknowledgement to the output. */
inline take(ticket) {
    assert(handled[message[ticket % PLACES]]);
    output!message[ticket % PLACES];
#ifndef LATEIDENTIFIERS
    inUse[identifier[message[ticket % PLACES]]] = false
#endif
}

active proctype Loop() {
    byte m, i;
    do :: i < MESSAGES -> kept[i] = true; identifier[i] = MESSAGES; i++ :: else -> break od;
    isOpen = true;
    do
    /* Read: the broker sends the next message that it keeps. It sends at most PLACES that are not acknowledged. */
    :: atomic { isOpen && !isEnding && tail - head < PLACES && next < MESSAGES && len(output) + tail - head < PLACES ->
           m = next; next++;
           if
           :: kept[m] ->
               identify(m);
               assert(!inUse[identifier[m]]);       /* otherwise the message would be taken for a violation */
               inUse[identifier[m]] = true;
               message[tail % PLACES] = m; state[tail % PLACES] = unsettled;
               calls++; run Call(generation, tail, m);
               tail++
           :: else -> skip
           fi }

    /* Take: one message of the released prefix. */
    :: atomic { isOpen && head < tail && TAKEABLE(state[head % PLACES]) -> take(head); head++ }
#ifdef PASSING
    :: atomic { isOpen && tail - head > 1 && state[head % PLACES] == unsettled && state[(head + 1) % PLACES] == released ->
           take(head + 1); state[(head + 1) % PLACES] = taken }
    :: atomic { isOpen && head < tail && state[head % PLACES] == taken -> head++ }
#endif

    /* Write: one acknowledgement reaches the broker. Between two of these steps, a write was only a partial one. Whether
       the others are still in the output or were lost on their way makes no difference to either side. */
    :: atomic { isOpen && nempty(output) ->
           output?m;
           assert(kept[m] && m >= expected && handled[m]);
           expected = m + 1;
           kept[m] = false; isTaken[identifier[m]] = false;
#ifdef LATEIDENTIFIERS
           if
           :: nempty(output) -> skip
           :: empty(output) ->
               i = 0;
               do :: i < MESSAGES && !kept[i] -> inUse[identifier[i]] = false; i++
                  :: i < MESSAGES && kept[i] -> i++
                  :: i == MESSAGES -> break
               od
           fi
#endif
       }

    /* The connection breaks, at any moment except on the last connection. */
    :: atomic { isOpen && generation < CONNECTIONS - 1 -> isOpen = false }

    /* Reconnect. What was not written is gone, and the broker sends everything again that it keeps. */
    :: atomic { (!isOpen || isEnding) && MAYRECONNECT ->
#ifndef KEEPOUTPUT
           do :: output?m :: empty(output) -> break od;
#endif
#ifndef KEEPIDENTIFIERS
           i = 0; do :: i < IDENTIFIERS -> inUse[i] = false; i++ :: else -> break od;
#endif
           generation++; head = 0; tail = 0; next = 0; expected = 0; isOpen = true; isEnding = false }

    :: atomic { calls == 0 && next == MESSAGES && head == tail && empty(output) && isOpen -> break }
    od;
    i = 0;
    do :: i < MESSAGES -> assert(!kept[i] && handled[i]); i++ :: else -> break od
}
