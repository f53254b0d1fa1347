/* SPDX-License-Identifier: MIT */
/*
 * Fork/join with tasks on the stack: the inline path.
 *
 * A fork is private to its worker until another worker runs dry and asks for
 * it, so that a fork and a join nobody disturbed cost a few plain stores and
 * compares. The method is the split deque of Lace (van Dijk, van de Pol,
 * 2014) with the tagged top of doc/design.md.
 *
 *	struct fib { struct wsrt_fork fork; long n, value; };
 *
 *	static long fib(struct wsrt_worker *worker, long n)
 *	{
 *		struct fib left;
 *
 *		if (n < 2)
 *			return n;
 *		left.n = n - 1;
 *		wsrt_fork(worker, &left.fork, fib_run);
 *		long right = fib(worker, n - 2);
 *		wsrt_join(worker, &left.fork, fib_run);
 *		return left.value + right;
 *	}
 *
 * fib_run() finds its struct by wsrt_container_of(), calls fib(), and
 * stores the value.
 *
 * The worker looks whether others want its forks at each fork and each join: a
 * body that runs long in between keeps what it forked before to itself for that
 * long.
 */
#ifndef WSRT_FORK_H
#define WSRT_FORK_H

#include <assert.h>

#include <wsrt/base.h>
#include <wsrt/task.h>

#ifdef __cplusplus
extern "C" {
#endif

struct wsrt_fork;

/**
 * The worker that runs the calling task. Functions that fork pass it on as a
 * parameter. Its first members are for the inline functions below only.
 */
struct wsrt_worker {
	uintptr_t *bottom; /* next free slot of the deque */
	uintptr_t *floor;  /* oldest slot that thieves cannot take */
	char pad[128 - 2 * sizeof(uintptr_t *)];
	uintptr_t *limit; /* where bottom needs the slow path; 0: thieves ask */
} __attribute__((aligned(128)));

/** Body of a fork; @worker is the one that runs it, which need not be the
 * one that forked it. */
typedef void wsrt_fork_fn(struct wsrt_worker *worker, struct wsrt_fork *fork);

/**
 * A forked call, on the caller's stack. Embed it beside arguments and result;
 * it needs no initialization, and its members are the runtime's own. (All but
 * run are written only when thieves can get to see it.)
 */
struct wsrt_fork {
	wsrt_fork_fn *run;
	struct wsrt_worker *owner;
	struct wsrt_worker *thief;
	struct wsrt_fork *older;
	uint32_t state;
	uint32_t base;
	int32_t error;
	uint32_t reserved;
};

#define WSRT_FORK_LAYOUT 1u

WSRT_API struct wsrt_worker *wsrt_worker_with_layout(uint32_t layout);
WSRT_API void wsrt_fork_slow(struct wsrt_worker *worker,
			     struct wsrt_fork *fork);
WSRT_API int wsrt_join_slow(struct wsrt_worker *worker, struct wsrt_fork *fork);

/**
 * wsrt_worker_current() - the worker whose task the caller runs in
 *
 * Costs a call: ask once a task, then pass it on.
 * Return: NULL outside tasks and hooks, and when the library loaded is not laid
 * out as this header says.
 * Since: 0.1
 */
static inline struct wsrt_worker *wsrt_worker_current(void)
{
	return wsrt_worker_with_layout(WSRT_FORK_LAYOUT);
}

/**
 * wsrt_fork() - let another worker run a call, if one wants to
 * @worker: the one that runs the caller
 * @fork: stays valid until wsrt_join() on it, by the same task, in the reverse
 *	order of the forks; another order is undefined (and asserted against)
 * @run: called once, with @fork
 *
 * Never fails: without memory for a larger deque it calls @run at once.
 * Thread-safety: the worker's own thread.
 * Since: 0.1
 */
static inline void wsrt_fork(struct wsrt_worker *worker, struct wsrt_fork *fork,
			     wsrt_fork_fn *run)
{
	uintptr_t *slot = worker->bottom;

	fork->run = run;
	/* Relaxed: wsrt_fork_slow() publishes it, with release. */
	__atomic_store_n(slot, (uintptr_t)fork | 1u, __ATOMIC_RELAXED);
	worker->bottom = slot + 1;
	if (__builtin_expect(slot + 1 >= __atomic_load_n(&worker->limit,
							 __ATOMIC_RELAXED),
			     0))
		wsrt_fork_slow(worker, fork);
}

/**
 * wsrt_join() - return when the forked call has run
 * @run: the same as at wsrt_fork(); a direct call that compilers can inline
 *
 * Runs it here unless another worker took it; then helps that worker with
 * what it forked in turn, or sleeps. Runs nobody else's tasks.
 * Since: 0.1
 */
static inline void wsrt_join(struct wsrt_worker *worker, struct wsrt_fork *fork,
			     wsrt_fork_fn *run)
{
	uintptr_t *bottom = worker->bottom;
	uintptr_t *limit = __atomic_load_n(&worker->limit, __ATOMIC_RELAXED);

	if (__builtin_expect((bottom != worker->floor) & (limit != NULL), 1)) {
		/* The newest that is private is this one: joins go in reverse
		 * order, and what hides a fork has nothing private on it. */
		assert(bottom[-1] == ((uintptr_t)fork | 1u));
		worker->bottom = bottom - 1;
	} else if (!wsrt_join_slow(worker, fork)) {
		return;
	}
	run(worker, fork);
}

#ifdef __cplusplus
}
#endif

#endif
