/* SPDX-License-Identifier: MIT */
/* The pool: worker threads, submitting, shutting down. */
#ifndef WSRT_POOL_H
#define WSRT_POOL_H

#include <sys/types.h>
#include <time.h>

#include <wsrt/base.h>
#include <wsrt/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Fork: once a process has had a pool, the library keeps urcu-bp consistent
 * across fork(). A program that uses urcu-bp itself must not do so again by
 * urcu_bp_before_fork() and its companions, nor may a process hold two copies
 * of the library: liburcu's locks are not recursive.
 */
struct wsrt_pool; /* opaque */

#define WSRT_WORKERS_MAX 4096u
#define WSRT_THREADS_MAX 16384u

/** Which of its own queued tasks a worker runs next. */
enum wsrt_order {
	WSRT_ORDER_LIFO = 0, /**< newest first: warm caches, bounded memory */
	WSRT_ORDER_FIFO = 1, /**< oldest first: fair to what waits longest */
};

/** Where worker threads may run. A pin that the kernel refuses is counted
 * in wsrt_pool_stats.pin_failures, and the worker runs unpinned. */
enum wsrt_pin {
	WSRT_PIN_NONE = 0, /**< wherever the kernel puts them */
	WSRT_PIN_NODE = 1, /**< on the CPUs of their NUMA node */
	WSRT_PIN_CORE = 2, /**< each on one CPU */
};

/** What a submit does when the pool's capacity is reached. */
enum wsrt_full {
	WSRT_FULL_REJECT = 0, /**< return -EAGAIN */
	WSRT_FULL_BLOCK = 1,  /**< sleep until there is room */
};

/**
 * Set @size to sizeof; zero elsewhere means the default. Grows at the end.
 */
struct wsrt_pool_config {
	size_t size;
	/** Worker threads, 1 to WSRT_WORKERS_MAX. Default: WSRT_WORKERS from
	 * the environment, else the CPUs that the process may use. */
	uint32_t worker_count;
	/** How long an idle worker searches before it sleeps, in ns, at most
	 * 10^9. Default 20000; 1 is as good as none. A worker that has just
	 * slept for over four times as long does not search until it has
	 * slept for less. */
	uint32_t spin_ns;
	/** Stack of each worker. Default 1 MiB, or RLIMIT_STACK if larger and
	 * limited; rounded up to whole pages. -EINVAL under the system's
	 * minimum. */
	size_t stack_bytes;
	/** Tasks from outside that may wait, for each NUMA node and priority,
	 * before @on_full applies. Default 0: no limit. Submits by workers of
	 * the pool are never refused. */
	uint32_t capacity;
	enum wsrt_full on_full;
	enum wsrt_order order;
	enum wsrt_pin pin;
	/** Prefix of thread names, cut to leave room for the worker's index
	 * in the kernel's 15 bytes. Default "wsrt". Copied. */
	const char *name;
	/** Called on each worker thread before its first task and after its
	 * last, with @hook_arg. Workers that were added later, because others
	 * wait, have indices from worker_count on, below @thread_max and 64. */
	void (*worker_start)(void *hook_arg, uint32_t worker_index);
	void (*worker_stop)(void *hook_arg, uint32_t worker_index);
	void *hook_arg;
	/** Threads that the pool may have, at least @worker_count: while a
	 * task waits or blocks, another thread takes its worker's place.
	 * Default: twice @worker_count and 256. At the limit there are fewer
	 * workers meanwhile, and the last one does not wait: -EDEADLK. */
	uint32_t thread_max;
};

/**
 * wsrt_pool_create() - start a pool of worker threads
 * @config: copied, not kept; NULL for defaults
 * @ret_pool: caller owns; end with wsrt_pool_destroy()
 *
 * Workers block all signals but those that report a fault of the thread
 * itself (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT) and
 * SIGPROF.
 *
 * Thread-safety: any thread.
 * Return: 0, or
 *	-EINVAL  a value out of range, a size from no release, or a
 *		WSRT_WORKERS or WSRT_TOPOLOGY that does not parse;
 *	-E2BIG   a newer header set what this library does not know;
 *	-EDEADLK  called inside an RCU (urcu-bp) read section;
 *	-ENOMEM, -EAGAIN  no memory or threads; nothing left running.
 * Since: 0.1
 */
WSRT_API int wsrt_pool_create(const struct wsrt_pool_config *config,
			      struct wsrt_pool **ret_pool);

