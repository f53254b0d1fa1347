/* SPDX-License-Identifier: MIT */
/* Counters: kept by each worker for itself, summed when read. */
#ifndef WSRT_STATS_H
#define WSRT_STATS_H

#include <wsrt/base.h>
#include <wsrt/pool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How far a task travelled when it was stolen. */
enum wsrt_tier {
	WSRT_TIER_L3 = 0,   /**< between CPUs that share a core or an L3 */
	WSRT_TIER_NODE = 1, /**< within the NUMA node */
	WSRT_TIER_FAR = 2,  /**< from another node */
	WSRT_TIER_COUNT = 3,
};

/**
 * Counts since the pool or worker started. Set @size to sizeof before the
 * call; what an older library does not know stays zero. Grows at the end.
 */
struct wsrt_stats {
	size_t size;
	uint64_t submitted; /**< tasks taken, from outside and by workers */
	uint64_t executed;  /**< tasks whose run() was entered */
	uint64_t cancelled; /**< of these, with -ECANCELED */
	uint64_t injected;  /**< tasks that workers took from the injector */
	uint64_t steals[WSRT_TIER_COUNT];	/**< successful steals */
	uint64_t stolen_tasks[WSRT_TIER_COUNT]; /**< tasks these brought */
	uint64_t forks_stolen; /**< forks that another worker ran */
	uint64_t searches;     /**< times a worker ran out of work */
	uint64_t parks;	       /**< times one went to sleep */
	uint64_t wakes;	       /**< wake-ups sent to sleeping workers */
	uint64_t pin_failures; /**< workers that run unpinned */
	uint64_t failed;       /**< tasks that failed, wsrt/fail.h */
};

/**
 * wsrt_pool_stats() - sum of the counters of all workers and submitters
 *
 * Not a snapshot: counters go on while they are read. @submitted is exact
 * once no submit is under way, the others once no task runs.
 *
 * Thread-safety: any thread.
 * Return: 0, or -EINVAL for NULL or a size from no release, -E2BIG when
 * @ret_stats comes from a newer header and is not zero there, -EOWNERDEAD.
 * Since: 0.1
 */
WSRT_API int wsrt_pool_stats(struct wsrt_pool *pool,
			     struct wsrt_stats *ret_stats);

/**
 * wsrt_pool_worker_stats() - the same of one worker
 *
 * Return: as wsrt_pool_stats(); -EINVAL also for @worker_index out of range.
 * Since: 0.1
 */
WSRT_API int wsrt_pool_worker_stats(struct wsrt_pool *pool,
				    uint32_t worker_index,
				    struct wsrt_stats *ret_stats);

/** What the task of a worker waits for. */
enum wsrt_waiting {
	WSRT_WAITING_NONE = 0,
	WSRT_WAITING_FUTURE = 1,
	WSRT_WAITING_GROUP = 2,
	WSRT_WAITING_FORK = 3,
	WSRT_WAITING_BLOCKING = 4, /**< in a blocking section */
};

/** Where one worker is, and what it does. Set @size to sizeof. */
struct wsrt_worker_info {
	size_t size;
	/** The task that runs now, to tell a stuck one by; NULL when none
	 * does, or a fork. Not to be dereferenced: it may be gone. */
	const struct wsrt_task *running;
	int32_t cpu;  /**< where it is pinned or was placed; -1 unknown */
	int32_t node; /**< NUMA node, as the kernel counts; -1 unknown */
	enum wsrt_waiting waiting;
	/** The future, group or fork; not to be dereferenced. */
	const void *waiting_for;
};

/**
 * wsrt_pool_worker_info() - where a worker is, and what it does
 *
 * Return: as wsrt_pool_worker_stats().
 * Since: 0.1
 */
WSRT_API int wsrt_pool_worker_info(struct wsrt_pool *pool,
				   uint32_t worker_index,
				   struct wsrt_worker_info *ret_info);

#ifdef __cplusplus
}
#endif

#endif
