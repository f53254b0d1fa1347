/* SPDX-License-Identifier: MIT */
/*
 * The protocol of src/park/idle.h, step by step, on sequentially consistent
 * memory, with more workers than the C programs beside it can have. (That the
 * orders make memory so consistent is for those to show.) A producer publishes
 * as many tasks as there are workers, each time as many at once as it likes.
 * Each worker takes one and is gone, as if its task waited for all the others:
 * one that sleeps on while a task waits is a deadlock.
 *
 * park.sh runs it, and these mutants, of which each must fail:
 *	NO_LOOK		the last searcher does not look again
 *	LOOK_FIRST	it looks before it gives up searching
 *	NO_CHAIN	who found work wakes nobody
 *	CHAIN_FIRST	it looks for more before it gives up searching
 *	NO_TOKEN	who gets up by itself leaves a token that is on its way
 *	BIT_LAST	the bit is set after the counts
 *	NOTIFY_FIRST	the woken is counted after it was woken
 */
#ifndef WORKERS
#define WORKERS 3
#endif

/* As in the source, fields of one word, which borrow from one another. */
#define SLEEPER 1
#define SEARCHER 16
#define SLEEPERS(counts) ((counts) & 15)
#define SEARCHERS(counts) (((counts) >> 4) & 15)

mtype = { RUNNING, PARKED, NOTIFIED };

byte queue;
int counts;
bool bit_set[WORKERS];
mtype word[WORKERS];

inline notify()
{
	seen = counts;
	if
	:: SLEEPERS(seen) && !SEARCHERS(seen) -> wake()
	:: else
	fi;
	seen = 0
}

/* The lowest bit, as ctz finds it. */
inline wake()
{
	do
	:: atomic {
		sleeper = 0;
		do
		:: sleeper < WORKERS && !bit_set[sleeper] -> sleeper++
		:: else -> break
		od
	   };
	   if
	   :: sleeper == WORKERS -> break
	   :: else
	   fi;
	   d_step {
		cleared = bit_set[sleeper];
		bit_set[sleeper] = false
	   };
	   if
	   :: cleared ->
#ifdef NOTIFY_FIRST
		word[sleeper] = NOTIFIED;
		counts = counts + SEARCHER - SLEEPER;
#else
		counts = counts + SEARCHER - SLEEPER;
		word[sleeper] = NOTIFIED;
#endif
		break
	   :: else
	   fi
	od;
	skip;
	d_step { sleeper = 0; cleared = false }
}

active proctype producer()
{
	byte left = WORKERS, sleeper;
	int seen;
	bool cleared;

	do
	:: left > 0 ->
		atomic {
			queue++;
			left--;
			do
			:: left > 0 -> queue++; left--
			:: break
			od
		};
		notify()
	:: else -> break
	od
}

active [WORKERS] proctype worker()
{
	byte self = _pid - 1, sleeper;
	int seen;
	bool searching, last, more, cleared;

	seen = counts;
	if
	:: 2 * SEARCHERS(seen) >= WORKERS && WORKERS > 1
	:: else -> counts = counts + SEARCHER; searching = true
	fi;
	seen = 0;

again:	if
	:: !searching
	:: searching ->
		if
		:: atomic { queue > 0 -> queue-- }; goto found
		:: queue == 0
		fi
	fi;

	/* Falls asleep. */
	word[self] = PARKED;
#ifdef LOOK_FIRST
	more = queue > 0;
#endif
#ifndef BIT_LAST
	bit_set[self] = true;
#endif
	d_step {
		counts = counts + SLEEPER - (searching -> SEARCHER : 0);
		last = SEARCHERS(counts) == 0
	};
#ifdef BIT_LAST
	bit_set[self] = true;
#endif
#ifdef NO_LOOK
	last = false;
#endif
#ifndef LOOK_FIRST
	more = queue > 0;
#endif
	searching = true;
	if
	:: last && more -> /* gets up */
		d_step { cleared = bit_set[self]; bit_set[self] = false };
		if
		:: cleared ->
			cleared = false;
			counts = counts + SEARCHER - SLEEPER;
			word[self] = RUNNING;
			d_step { last = false; more = false };
			goto again
		:: else
#ifdef NO_TOKEN
			-> word[self] = RUNNING; goto again
#endif
		fi
	:: else
	fi;
	d_step { last = false; more = false };
	word[self] != PARKED;
	word[self] = RUNNING;
	goto again;

found:	skip;
#ifdef CHAIN_FIRST
	more = queue > 0;
#endif
	d_step {
		last = SEARCHERS(counts) == 1 && SLEEPERS(counts);
		counts = counts - SEARCHER
	};
#ifndef CHAIN_FIRST
	more = queue > 0;
#endif
#ifndef NO_CHAIN
	if
	:: last && more -> notify()
	:: else
	fi
#endif
}