/** Higher first; background still gets 1 pick in 61 or more. */
enum wsrt_priority {
	WSRT_PRIORITY_NORMAL = 0,
	WSRT_PRIORITY_HIGH = 1,
	WSRT_PRIORITY_BACKGROUND = 2,
};

/** Set @size to sizeof; zero elsewhere means the default. */
struct wsrt_submit_options {
	size_t size;
	enum wsrt_priority priority;
};

/**
 * wsrt_pool_submit() - have a task run once on some worker
 * @task: caller's memory, untouched by the caller until its run() is entered
 * @options: not kept; NULL for defaults
 *
 * Allocates nothing for the task. What the caller wrote before is visible to
 * run(). A thread's submits of one priority are taken in order while it stays
 * outside the pool; a worker's own go to its deque, in the pool's order.
 *
 * Thread-safety: any thread, inside tasks and RCU read sections too.
 * Return: 0, or, the task not taken,
 *	-EINVAL  NULL pool, task or run(), or bad options;
 *	-E2BIG   options of a newer header that this library does not know;
 *	-EAGAIN  at capacity (WSRT_FULL_REJECT);
 *	-ESHUTDOWN  the pool is shutting down (outside its tasks only);
 *	-ENOMEM  a queue could not grow;
 *	-EOWNERDEAD  the pool belongs to the process that forked this one.
 * Since: 0.1
 */
WSRT_API int wsrt_pool_submit(struct wsrt_pool *pool, struct wsrt_task *task,
			      const struct wsrt_submit_options *options);

/**
 * wsrt_pool_submit_batch() - submit many tasks at the price of one or two
 * @tasks: @count pointers, read during the call only
 *
 * As wsrt_pool_submit() for each, in order, with few wake-ups.
 *
 * Return: how many were taken, from the front: fewer than @count when
 * capacity, memory or shutdown cut the batch short; an error as of
 * wsrt_pool_submit() when none was.
 * Since: 0.1
 */
WSRT_API ssize_t
wsrt_pool_submit_batch(struct wsrt_pool *pool, struct wsrt_task *const *tasks,
		       size_t count, const struct wsrt_submit_options *options);

/** What becomes of queued tasks at shutdown. */
enum wsrt_shutdown {
	WSRT_SHUTDOWN_DRAIN = 0,  /**< they run as usual */
	WSRT_SHUTDOWN_CANCEL = 1, /**< they run with -ECANCELED */
};

/**
 * wsrt_pool_shutdown() - refuse new work, finish the old, end the workers
 * @deadline: absolute, CLOCK_MONOTONIC; NULL to wait as long as it takes
 *
 * From the call on, submits from outside return -ESHUTDOWN. Tasks that
 * running tasks submit still run. Returns when every task has run and every
 * worker thread has ended.
 *
 * The deadline is for the tasks: once all have run, the threads are joined,
 * stop hooks included.
 *
 * Thread-safety: any thread but the pool's workers; may be called again, by
 * several threads at once, and to turn a drain into a cancel.
 * Return: 0, also when it had been shut down before, or
 *	-EINVAL  NULL pool, unknown mode or a malformed deadline;
 *	-EDEADLK called inside a task or hook of this pool;
 *	-ETIMEDOUT  the deadline passed: nothing is freed, the pool goes on
 *		shutting down; wsrt_pool_worker_info() names what runs;
 *	-EOWNERDEAD  the pool belongs to the process that forked this one.
 * Since: 0.1
 */
WSRT_API int wsrt_pool_shutdown(struct wsrt_pool *pool, enum wsrt_shutdown mode,
				const struct timespec *deadline);

/**
 * wsrt_pool_destroy() - shut down (draining, unless done) and free
 * @pool: NULL does nothing
 *
 * No other call on the pool may be under way or follow. In a child of fork()
 * it frees the child's copy, which has no workers: all calls that could need
 * them return -EOWNERDEAD.
 *
 * Return: 0, or, nothing changed, -EDEADLK called inside a task or hook of this
 * pool or inside an RCU (urcu-bp) read section.
 * Since: 0.1
 */
WSRT_API int wsrt_pool_destroy(struct wsrt_pool *pool);

/**
 * wsrt_pool_current() - the pool whose task or hook the caller runs in, or NULL
 * Since: 0.1
 */
WSRT_API struct wsrt_pool *wsrt_pool_current(void);

/**
 * wsrt_pool_worker_count() - worker threads of the pool; 0 for NULL
 * Since: 0.1
 */
WSRT_API uint32_t wsrt_pool_worker_count(const struct wsrt_pool *pool);

#ifdef __cplusplus
}
#endif

#endif
