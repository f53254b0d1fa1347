/* SPDX-License-Identifier: MIT */
/*
 * The idle set alone, around a queue that is but a count. As many tasks are
 * submitted, at once, as there are workers, each of which takes one and is
 * gone, as if its task waited for the others: a worker that sleeps on while a
 * task waits sleeps for ever. The worker's part follows find() and park() of
 * src/sched/worker.c; those are checked as they are by park_inject.c and
 * park_spawn.c, with fewer threads.
 */
#include "model.h"
#include "park/idle.c"

#define WORKERS 2u

static struct idle_set set;
static struct parker parkers[WORKERS];
static _Atomic unsigned queue;

static void setup(void)
{
	static const unsigned nodes[WORKERS];

	assert(idle_init(&set, nodes, WORKERS, 1, 0) == 0);
	for (unsigned i = 0; i < WORKERS; i++)
		idle_add(&set, &parkers[i], 0);
}

static void notify(void)
{
	if (idle_wants_wake(&set))
		idle_wake(&set, 0);
}

static void submit_batch(void)
{
	atomic_fetch_add_explicit(&queue, WORKERS, memory_order_seq_cst);
	notify();
}

static bool look(void)
{
	return atomic_load_explicit(&queue, memory_order_seq_cst) != 0;
}

static bool search(void)
{
	unsigned count = atomic_load_explicit(&queue, memory_order_relaxed);

	while (count)
		if (atomic_compare_exchange_strong_explicit(
			    &queue, &count, count - 1, memory_order_relaxed,
			    memory_order_relaxed))
			return true;
	return false;
}

static void park(struct parker *parker, bool searching)
{
	if (idle_fall_asleep(&set, parker, searching) && look()) {
		model_bound(1);
		idle_get_up(&set, parker);
	} else {
		model_met();
		idle_sleep(parker);
	}
}

static void find(struct parker *parker)
{
	bool searching = idle_search_begin(&set);

	while (!searching || !search()) {
		park(parker, searching);
		searching = true;
	}
	if (idle_search_end(&set) && look())
		notify();
}

static void play(unsigned thread)
{
	if (thread > 0)
		find(&parkers[thread - 1]);
	else
		submit_batch();
}

static void check(void)
{
	uint64_t counts = idle_counts(&set);

	assert(queue == 0);
	assert(idle_sleepers(counts) == 0 && idle_searchers(counts) == 0);
	idle_fini(&set);
}

int main(void)
{
	return model_main(&(struct model){WORKERS + 1, setup, play, check});
}
