/* SPDX-License-Identifier: MIT */
/*
 * Growth while thieves steal: the buffer that is replaced is freed, so a thief
 * that uses it too late, or sees the new one before what is in it, is an error.
 */
#define DEQUE_CAPACITY_MIN 4u

#include "model.h"
#include "queue/deque.c"

static struct deque deque;

static void setup(void)
{
	assert(deque_init(&deque) == 0);
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

static void own(void)
{
	for (unsigned i = 0; i < 2; i++)
		assert(deque_push(&deque, item_submit(i)));
	deque_publish(&deque);
	assert(deque_push(&deque, item_submit(2))); /* grows */
	deque_publish(&deque);
	while (pop_and_run())
		;
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
