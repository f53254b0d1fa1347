/* SPDX-License-Identifier: MIT */
/*
 * A submit against the end: once a shard is closed and drained, nothing may
 * ever come out of it again, and a push that was told it succeeded has run.
 */
#define INJECTOR_BLOCK_SLOTS 2u

#include "model.h"
#include "queue/injector.c"

static struct injector injector;
static bool accepted;

static void setup(void)
{
	assert(injector_init(&injector, 0, 1) == 0);
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

static void push(void)
{
	uintptr_t word = item_submit(0);
	int pushed = injector_push(&injector, &word, 1, false);

	assert(pushed == 1 || pushed == -ESHUTDOWN);
	accepted = pushed == 1;
}

static void play(unsigned thread)
{
	uintptr_t word = 0;
	bool drained;

	if (thread == 1) {
		push();
		return;
	}
	if (thread == 2) {
		take_and_run();
		return;
	}
	injector_close(&injector);
	assert(injector_push(&injector, &word, 1, false) == -ESHUTDOWN);
	drained = injector_drained(&injector);
	if (drained)
		assert(injector_drained(&injector));
	assert(!take_and_run() || !drained);
}

static void check(void)
{
	take_and_run();
	assert(injector_drained(&injector));
	if (!accepted)
		item_run(item_submit(0));
	items_check(1);
	injector_fini(&injector);
}

int main(void)
{
	return model_main(&(struct model){3, setup, play, check});
}
