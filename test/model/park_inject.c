/* SPDX-License-Identifier: MIT */
/*
 * A submit from outside against the one worker that is about to sleep, in the
 * library's own code from end to end. The worker leaves with the task, so if it
 * sleeps through the submit it sleeps for ever.
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
	pool_setup(1);
}

static void play(unsigned thread)
{
	if (thread == 0) {
		item_submit(0);
		task.run = run_item;
		assert(wsrt_pool_submit(&pool, &task, NULL) == 0);
		return;
	}
	worker_self = &workers[0];
	run(worker_self, find(worker_self, idle_search_begin(&pool.idle)));
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
