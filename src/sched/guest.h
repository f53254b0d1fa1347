/* SPDX-License-Identifier: MIT */
/*
 * Guests: threads from outside that run forks as a worker while they call in,
 * instead of sleeping until workers have done it. A guest has a deque that all
 * may rob, is nobody's to wake, and takes nothing but what descends from its
 * own call.
 */
#ifndef WSRT_SCHED_GUEST_H
#define WSRT_SCHED_GUEST_H

#include "sched/pool.h"

/*
 * The calling thread, no worker of the pool, becomes one. NULL and *@ret_error
 * -ESHUTDOWN, -EOWNERDEAD, or -EAGAIN when too many are in.
 */
struct worker *guest_enter(struct wsrt_pool *pool, int *ret_error);
void guest_leave(struct worker *guest);

/* Whether any is in. Seq_cst: exact once closing. */
bool guests_inside(struct wsrt_pool *pool);

#endif
