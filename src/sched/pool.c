/* SPDX-License-Identifier: MIT */
/*
 * A pool's life: create, shut down in two phases, destroy.
 *
 * Shutting down: (1) close the shards, so that no submit from outside gets in;
 * those under way have claimed a slot or will fail. (2) Wait until all is
 * quiet: all workers asleep, nothing claimed and not taken, and nobody woke up
 * between two looks. Then nothing can happen any more, since only running
 * tasks could submit. (3) Tell the workers to leave, and join them.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/rcu.h"
#include "os/thread.h"
#include "sched/guest.h"
#include "sched/permits.h"
#include "sched/pool.h"

#define SPIN_NS_DEFAULT 20000u

static int env_workers(uint32_t *ret_count)
{
	const char *text = secure_getenv("WSRT_WORKERS");
	char *end;

	if (!text || !*text)
		return 0;
	errno = 0;

	long count = strtol(text, &end, 10);

	if (errno || end == text || *end || count < 1 ||
	    count > (long)WSRT_WORKERS_MAX)
		return -EINVAL;
	*ret_count = (uint32_t)count;
	return 0;
}

static int check_config(const struct wsrt_pool_config *config)
{
	if (config->worker_count > WSRT_WORKERS_MAX ||
	    config->thread_max > WSRT_THREADS_MAX ||
	    config->spin_ns > NS_PER_SECOND ||
	    (unsigned)config->on_full > WSRT_FULL_BLOCK ||
	    (unsigned)config->order > WSRT_ORDER_FIFO ||
	    (unsigned)config->pin > WSRT_PIN_CORE)
		return -EINVAL;
	return 0;
}

static int read_config(struct wsrt_pool *pool,
		       const struct wsrt_pool_config *config)
{
	int error = 0;

	if (config)
		error = sized_copy_in(&pool->config, sizeof pool->config,
				      config, sizeof *config);
	if (!error)
		error = check_config(&pool->config);
	if (!error && !pool->config.worker_count)
		error = env_workers(&pool->config.worker_count);
	if (!error)
		error = wsrt_topology_read(&pool->topology);
	if (error)
		return error;

	if (!pool->config.worker_count)
		pool->config.worker_count =
			wsrt_topology_worker_count(pool->topology);
	if (pool->config.worker_count > WSRT_WORKERS_MAX)
		pool->config.worker_count = WSRT_WORKERS_MAX;
	if (!pool->config.thread_max)
		pool->config.thread_max =
			2 * pool->config.worker_count + SPARES_DEFAULT;
	if (pool->config.thread_max < pool->config.worker_count)
		return -EINVAL;
	if (!pool->config.spin_ns)
		pool->config.spin_ns = SPIN_NS_DEFAULT;
	snprintf(pool->name, sizeof pool->name, "%s",
		 pool->config.name ? pool->config.name : "wsrt");
	pool->config.name = pool->name;
	return 0;
}

static int add_nodes(struct wsrt_pool *pool)
{
	unsigned count = pool->topology->node_count;

	pool->nodes = calloc(count, sizeof(struct node *));
	if (!pool->nodes)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		struct node *node = os_alloc_on_node(sizeof *node,
						     pool_memory_node(pool, i));

		if (!node)
			return -ENOMEM;
		pool->nodes[i] = node;
		pool->node_count = i + 1;
		for (unsigned p = 0; p < PRIORITY_COUNT; p++)
			if (injector_init(&node->shards[p],
					  pool->config.capacity, 0))
				return -ENOMEM;
	}
	return 0;
}

static int init_idle(struct wsrt_pool *pool)
{
	unsigned count = pool->config.worker_count;
	unsigned *nodes = calloc(count, sizeof *nodes);

	if (!nodes)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++)
		nodes[i] = pool->topology->cpus[pool->cpus[i]].node;

	int error =
		idle_init(&pool->idle, nodes, count, pool->topology->node_count,
			  pool->config.thread_max - count);

	free(nodes);
	return error;
}

static int add_worker(struct wsrt_pool *pool, unsigned index)
{
	struct worker *worker = worker_add(pool, index);

	if (!worker)
		return -ENOMEM;
	idle_add(&pool->idle, &worker->parker, worker->node);
	return 0;
}

static int add_workers(struct wsrt_pool *pool)
{
	unsigned count = pool->config.worker_count;
	int error;

	pool->slot_max = pool->config.thread_max + GUESTS_MAX;
	pool->cpus = calloc(count, sizeof *pool->cpus);
	pool->workers = calloc(pool->slot_max, sizeof(struct worker *));
	if (!pool->cpus || !pool->workers)
		return -ENOMEM;
	topology_place(pool->topology, count, pool->cpus);
	error = init_idle(pool);
	for (unsigned i = 0; i < count && !error; i++)
		error = add_worker(pool, i);
	pool->worker_count = count;
	return error;
}

static void free_node(struct node *node)
{
	for (unsigned p = 0; p < PRIORITY_COUNT; p++)
		injector_fini(&node->shards[p]);
	os_free(node);
}

/* Of a pool without threads, however far it was built. */
static void free_pool(struct wsrt_pool *pool)
{
	for (unsigned i = 0; i < pool_slots(pool); i++)
		worker_free(pool->workers[i]);
	for (unsigned i = 0; i < pool->node_count; i++)
		free_node(pool->nodes[i]);
	idle_fini(&pool->idle);
	free(pool->workers);
	free(pool->nodes);
	free(pool->cpus);
	wsrt_topology_destroy(pool->topology);
	pthread_mutex_destroy(&pool->lock);
	pthread_mutex_destroy(&pool->permit_lock);
	os_free(pool);
}

