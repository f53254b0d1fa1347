/* SPDX-License-Identifier: MIT */
/*
 * RCU for the model checker, in place of src/os/rcu.h. A grace period either
 * ends at once, when no other thread is inside a read section, or never: what
 * is then freed too early is touched by somebody, in some execution.
 *
 * Readers and writers meet at one counter a reader, odd while it is inside,
 * by read-modify-writes, which are in order without seq_cst: like the real
 * thing, a section sees what came before a grace period that it did not hold
 * up, and nothing more. A fence here would hide fences missed elsewhere.
 */
#ifndef MODEL_OS_RCU_H
#define MODEL_OS_RCU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "model.h"

struct rcu_deferred {
	struct rcu_deferred *next;
	void (*release)(struct rcu_deferred *deferred);
};

static _Atomic unsigned rcu_sections[MODEL_THREADS_MAX];
static _Thread_local bool rcu_inside;
static _Thread_local struct rcu_deferred *rcu_waiting;

static inline bool rcu_others_inside(void)
{
	for (unsigned i = 0; i < model_threads; i++)
		if (i != model_self &&
		    atomic_fetch_add_explicit(&rcu_sections[i], 0,
					      memory_order_acq_rel) &
			    1)
			return true;
	return false;
}

static inline void rcu_free_waiting(void)
{
	while (rcu_waiting) {
		struct rcu_deferred *deferred = rcu_waiting;

		rcu_waiting = deferred->next;
		if (!rcu_others_inside())
			deferred->release(deferred);
	}
}

static inline void rcu_read_begin(void)
{
	rcu_inside = true;
	atomic_fetch_add_explicit(&rcu_sections[model_self], 1,
				  memory_order_acquire);
}

static inline void rcu_read_end(void)
{
	rcu_inside = false;
	atomic_fetch_add_explicit(&rcu_sections[model_self], 1,
				  memory_order_release);
	rcu_free_waiting();
}

static inline void rcu_defer(struct rcu_deferred *deferred,
			     void (*release)(struct rcu_deferred *deferred))
{
	deferred->release = release;
	deferred->next = rcu_waiting;
	rcu_waiting = deferred;
	if (!rcu_inside)
		rcu_free_waiting();
}

#endif
