/* SPDX-License-Identifier: MIT */
/*
 * Parking: how workers with nothing to do fall asleep, and how they are woken,
 * so that no task waits while a worker sleeps, and nobody is woken for nothing.
 *
 * A worker is running (it has work), searching (it looks for some) or asleep.
 * One word counts searchers and sleepers; a bit for each worker says whom to
 * wake; each worker sleeps on a futex word of its own, its parker.
 *
 *	parker		RUNNING ──own──► PARKED ──waker──► NOTIFIED ──own──► RUNNING
 *	counts		searchers, sleepers, and how often one fell asleep
 *	bit		set: asleep, nobody woke it yet
 *
 *	producer				worker
 *	publish, or claim	(1)		w[word] = PARKED
 *	r[counts]		(2)		set bit
 *	if sleepers and no searchers:		rmw[counts] searchers - 1,
 *		clear a bit			    sleepers + 1	(3)
 *		rmw[counts] searchers + 1,	if no searcher is left:
 *		    sleepers - 1		    r[every queue]	(4)
 *		x[word] = NOTIFIED, wake	    work: clear own bit or take
 *						    the token, search on
 *						sleep while PARKED
 *
 * (1) to (4) are seq_cst, thus in one order that all agree on. At (1) a deque
 * publishes what it holds; the injector claims a slot, to be filled before (2)
 * in the program's order. A slot claimed counts as work at (4), filled or not.
 *
 * No wake-up is lost. Take a task that came at (1). If the last worker to fall
 * asleep read the queues at (4) after it, that worker found the task, and goes
 * on. Else its (3) came before its (4), that before (1), and that before (2):
 * the producer saw a sleeper. If it also saw no searcher, it woke one. If it
 * saw a searcher, that one has yet to stop searching: either it finds work, and
 * looks again once it no longer counts as a searcher (idle_search_end()), or it
 * falls asleep, at (3) after (2); the last searcher to do so reads at (4), after
 * (1). So only the last searcher need look.
 *
 * A woken worker counts as a searcher from the moment its bit is cleared. Two
 * producers thus do not wake two for one task, and a burst wakes a chain: who
 * found work, and was the last searcher, wakes the next if there is more.
 *
 * A bit is cleared by exactly one thread, which owes the counts their update
 * and the parker its token. A worker that wants to get up by itself clears its
 * bit; when that is gone, a token is on its way, and it waits for that.
 *
 * Rejected: membarrier() by the sleeper instead of seq_cst by the producer: it
 * interrupts every CPU that runs a worker (47 us measured, 1 us when none
 * runs), for 5 ns a publishing push. Timed sleeps: they hide lost wake-ups and
 * cost an idle machine its sleep.
 */
#ifndef WSRT_PARK_IDLE_H
#define WSRT_PARK_IDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/alloc.h"

/* Where one worker sleeps. Others write it, to wake it. */
struct parker {
	_Alignas(CACHE_PAIR) _Atomic uint32_t word; /* enum parker_word */
	unsigned bit; /* I: word * 64 + bit in the idle set */
};

enum parker_word {
	PARKER_RUNNING,
	PARKER_PARKED,
	PARKER_NOTIFIED,
};

struct idle_word {
	_Alignas(
		CACHE_LINE) _Atomic uint64_t asleep; /* a bit for each worker */
};

/* I: set at init, A: atomic */
struct idle_set {
	/* A falls asleep 32 | searchers 16 | sleepers 16 */
	_Alignas(CACHE_PAIR) _Atomic uint64_t counts;

	_Alignas(CACHE_PAIR) unsigned worker_count; /* I */
	unsigned word_count;			    /* I */
	unsigned *node_words;	 /* I first word of each node's workers */
	struct idle_word *words; /* I */
	struct parker **parkers; /* I by bit */
};

/*
 * @nodes: of each worker, in [0, node_count). @spare_count: how many more may
 * be added later. 0 or -ENOMEM.
 */
int idle_init(struct idle_set *set, const unsigned *nodes,
	      unsigned worker_count, unsigned node_count, unsigned spare_count);
void idle_fini(struct idle_set *set);
/*
 * A worker of @node, which sleeps on @parker. Before it sleeps, and not by two
 * threads at once.
 */
void idle_add(struct idle_set *set, struct parker *parker, unsigned node);

#define IDLE_SLEEPER 1ull
#define IDLE_SEARCHER (1ull << 16)
#define IDLE_FALL (1ull << 32)

static inline unsigned idle_sleepers(uint64_t counts)
{
	return counts & 0xffff;
}

static inline unsigned idle_searchers(uint64_t counts)
{
	return counts >> 16 & 0xffff;
}

static inline uint64_t idle_counts(struct idle_set *set)
{
	/* (2) Pairs with (3) in add_sleeper(). */
	return atomic_load_explicit(&set->counts, memory_order_seq_cst);
}

/* After publishing, seq_cst: whether to call idle_wake(). */
static inline bool idle_wants_wake(struct idle_set *set)
{
	uint64_t counts = idle_counts(set);

	return idle_sleepers(counts) && !idle_searchers(counts);
}

/* Wakes one sleeper, of @node if it can; false when there is none. */
bool idle_wake(struct idle_set *set, unsigned node);

/* False when half of the workers search already: then fall asleep. */
bool idle_search_begin(struct idle_set *set);

/* Found work. True: look at the queues and wake one if there is more. */
bool idle_search_end(struct idle_set *set);

/*
 * Becomes a sleeper, no longer a searcher if it was @searching. True: look at
 * every queue; then idle_get_up() if there is work, else idle_sleep().
 */
bool idle_fall_asleep(struct idle_set *set, struct parker *parker,
		      bool searching);

/* Goes on as a searcher, without having slept or after a moment of it. */
void idle_get_up(struct idle_set *set, struct parker *parker);

/* Sleeps until woken, then is a searcher. */
void idle_sleep(struct parker *parker);

/*
 * Spare workers sleep outside the set until they are needed. To admit one that
 * sleeps so (its parker prepared): as if it fell asleep now; the caller looks
 * at the queues if that says so. To withdraw a sleeper: it sleeps on, and
 * nobody wakes it; the caller has to look in its stead. NULL: none there.
 */
bool idle_admit(struct idle_set *set, struct parker *parker);
struct parker *idle_withdraw(struct idle_set *set);

/*
 * The same word for waits that have a waker of their own: announce with
 * parker_prepare(), let the waker know, then idle_sleep(), or take it back
 * with parker_cancel() when the waker did not take notice.
 */
void parker_prepare(struct parker *parker);
void parker_cancel(struct parker *parker);
void parker_notify(struct parker *parker);

#endif
