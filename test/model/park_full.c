/* SPDX-License-Identifier: MIT */
/*
 * A producer that sleeps until there is room in a pool with a capacity of one,
 * and the worker that makes it: neither may sleep on. All code is the library's
 * own.
 */
#define GET_UPS_MAX 1u

#include "pool.h"

#define TASKS 2u

static struct wsrt_task tasks[TASKS];

static void run_item(struct wsrt_task *task, int status)
{
	assert(status == 0);
	item_run((uintptr_t)&items[task - tasks]);
}

static void setup(void)
{
	pool_setup(1);
	pool.config.capacity = 1;
	pool.config.on_full = WSRT_FULL_BLOCK;
	for (unsigned i = 0; i < PRIORITY_COUNT; i++)
		node.shards[i].capacity = 1;
}

static void submit(unsigned index)
{
	item_submit(index);
	tasks[index].run = run_item;
	assert(wsrt_pool_submit(&pool, &tasks[index], NULL) == 0);
}

/* Thread 0 is not one that may sleep. */
static void play(unsigned thread)
{
	if (thread == 1) {
		for (unsigned i = 0; i < TASKS; i++)
			submit(i);
	} else if (thread == 2) {
		worker_self = &workers[0];
		for (unsigned i = 0; i < TASKS; i++)
			run(worker_self,
			    find(worker_self, idle_search_begin(&pool.idle)));
	}
}

static void check(void)
{
	items_check(TASKS);
	pool_fini();
}

int main(void)
{
	return model_main(&(struct model){3, setup, play, check});
}
