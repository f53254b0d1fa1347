/* SPDX-License-Identifier: MIT */
/*
 * Two producers at the end of a block, either of which makes the next one, for
 * itself or for the other, and a consumer that follows. Who gets to a block by
 * whatever way must see what its maker wrote.
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
	} else if (thread == 1) {
		push(2);
		push(3);
	} else {
		take_and_run();
		take_and_run();
	}
}

static void check(void)
{
	while (take_and_run())
		;
	assert(injector_drained(&injector));
	items_check(4);
	injector_fini(&injector);
}

int main(void)
{
	return model_main(&(struct model){3, setup, play, check});
}
