/* SPDX-License-Identifier: MIT */
/*
 * Two producers, one with a batch, and two consumers, within a block or over
 * the edge of one. Nothing is lost or taken twice, each producer's order is
 * kept, a consumer passes no slot that is claimed and not filled.
 */
#define INJECTOR_BLOCK_SLOTS 4u

#include "model.h"
#include "queue/injector.c"

static struct injector injector;

static void setup(void)
{
	assert(injector_init(&injector, 0, 2) == 0);
}

static unsigned take_and_run(unsigned max)
{
	uintptr_t words[3];
	unsigned count = injector_take(&injector, words, max, 1);

	for (unsigned i = 0; i < count; i++)
		item_run(words[i]);
	if (count)
		model_met();
	return count;
}

static void push_batch(void)
{
	uintptr_t words[2] = {item_submit(0), item_submit(1)};
	int pushed = injector_push(&injector, words, 2, false);

	if (pushed == 1)
		pushed += injector_push(&injector, words + 1, 1, false);
	assert(pushed == 2);
}

static void push_one(void)
{
	uintptr_t word = item_submit(2);

	assert(injector_push(&injector, &word, 1, false) == 1);
}

static void play(unsigned thread)
{
	if (thread == 0)
		push_batch();
	else if (thread == 1)
		push_one();
	else
		take_and_run(2);
}

static void check(void)
{
	while (take_and_run(3))
		;
	assert(injector_drained(&injector));
	assert(injector_pushed(&injector) == 2 + 3);
	items_check(3);
	injector_fini(&injector);
}

int main(void)
{
	return model_main(&(struct model){4, setup, play, check});
}
