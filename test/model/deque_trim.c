/* SPDX-License-Identifier: MIT */
/*
 * Memory given back by a deque that has drained, while thieves that have yet to
 * notice look into the buffer that is freed, or into the new one, with indices
 * of before.
 */
#define DEQUE_CAPACITY_MIN 4u

#include "model.h"
#include "queue/deque.c"

static struct deque deque;

static void setup(void)
{
	assert(deque_init_at(&deque, 2, 8) == 0);
}

static void steal_and_run(void)
{
	uintptr_t words[2];
	int count = deque_steal(&deque, words, 2);

	for (int i = 0; i < count; i++)
		item_run(words[i]);
	if (count > 0)
		model_met();
}

static bool pop_and_run(void)
{
	uintptr_t word = deque_pop(&deque);

	if (word)
		item_run(word);
	return word;
}

static void push(unsigned index)
{
	assert(deque_push(&deque, item_submit(index)));
	deque_publish(&deque);
}

static void own(void)
{
	push(0);
	while (pop_and_run())
		;
	deque_trim(&deque, true);
	push(1);
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
	items_check(2);
	deque_fini(&deque);
}

int main(void)
{
	return model_main(&(struct model){3, setup, play, check});
}
