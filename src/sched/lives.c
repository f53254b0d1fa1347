/* SPDX-License-Identifier: MIT */
/*
 * All pools of the process, so that a child of fork() can be told that its
 * copies are without workers. One atfork handler serves the whole library.
 */
#include <errno.h>

#include "os/rcu.h"
#include "sched/pool.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wsrt_pool *pools; /* L */

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
	rcu_before_fork();
}

static void after_fork_parent(void)
{
	rcu_after_fork_parent();
	pthread_mutex_unlock(&lock);
}

/* A submit finds the shard closed, and asks why only then. */
static void disown(struct wsrt_pool *pool)
{
	atomic_store_explicit(&pool->owner_dead, true, memory_order_relaxed);
	atomic_store_explicit(&pool->closing, true, memory_order_relaxed);
	pool_close_shards(pool);
}

static void after_fork_child(void)
{
	worker_self = NULL;
	for (; pools; pools = pools->next)
		disown(pools);
	rcu_after_fork_child();
	pthread_mutex_unlock(&lock);
}

static int register_error;

static void register_handlers(void)
{
	register_error = pthread_atfork(before_fork, after_fork_parent,
					after_fork_child);
}

int lives_add(struct wsrt_pool *pool)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_handlers);
	if (register_error)
		return -register_error;
	pthread_mutex_lock(&lock);
	pool->next = pools;
	pools = pool;
	pthread_mutex_unlock(&lock);
	return 0;
}

void lives_remove(struct wsrt_pool *pool)
{
	struct wsrt_pool **link = &pools;

	pthread_mutex_lock(&lock);
	while (*link && *link != pool)
		link = &(*link)->next;
	if (*link)
		*link = pool->next;
	pthread_mutex_unlock(&lock);
}
