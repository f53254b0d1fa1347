/* SPDX-License-Identifier: MIT */
/* Workers as such: those from the start, spare ones, and guests. */
#include <errno.h>
#include <stdlib.h>

#include "os/thread.h"
#include "sched/pool.h"

int pool_memory_node(const struct wsrt_pool *pool, unsigned node)
{
	return pool->topology->node_count > 1 ? pool->topology->node_ids[node]
					      : -1;
}

static int build(struct worker *worker, unsigned home)
{
	struct wsrt_pool *pool = worker->pool;
	int error = victims_init(&worker->victims, pool->topology, pool->cpus,
				 pool->config.worker_count, home);

	if (error)
		return error;
	worker->last_victims = calloc(worker->victims.tier_count + 1,
				      sizeof *worker->last_victims);
	if (!worker->last_victims)
		return -ENOMEM;
	return deque_init(&worker->deque);
}

struct worker *worker_add(struct wsrt_pool *pool, unsigned home)
{
	unsigned index = pool_slots(pool);
	unsigned node = pool->topology->cpus[pool->cpus[home]].node;
	struct worker *worker;

	if (index == pool->slot_max)
		return NULL;
	worker = os_alloc_on_node(sizeof *worker, pool_memory_node(pool, node));
	if (!worker)
		return NULL;
	worker->pool = pool;
	worker->index = index;
	worker->home = home;
	worker->node = node;
	worker->random = index + 1;
	worker->patience_ns = pool->config.spin_ns;
	if (build(worker, home)) {
		worker_free(worker);
		return NULL;
	}
	pool->workers[index] = worker;
	/* Release: pairs with the acquire in pool_slots(). */
	atomic_store_explicit(&pool->slot_count, index + 1,
			      memory_order_release);
	return worker;
}

void worker_free(struct worker *worker)
{
	victims_fini(&worker->victims);
	free(worker->last_victims);
	deque_fini(&worker->deque);
	os_free(worker);
}

int worker_start(struct worker *worker)
{
	struct wsrt_pool *pool = worker->pool;
	int error = os_thread_start(&worker->thread, pool->config.stack_bytes,
				    worker_main, worker);

	worker->started = !error;
	return error;
}
