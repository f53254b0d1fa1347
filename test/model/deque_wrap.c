/* SPDX-License-Identifier: MIT */
/*
 * Indices that wrap at 2^32, a buffer so small that slots are used again at
 * once, and an owner that moves its empty deque to the start of the buffer,
 * against a thief that may have slept since any moment before.
 */
#include "model.h"
#include "queue/deque.c"

static struct deque deque;

static void setup(void)
{
	assert(deque_init_at(&deque, UINT32_MAX - 1, 4) == 0);
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
	push(1);
	while (pop_and_run())
		;
	deque_realign(&deque);
	push(2);
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
