/* SPDX-License-Identifier: MIT */
/*
 * An owner that pushes, publishes and takes back, against two thieves that
 * claim batches. The reclaim must make steals in flight fail: without its tag,
 * or with the lower split not seen in time, a task runs twice.
 */
#include "model.h"
#include "queue/deque.c"

#define BATCH 2u

static struct deque deque;

static void setup(void)
{
	assert(deque_init_at(&deque, 0, 8) == 0);
}

static void steal_and_run(void)
{
	uintptr_t words[BATCH];
	int count = deque_steal(&deque, words, BATCH);

	for (int i = 0; i < count; i++)
		item_run(words[i]);
	if (count > 0)
		model_met();
}

static void pop_and_run(void)
{
	uintptr_t word = deque_pop(&deque);

	if (word)
		item_run(word);
}

/* Tasks, which are claimed in batches, and above them forks, which are taken
 * back several at once. */
static void own(void)
{
	for (unsigned i = 0; i < 4; i++)
		assert(deque_push(&deque,
				  item_submit(i) | (i < 2 ? 0 : DEQUE_SINGLE)));
	deque_publish(&deque);
	pop_and_run();
	pop_and_run();
	assert(deque_push(&deque, item_submit(4)));
	deque_publish(&deque);
	for (unsigned i = 0; i < 3; i++)
		pop_and_run();
}

static void play(unsigned thread)
{
	if (thread == 0)
		own();
	else
		for (unsigned i = 0; i < MODEL_TRIES; i++)
			steal_and_run();
}

static void check(void)
{
	items_check(5);
	deque_fini(&deque);
}

int main(void)
{
	return model_main(&(struct model){3, setup, play, check});
}
