/* SPDX-License-Identifier: MIT */
/* Sums the workers' counters for whoever asks. */
#include <errno.h>

#include <wsrt/stats.h>

#include "base/sized.h"
#include "sched/pool.h"

static uint64_t get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add_worker(struct wsrt_stats *sum, const struct counters *counts)
{
	sum->submitted += get(&counts->submitted);
	sum->executed += get(&counts->executed);
	sum->cancelled += get(&counts->cancelled);
	sum->injected += get(&counts->injected);
	for (unsigned i = 0; i < WSRT_TIER_COUNT; i++) {
		sum->steals[i] += get(&counts->steals[i]);
		sum->stolen_tasks[i] += get(&counts->stolen_tasks[i]);
	}
	sum->forks_stolen += get(&counts->forks_stolen);
	sum->searches += get(&counts->searches);
	sum->parks += get(&counts->parks);
	sum->wakes += get(&counts->wakes);
}

static int check(struct wsrt_pool *pool, const void *ret_stats)
{
	if (!pool || !ret_stats)
		return -EINVAL;
	if (atomic_load_explicit(&pool->owner_dead, memory_order_relaxed))
		return -EOWNERDEAD;
	return 0;
}

int wsrt_pool_stats(struct wsrt_pool *pool, struct wsrt_stats *ret_stats)
{
	struct wsrt_stats sum = {0};
	int error = check(pool, ret_stats);

	if (error)
		return error;
	for (unsigned i = 0; i < pool->worker_count; i++)
		add_worker(&sum, &pool->workers[i]->counts);
	for (unsigned i = 0; i < pool->node_count; i++)
		for (unsigned p = 0; p < PRIORITY_COUNT; p++)
			sum.submitted +=
				injector_pushed(&pool->nodes[i]->shards[p]);
	sum.pin_failures =
		atomic_load_explicit(&pool->pin_failures, memory_order_relaxed);
	return sized_copy_out(ret_stats, &sum, sizeof sum, sizeof sum);
}

int wsrt_pool_worker_stats(struct wsrt_pool *pool, uint32_t worker_index,
			   struct wsrt_worker_stats *ret_stats)
{
	struct wsrt_worker_stats stats = {
		.counts.size = sizeof stats.counts,
	};
	int error = check(pool, ret_stats);

	if (error)
		return error;
	if (worker_index >= pool->worker_count)
		return -EINVAL;

	const struct worker *worker = pool->workers[worker_index];
	const struct topology_cpu *cpu =
		&pool->topology->cpus[pool->cpus[worker_index]];

	add_worker(&stats.counts, &worker->counts);
	stats.running = atomic_load_explicit(&worker->counts.running,
					     memory_order_relaxed);
	stats.cpu = cpu->os_id;
	stats.node = pool->topology->node_ids[cpu->node];
	return sized_copy_out(ret_stats, &stats, sizeof stats, sizeof stats);
}
