/* SPDX-License-Identifier: MIT */
/*
 * A pool built by hand, without threads and without a machine to look at: all
 * its code is here, queues included, for models of how they work together.
 * Workers search one round and rob one another in turn.
 */
#ifndef MODEL_POOL_H
#define MODEL_POOL_H

#define DEQUE_CAPACITY_MIN 4u
#define INJECTOR_BLOCK_SLOTS 4u
#ifndef GET_UPS_MAX
#define GET_UPS_MAX 4u
#endif

#include "model.h"

#include "park/idle.c"
#include "queue/deque.c"
#define read_slot injector_read_slot
#include "queue/injector.c"
#undef read_slot
#include "sched/fork.c"
#undef PAUSES_MAX
#include "sched/shards.c"
#include "sched/submit.c"

/* Who was about to sleep and saw something, which another may have by now, or
 * which is not there yet. */
static void model_get_up(struct idle_set *set, struct parker *parker)
{
	model_bound(GET_UPS_MAX);
	idle_get_up(set, parker);
}

#define idle_get_up model_get_up
#include "sched/worker.c"
#undef idle_get_up

#define WORKERS_MAX 3u

/*
 * Of src/sched what is not here: nobody waits for the pool to end, no task
 * fails, and there are no spare workers.
 */
void pool_check_quiet(struct wsrt_pool *quiet)
{
	(void)quiet;
}

int wait_begin(enum wait_kind kind, const void *object)
{
	(void)kind;
	(void)object;
	return 0;
}

void wait_end(void)
{
}

void call_enter(struct call *call)
{
	(void)call;
}

void call_leave(struct call *call)
{
	call->left = true;
}

void call_scope_end(struct call *call)
{
	assert(call->left);
}

void boundary_enter(struct worker *worker, struct boundary *boundary)
{
	(void)worker;
	(void)boundary;
}

void boundary_leave(struct worker *worker, struct boundary *boundary)
{
	(void)worker;
	(void)boundary;
}

void worker_reset(struct worker *worker)
{
	(void)worker;
}

int worker_start(struct worker *worker)
{
	(void)worker;
	return -EAGAIN;
}

bool permits_retire(struct worker *worker)
{
	(void)worker;
	return false;
}

int wsrt_fail(int code, const char *why)
{
	(void)why;
	assert(code == 0);
	return code;
}

static struct wsrt_pool pool;
static struct worker workers[WORKERS_MAX];
static struct worker *worker_list[WORKERS_MAX];
static struct node node;
static struct node *node_list[1] = {&node};
static const unsigned worker_nodes[WORKERS_MAX];

static void worker_setup(unsigned index, unsigned count)
{
	static struct victim_tier tiers[WORKERS_MAX];
	static unsigned victims[WORKERS_MAX][WORKERS_MAX];
	static unsigned last_victims[WORKERS_MAX];
	struct worker *worker = &workers[index];

	worker_list[index] = worker;
	worker->pool = &pool;
	worker->index = index;
	worker->random = index + 1;
	for (unsigned i = 1; i < count; i++)
		victims[index][i - 1] = (index + i) % count;
	tiers[index].end = count - 1;
	worker->victims.tier_count = count > 1;
	worker->victims.tiers = &tiers[index];
	worker->victims.workers = victims[index];
	worker->last_victims = &last_victims[index];
	idle_add(&pool.idle, &worker->parker, 0);
	assert(deque_init(&worker->deque) == 0);
}

static void pool_setup(unsigned worker_count)
{
	pool.worker_count = worker_count;
	atomic_init(&pool.slot_count, worker_count);
	pool.node_count = 1;
	pool.workers = worker_list;
	pool.nodes = node_list;
	for (unsigned i = 0; i < PRIORITY_COUNT; i++)
		assert(injector_init(&node.shards[i], 0, 0) == 0);
	assert(idle_init(&pool.idle, worker_nodes, worker_count, 1, 0) == 0);
	for (unsigned i = 0; i < worker_count; i++)
		worker_setup(i, worker_count);
}

static void pool_fini(void)
{
	for (unsigned i = 0; i < pool.worker_count; i++)
		deque_fini(&workers[i].deque);
	for (unsigned i = 0; i < PRIORITY_COUNT; i++)
		injector_fini(&node.shards[i]);
	idle_fini(&pool.idle);
}

#endif