void pool_tell_quiet(struct wsrt_pool *pool)
{
	/* (T) Release: pairs with (W) in wait_quiet(). */
	atomic_fetch_add_explicit(&pool->quiet_word, 1, memory_order_release);
	os_futex_wake(&pool->quiet_word, INT_MAX);
}

static void join(struct worker *worker)
{
	if (worker->started)
		pthread_join(worker->thread, NULL);
	worker->started = false;
}

/* Tells all workers to leave once they find no work, and waits for them. */
static void stop_workers(struct wsrt_pool *pool)
{
	/* (O) Seq_cst: pairs with (U) in stopping(). */
	atomic_store_explicit(&pool->stopping, true, memory_order_seq_cst);
	/* Whoever else waits for quiet will not see it any more. */
	pool_tell_quiet(pool);
	permits_enable_all(pool);
	while (idle_wake(&pool->idle, 0))
		;
	for (unsigned i = 0; i < pool_slots(pool); i++)
		join(pool->workers[i]);
}

static int start_workers(struct wsrt_pool *pool)
{
	for (unsigned i = 0; i < pool->worker_count; i++) {
		int error = worker_start(pool->workers[i]);

		if (error) {
			pool_close_shards(pool); /* hooks may know the pool */
			stop_workers(pool);
			return error;
		}
	}
	return 0;
}

static int build(struct wsrt_pool *pool, const struct wsrt_pool_config *config)
{
	int error = read_config(pool, config);

	if (!error)
		error = add_nodes(pool);
	if (!error)
		error = add_workers(pool);
	return error;
}

static int start(struct wsrt_pool *pool)
{
	int error = rcu_reclaimer_get();

	if (error)
		return error;
	atomic_store_explicit(&pool->permits,
			      pool->worker_count * PERMIT_ENABLED,
			      memory_order_relaxed);
	pool->thread_count = pool->worker_count;
	error = lives_add(pool);
	if (error)
		goto put;
	error = start_workers(pool);
	if (!error)
		return 0;
	lives_remove(pool);
put:
	rcu_reclaimer_put();
	return error;
}

int wsrt_pool_create(const struct wsrt_pool_config *config,
		     struct wsrt_pool **ret_pool)
{
	if (!ret_pool)
		return -EINVAL;
	if (rcu_reading()) /* to fail may take a grace period */
		return -EDEADLK;

	struct wsrt_pool *pool = os_alloc(sizeof *pool);

	if (!pool)
		return -ENOMEM;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_mutex_init(&pool->permit_lock, NULL);

	int error = build(pool, config);

