/* SPDX-License-Identifier: MIT */
/*
 * A waiter that helps the thief of its fork takes only what was forked below
 * that: not what lay in the thief's deque before, nor what comes once the fork
 * is done. Another thief steals the oldest meanwhile.
 */
#include "model.h"
#include "queue/deque.c"

enum { RUNS = 1, DONE = 2 };
enum { BEFORE, INSIDE, INSIDE_TOO, AFTER };

static struct deque deque;
static uint32_t state;

static void setup(void)
{
	state = RUNS;
	assert(deque_init_at(&deque, 0, 4) == 0);
	assert(deque_push(&deque, item_submit(BEFORE) | DEQUE_SINGLE));
	deque_publish(&deque);
}

static void pop_and_run(void)
{
	uintptr_t word = deque_pop(&deque);

	if (word)
		item_run(word);
}

static void push(unsigned index)
{
	assert(deque_push(&deque, item_submit(index) | DEQUE_SINGLE));
	deque_publish(&deque);
}

static void own(void)
{
	push(INSIDE);
	push(INSIDE_TOO); /* grows */
	pop_and_run();
	pop_and_run();
	__atomic_store_n(&state, DONE, __ATOMIC_RELAXED);
	push(AFTER);
	pop_and_run();
	pop_and_run();
}

static void help(void)
{
	uintptr_t word;

	if (deque_steal_single(&deque, 1, &state, RUNS, &word) <= 0)
		return;

	unsigned index = item_run(word);

	assert(index == INSIDE || index == INSIDE_TOO);
	model_met();
}

static void steal_and_run(void)
{
	uintptr_t word;

	if (deque_steal(&deque, &word, 1) > 0)
		item_run(word);
}

static void play(unsigned thread)
{
	if (thread == 0) {
		own();
		return;
	}
	for (unsigned i = 0; i < MODEL_TRIES; i++)
		if (thread == 1)
			help();
		else
			steal_and_run();
}

static void check(void)
{
	items_check(4);
	deque_fini(&deque);
}

int main(void)
{
	return model_main(&(struct model){3, setup, play, check});
}
