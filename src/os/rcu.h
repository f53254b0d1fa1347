/* SPDX-License-Identifier: MIT */
/*
 * RCU, on urcu-bp: any thread may read, without registration. This header is
 * the only place that knows liburcu, and carries what ThreadSanitizer has to
 * be told, since it does not see into liburcu:
 *
 *	all that a reader does  ->  end of its section  ->  deferred free
 *	all before a defer      ->  deferred free
 *
 * Deferred frees run on a reclaimer thread of our own. call_rcu() would serve
 * but for liburcu 0.13, whose helper thread polls every 10 ms, takes the
 * program's signals and is never joined.
 */
#ifndef WSRT_OS_RCU_H
#define WSRT_OS_RCU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define WSRT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WSRT_TSAN 1
#endif
#endif

#if !defined(WSRT_TSAN) && !defined(__clang_analyzer__)
#define _LGPL_SOURCE /* inline read sections; ours is a compatible licence */
#endif
#include <urcu/urcu-bp.h>

#ifdef WSRT_TSAN
extern char rcu_tsan_tag;
void __tsan_acquire(void *tag);
void __tsan_release(void *tag);
#endif

struct rcu_deferred {
	struct rcu_deferred *next;
	void (*release)(struct rcu_deferred *deferred);
};

static inline void rcu_read_begin(void)
{
	urcu_bp_read_lock();
}

static inline void rcu_read_end(void)
{
#ifdef WSRT_TSAN
	__tsan_release(&rcu_tsan_tag);
#endif
	urcu_bp_read_unlock();
}

/* Whether the calling thread is inside a read section. */
static inline bool rcu_reading(void)
{
	return urcu_bp_read_ongoing() != 0;
}

/*
 * Calls @release on the reclaimer thread once all read sections of now have
 * ended. Never waits, so it may be called in a read section. Lock-free.
 */
void rcu_defer(struct rcu_deferred *deferred,
	       void (*release)(struct rcu_deferred *deferred));

/*
 * Who defers holds a reference to the reclaimer. The first starts its thread:
 * 0, -EAGAIN or -ENOMEM. The last ends it and frees what is left, waiting for
 * a grace period if there is something: not in a read section.
 */
int rcu_reclaimer_get(void);
void rcu_reclaimer_put(void);

/* Around fork(). In the child no reclaimer runs and nobody holds it. */
void rcu_before_fork(void);
void rcu_after_fork_parent(void);
void rcu_after_fork_child(void);

#endif