	if (!error)
		error = start(pool);
	if (error) {
		free_pool(pool);
		return error;
	}
	*ret_pool = pool;
	return 0;
}

/*
 * Whether all work is done. Exact once closing: who is awake would have to
 * fall asleep, which counts, for the same numbers to come up again. A worker
 * that has just retired may have left tasks behind.
 */
static bool quiet(struct wsrt_pool *pool)
{
	uint64_t before = idle_counts(&pool->idle);
	/* Seq_cst: pairs with change() in permits.c. */
	uint32_t permits =
		atomic_load_explicit(&pool->permits, memory_order_seq_cst);

	return !permits_blocked(permits) && !guests_inside(pool) &&
	       idle_sleepers(before) == permits_enabled(permits) &&
	       !worker_look(pool) && idle_counts(&pool->idle) == before;
}

void pool_check_quiet(struct wsrt_pool *pool)
{
	/* (Q) Seq_cst: pairs with (C) in close_pool(): either it sees
	 * us all asleep, or we see that it waits. */
	if (atomic_load_explicit(&pool->closing, memory_order_seq_cst))
		pool_tell_quiet(pool);
}

static void close_pool(struct wsrt_pool *pool, enum wsrt_shutdown mode)
{
	if (mode == WSRT_SHUTDOWN_CANCEL)
		atomic_store_explicit(&pool->task_status, -ECANCELED,
				      memory_order_relaxed);
	pool_close_shards(pool);
	/* (C) Seq_cst: pairs with (Q) in pool_check_quiet(). */
	atomic_store_explicit(&pool->closing, true, memory_order_seq_cst);
	/* Producers asleep for want of room learn that there is none. */
	submit_room_made(pool);
}

/* Quiet, or found quiet by another thread, which has sent the workers home. */
static bool over(struct wsrt_pool *pool)
{
	return atomic_load_explicit(&pool->stopping, memory_order_relaxed) ||
	       quiet(pool);
}

static int wait_quiet(struct wsrt_pool *pool, const struct timespec *deadline)
{
	for (;;) {
		/* (W) Acquire: pairs with (T) in pool_tell_quiet(). */
		uint32_t word = atomic_load_explicit(&pool->quiet_word,
						     memory_order_acquire);

		if (over(pool))
			return 0;
		if (os_futex_wait(&pool->quiet_word, word, deadline))
			return over(pool) ? 0 : -ETIMEDOUT;
	}
}

int wsrt_pool_shutdown(struct wsrt_pool *pool, enum wsrt_shutdown mode,
		       const struct timespec *deadline)
{
	if (!pool || (unsigned)mode > WSRT_SHUTDOWN_CANCEL ||
	    (deadline && (deadline->tv_sec < 0 || deadline->tv_nsec < 0 ||
			  deadline->tv_nsec >= (long)NS_PER_SECOND)))
		return -EINVAL;
	if (worker_self && worker_self->pool == pool)
		return -EDEADLK;
	if (atomic_load_explicit(&pool->owner_dead, memory_order_relaxed))
		return -EOWNERDEAD;

	close_pool(pool, mode);

	int error = 0;

	/* Whoever gets here second finds the workers gone, or waits too. */
	if (!atomic_load_explicit(&pool->stopping, memory_order_relaxed))
		error = wait_quiet(pool, deadline);
	if (error)
		return error;
	pthread_mutex_lock(&pool->lock);
	stop_workers(pool);
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

int wsrt_pool_destroy(struct wsrt_pool *pool)
{
	if (!pool)
		return 0;
	if (rcu_reading())
		return -EDEADLK;

	int error = wsrt_pool_shutdown(pool, WSRT_SHUTDOWN_DRAIN, NULL);

	if (error && error != -EOWNERDEAD)
		return error;
	if (!error) {
		lives_remove(pool);
		rcu_reclaimer_put();
	}
	free_pool(pool);
	return 0;
}

struct wsrt_pool *wsrt_pool_current(void)
{
	return worker_self ? worker_self->pool : NULL;
}

uint32_t wsrt_pool_worker_count(const struct wsrt_pool *pool)
{
	return pool ? pool->worker_count : 0;
}
