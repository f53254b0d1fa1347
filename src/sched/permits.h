/* SPDX-License-Identifier: MIT */
/*
 * Permits: the right to run tasks. A pool has as many as it was given workers.
 * A worker that waits inside a task hands its permit to a spare one, which is
 * a worker like all others, with a deque that all may rob; there are as many
 * spares as were ever needed at once.
 *
 *	          wait_begin()                      wait_end()
 *	enabled ──────────────► blocked ──────────────────────► enabled
 *	   ▲ │ too many, between two tasks
 *	   │ ▼
 *	retired: asleep, and not in the idle set
 *
 * Who blocks enables a retired worker (or starts one) by admitting it to the
 * idle set as a sleeper: it is woken when there is work for it, now or later,
 * and not before. Who comes back goes on at once; if that makes one too many,
 * a sleeper is withdrawn, or else the next worker to finish a task retires.
 * So a wait in which nothing happens costs no switch of threads.
 *
 *	permits		enabled, blocked
 *	quiet		all enabled asleep, none blocked, no guest (pool.c)
 *
 * A retired worker's deque need not be empty: what lies there is public.
 */
#ifndef WSRT_SCHED_PERMITS_H
#define WSRT_SCHED_PERMITS_H

#include "sched/pool.h"

#define PERMIT_ENABLED 1u
#define PERMIT_BLOCKED (1u << 16)

static inline unsigned permits_enabled(uint32_t permits)
{
	return permits & 0xffff;
}

static inline unsigned permits_blocked(uint32_t permits)
{
	return permits >> 16;
}

/* Whether a worker that has finished a task should retire. */
static inline bool permits_surplus(struct wsrt_pool *pool)
{
	return permits_enabled(atomic_load_explicit(&pool->permits,
						    memory_order_relaxed)) >
	       pool->worker_count;
}

/* Hands over. False: no other would be left. */
bool permits_give(struct worker *worker);
void permits_take(struct worker *worker);

/* Sleeps until needed, then is a searcher. False: not one too many after all. */
bool permits_retire(struct worker *worker);

/* All retired workers become sleepers like the others, to be sent home. */
void permits_enable_all(struct wsrt_pool *pool);

#endif
