/* SPDX-License-Identifier: MIT */
/*
 * A worker whose task submits another one, and then waits for it, as it were:
 * the second worker, about to sleep, must steal it. All code is the library's
 * own.
 */
#include "pool.h"

static struct wsrt_task task;

static void run_item(struct wsrt_task *ran, int status)
{
	assert(ran == &task && status == 0);
	item_run((uintptr_t)&items[0]);
}

static void setup(void)
{
	pool_setup(2);
}

static void play(unsigned thread)
{
	worker_self = &workers[thread];
	if (thread == 0) {
		item_submit(0);
		task.run = run_item;
		assert(wsrt_pool_submit(&pool, &task, NULL) == 0);
	} else {
		run(worker_self,
		    find(worker_self, idle_search_begin(&pool.idle)));
	}
}

static void check(void)
{
	items_check(1);
	pool_fini();
}

int main(void)
{
	return model_main(&(struct model){2, setup, play, check});
}
