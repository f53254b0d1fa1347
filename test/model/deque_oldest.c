/* SPDX-License-Identifier: MIT */
/*
 * An owner that runs its oldest task first, by stealing from itself, then the
 * others from the newest, against thieves.
 */
#include "model.h"
#include "queue/deque.c"

#define BATCH 2u

static struct deque deque;

static void setup(void)
{
	assert(deque_init_at(&deque, 0, 4) == 0);
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

static void own(void)
{
	uintptr_t word;

	for (unsigned i = 0; i < 3; i++)
		assert(deque_push(&deque, item_submit(i)));
	deque_publish(&deque);
	word = deque_pop_oldest(&deque);
	if (word)
		item_run(word);
	for (unsigned i = 0; i < 2; i++)
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
	items_check(3);
	deque_fini(&deque);
}

int main(void)
{
	return model_main(&(struct model){3, setup, play, check});
}
