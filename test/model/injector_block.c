/* SPDX-License-Identifier: MIT */
/*
 * Blocks so small that the queue walks from one to the next all the time,
 * while two consumers pass and free them and a second producer may still have
 * an old one in hand.
 */
#define INJECTOR_BLOCK_SLOTS 2u

#include "model.h"
#include "queue/injector.c"

static struct injector injector;

static void push(unsigned index)
{
	uintptr_t word = item_submit(index);

	assert(injector_push(&injector, &word, 1, false) == 1);
}

static unsigned take_and_run(void)
{
	uintptr_t words[2];
	unsigned count = injector_take(&injector, words, 2, 1);

	for (unsigned i = 0; i < count; i++)
		item_run(words[i]);
	if (count)
		model_met();
	return count;
}

static void setup(void)
{
	assert(injector_init(&injector, 0, 0) == 0);
	push(0);
}

static void play(unsigned thread)
{
	if (thread == 0) {
		push(1);
		push(2);
	} else if (thread == 1) {
		take_and_run();
		take_and_run();
	} else {
		take_and_run();
	}
}

static void check(void)
{
	while (take_and_run())
		;
	assert(injector_drained(&injector));
	items_check(3);
	injector_fini(&injector);
}

int main(void)
{
	return model_main(&(struct model){3, setup, play, check});
}
