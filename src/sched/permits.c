/* SPDX-License-Identifier: MIT */
#include "sched/permits.h"

#include <wsrt/base.h>

static uint32_t change(struct wsrt_pool *pool, uint32_t by)
{
	/* Seq_cst: pairs with the load in pool_quiet(). */
	return atomic_fetch_add_explicit(&pool->permits, by,
					 memory_order_seq_cst) +
	       by;
}

static void push_retired(struct worker *worker)
{
	worker->next_retired = worker->pool->retired;
	worker->pool->retired = worker;
}

static struct worker *pop_retired(struct wsrt_pool *pool)
{
	struct worker *worker = pool->retired;

	if (worker)
		pool->retired = worker->next_retired;
	return worker;
}

/* A thread that sleeps until it is admitted; NULL: at the limit, or none. */
static struct worker *start_spare(struct worker *home)
{
	struct wsrt_pool *pool = home->pool;
	struct worker *spare;

	if (pool->thread_count >= pool->config.thread_max)
		return NULL;
	spare = pool->unstarted;
	if (!spare) {
		spare = worker_add(pool, home->home);
		if (!spare)
			return NULL;
		idle_add(&pool->idle, &spare->parker, spare->node);
	}
	spare->spare = true;
	parker_prepare(&spare->parker);
	pool->unstarted = worker_start(spare) ? spare : NULL;
	if (pool->unstarted)
		return NULL;
	pool->thread_count++;
	return spare;
}

/* Nobody may be looking for work while there is some, and a sleeper for it. */
static void look_again(struct wsrt_pool *pool, unsigned node)
{
	if (idle_wants_wake(&pool->idle) && worker_look(pool))
		idle_wake(&pool->idle, node);
}

bool permits_give(struct worker *worker)
{
	struct wsrt_pool *pool = worker->pool;
	struct worker *spare = NULL;
	bool given = true;

	pthread_mutex_lock(&pool->permit_lock);

	unsigned enabled = permits_enabled(
		atomic_load_explicit(&pool->permits, memory_order_relaxed));

	if (enabled <= pool->worker_count) {
		spare = pop_retired(pool);
		if (!spare)
			spare = start_spare(worker);
	}
	if (spare)
		change(pool, PERMIT_BLOCKED);
	else if (enabled > 1)
		change(pool, PERMIT_BLOCKED - PERMIT_ENABLED);
	else
		given = false;
	pthread_mutex_unlock(&pool->permit_lock);
	if (spare && idle_admit(&pool->idle, &spare->parker))
		look_again(pool, worker->node);
	return given;
}

void permits_take(struct worker *worker)
{
	struct wsrt_pool *pool = worker->pool;
	struct parker *parker = NULL;

	pthread_mutex_lock(&pool->permit_lock);
	if (permits_enabled(change(pool, PERMIT_ENABLED - PERMIT_BLOCKED)) >
	    pool->worker_count)
		parker = idle_withdraw(&pool->idle);
	if (parker) {
		push_retired(wsrt_container_of(parker, struct worker, parker));
		change(pool, -PERMIT_ENABLED);
	}
	pthread_mutex_unlock(&pool->permit_lock);
	if (parker)
		look_again(pool, worker->node);
}

bool permits_retire(struct worker *worker)
{
	struct wsrt_pool *pool = worker->pool;
	bool surplus;

	pthread_mutex_lock(&pool->permit_lock);
	surplus = permits_surplus(pool);
	if (surplus) {
		parker_prepare(&worker->parker);
		push_retired(worker);
		change(pool, -PERMIT_ENABLED);
	}
	pthread_mutex_unlock(&pool->permit_lock);
	if (!surplus)
		return false;
	/* It may leave tasks behind. */
	look_again(pool, worker->node);
	pool_check_quiet(pool);
	atomic_store_explicit(&worker->counts.running, NULL,
			      memory_order_relaxed);
	idle_sleep(&worker->parker);
	return true;
}

void permits_enable_all(struct wsrt_pool *pool)
{
	struct worker *worker;

	pthread_mutex_lock(&pool->permit_lock);
	while ((worker = pop_retired(pool))) {
		change(pool, PERMIT_ENABLED);
		idle_admit(&pool->idle, &worker->parker);
	}
	pthread_mutex_unlock(&pool->permit_lock);
}
