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
	sum->failed += get(&counts->failed);
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
	for (unsigned i = 0; i < pool_slots(pool); i++)
		add_worker(&sum, &pool->workers[i]->counts);
	for (unsigned i = 0; i < pool->node_count; i++)
		for (unsigned p = 0; p < PRIORITY_COUNT; p++)
			sum.submitted +=
				injector_pushed(&pool->nodes[i]->shards[p]);
	sum.pin_failures =
		atomic_load_explicit(&pool->pin_failures, memory_order_relaxed);
	return sized_copy_out(ret_stats, &sum, sizeof sum, sizeof sum);
}

static int check_worker(struct wsrt_pool *pool, uint32_t index,
			const void *ret_sized)
{
	int error = check(pool, ret_sized);

	return !error && index >= pool_slots(pool) ? -EINVAL : error;
}

int wsrt_pool_worker_stats(struct wsrt_pool *pool, uint32_t worker_index,
			   struct wsrt_stats *ret_stats)
{
	struct wsrt_stats counts = {0};
	int error = check_worker(pool, worker_index, ret_stats);

	if (error)
		return error;
	add_worker(&counts, &pool->workers[worker_index]->counts);
	return sized_copy_out(ret_stats, &counts, sizeof counts, sizeof counts);
}

int wsrt_pool_worker_info(struct wsrt_pool *pool, uint32_t worker_index,
			  struct wsrt_worker_info *ret_info)
{
	int error = check_worker(pool, worker_index, ret_info);

	if (error)
		return error;

	const struct worker *worker = pool->workers[worker_index];
	const struct topology_cpu *cpu =
		&pool->topology->cpus[pool->cpus[worker->home]];
	struct wsrt_worker_info info = {
		.running = atomic_load_explicit(&worker->counts.running,
						memory_order_relaxed),
		.waiting = (enum wsrt_waiting)atomic_load_explicit(
			&worker->counts.waiting, memory_order_relaxed),
		.waiting_for = atomic_load_explicit(&worker->counts.waiting_for,
						    memory_order_relaxed),
		.cpu = cpu->os_id,
		.node = pool->topology->node_ids[cpu->node],
	};

	return sized_copy_out(ret_info, &info, sizeof info, sizeof info);
}
