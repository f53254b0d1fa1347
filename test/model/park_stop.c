/* SPDX-License-Identifier: MIT */
/*
 * A pool that tells its workers to leave while they fall asleep: who has not
 * seen that it stops is woken. The worker's part follows park() and find() of
 * src/sched/worker.c, thread 0 stop_workers() of src/sched/pool.c.
 */
#include "model.h"
#include "park/idle.c"

#define WORKERS 2u

static struct idle_set set;
static struct parker parkers[WORKERS];
static _Atomic bool stopping;

static void setup(void)
{
	static const unsigned nodes[WORKERS];

	stopping = false;
	assert(idle_init(&set, nodes, WORKERS, 1, 0) == 0);
	for (unsigned i = 0; i < WORKERS; i++)
		idle_add(&set, &parkers[i], 0);
}

static bool told(void)
{
	return atomic_load_explicit(&stopping, memory_order_seq_cst);
}

static void work(struct parker *parker)
{
	bool searching = idle_search_begin(&set);

	while (!told()) {
		idle_fall_asleep(&set, parker, searching);
		if (told()) {
			idle_get_up(&set, parker);
		} else {
			model_met();
			idle_sleep(parker);
		}
		searching = true;
	}
	if (searching)
		idle_search_end(&set);
}

static void play(unsigned thread)
{
	if (thread > 0) {
		work(&parkers[thread - 1]);
		return;
	}
	atomic_store_explicit(&stopping, true, memory_order_seq_cst);
	while (idle_wake(&set, 0))
		;
}

static void check(void)
{
	uint64_t counts = idle_counts(&set);

	assert(idle_sleepers(counts) == 0 && idle_searchers(counts) == 0);
	idle_fini(&set);
}

int main(void)
{
	return model_main(&(struct model){WORKERS + 1, setup, play, check});
}
