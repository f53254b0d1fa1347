/* SPDX-License-Identifier: MIT */
/*
 * The way in. A worker's normal tasks go to its own deque; all others go to
 * the injector, to the shard of the node that the thread first ran on: it
 * keeps to that one, so that its tasks stay in order.
 */
#include <errno.h>
#include <limits.h>

#include "base/sized.h"
#include "os/cpus.h"
#include "os/futex.h"
#include "sched/fork.h"
#include "sched/pool.h"

/* Words handed to the injector at once. */
#define CHUNK 64u

/* The calling thread as a worker of @pool; NULL when it is none, or in its stop
 * hook: nobody would run the task. */
static inline struct worker *self_in(struct wsrt_pool *pool)
{
	struct worker *worker = worker_self;

	return worker && worker->pool == pool && !worker->leaving ? worker
								  : NULL;
}

static unsigned node_of_thread(struct wsrt_pool *pool)
{
	static _Thread_local int cpu_first; /* CPU + 1; 0: not asked yet */

	if (pool->node_count == 1)
		return 0;
	if (self_in(pool))
		return worker_self->node;
	if (!cpu_first)
		cpu_first = os_cpu_current() + 1;
	return topology_node_of(pool->topology, cpu_first - 1);
}

/*
 * Room was made: wakes producers that sleep for it.
 *
 *	producer			worker
 *	rmw[full_waiters]  (X)		cas[head]
 *	r[head]				r[full_waiters]	(Y)
 *
 * All seq_cst: the producer sees the room, or the worker the producer.
 */
void submit_room_made(struct wsrt_pool *pool)
{
	/* (Y) Pairs with (X) in wait_for_room(). */
	if (!atomic_load_explicit(&pool->full_waiters, memory_order_seq_cst))
		return;
	/* Release: pairs with the acquire in wait_for_room(). */
	atomic_fetch_add_explicit(&pool->full_word, 1, memory_order_release);
	os_futex_wake(&pool->full_word, INT_MAX);
}

/* Pushes until it works or fails for another reason than lack of room. */
static int wait_for_room(struct wsrt_pool *pool, struct injector *shard,
			 const uintptr_t *words, unsigned count)
{
	int pushed;

	/* (X) Pairs with (Y) in submit_room_made(). */
	atomic_fetch_add_explicit(&pool->full_waiters, 1, memory_order_seq_cst);
	for (;;) {
		/* Acquire: pairs with the release in submit_room_made(). */
		uint32_t word = atomic_load_explicit(&pool->full_word,
						     memory_order_acquire);

		pushed = injector_push(shard, words, count, false);
		if (pushed != -EAGAIN)
			break;
		os_futex_wait(&pool->full_word, word, NULL);
	}
	atomic_fetch_sub_explicit(&pool->full_waiters, 1, memory_order_relaxed);
	return pushed;
}

static int inject(struct wsrt_pool *pool, const uintptr_t *words,
		  unsigned count, enum wsrt_priority priority)
{
	bool inside = self_in(pool);
	unsigned node = node_of_thread(pool);
	struct injector *shard = &pool->nodes[node]->shards[priority];
	int pushed = injector_push(shard, words, count, inside);

	if (pushed == -EAGAIN && pool->config.on_full == WSRT_FULL_BLOCK)
		pushed = wait_for_room(pool, shard, words, count);
	if (pushed > 0)
		pool_notify(pool, node);
	else if (pushed == -ESHUTDOWN &&
		 atomic_load_explicit(&pool->owner_dead, memory_order_relaxed))
		pushed = -EOWNERDEAD;
	return pushed;
}

static int read_options(struct wsrt_pool *pool,
			const struct wsrt_submit_options *options,
			enum wsrt_priority *ret_priority)
{
	struct wsrt_submit_options known;
	int error = sized_copy_in(&known, sizeof known, options,
				  sizeof(struct wsrt_submit_options));

	if (error)
		return error;
	if ((unsigned)known.priority >= PRIORITY_COUNT)
		return -EINVAL;
	*ret_priority = known.priority;
	/* Relaxed: workers may notice late, but look() asks every shard. */
	uint32_t bit = 1u << known.priority;

	if (!(atomic_load_explicit(&pool->priorities_used,
				   memory_order_relaxed) &
	      bit))
		atomic_fetch_or_explicit(&pool->priorities_used, bit,
					 memory_order_relaxed);
	return 0;
}

static bool valid(const struct wsrt_task *task)
{
	return task && task->run && !((uintptr_t)task & DEQUE_SINGLE);
}

/* To the deque of the worker that calls: how many, fewer without memory. */
static inline size_t push_own(struct worker *worker,
			      struct wsrt_task *const *tasks, size_t count)
{
	struct deque *deque = &worker->deque;
	size_t done = 0;

	if (deque->end.bottom != deque->end.floor)
		fork_prepare(worker);
	while (done < count && deque_push(deque, (uintptr_t)tasks[done]))
		done++;
	deque_publish(deque);
	count_add(&worker->counts.submitted, done);
	pool_notify(worker->pool, worker->node);
	return done;
}

static ssize_t inject_all(struct wsrt_pool *pool,
			  struct wsrt_task *const *tasks, size_t count,
			  enum wsrt_priority priority)
{
	uintptr_t words[CHUNK];
	size_t done = 0;

	while (done < count) {
		unsigned chunk = 0;

		while (chunk < CHUNK && done + chunk < count) {
			words[chunk] = (uintptr_t)tasks[done + chunk];
			chunk++;
		}

		int pushed = inject(pool, words, chunk, priority);

		if (pushed < 0)
			return done ? (ssize_t)done : pushed;
		done += (unsigned)pushed;
	}
	return (ssize_t)done;
}

static ssize_t submit_all(struct wsrt_pool *pool,
			  struct wsrt_task *const *tasks, size_t count,
			  enum wsrt_priority priority)
{
	struct worker *worker = self_in(pool);
	size_t done = 0;

	if (worker && priority == WSRT_PRIORITY_NORMAL && count)
		done = push_own(worker, tasks, count);
	if (done == count)
		return (ssize_t)done;

	ssize_t rest = inject_all(pool, tasks + done, count - done, priority);

	if (rest < 0)
		return done ? (ssize_t)done : rest;
	return (ssize_t)done + rest;
}

int wsrt_pool_submit(struct wsrt_pool *pool, struct wsrt_task *task,
		     const struct wsrt_submit_options *options)
{
	enum wsrt_priority priority = WSRT_PRIORITY_NORMAL;
	int error = 0;

	if (!pool || !valid(task))
		return -EINVAL;
	if (options)
		error = read_options(pool, options, &priority);
	if (error)
		return error;

	ssize_t taken = submit_all(pool, &task, 1, priority);

	return taken < 0 ? (int)taken : 0;
}

ssize_t wsrt_pool_submit_batch(struct wsrt_pool *pool,
			       struct wsrt_task *const *tasks, size_t count,
			       const struct wsrt_submit_options *options)
{
	enum wsrt_priority priority = WSRT_PRIORITY_NORMAL;
	int error = 0;

	if (!pool || (!tasks && count) || count > SSIZE_MAX)
		return -EINVAL;
	for (size_t i = 0; i < count; i++)
		if (!valid(tasks[i]))
			return -EINVAL;
	if (options)
		error = read_options(pool, options, &priority);
	if (error)
		return error;
	return submit_all(pool, tasks, count, priority);
}
