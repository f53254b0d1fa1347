/* SPDX-License-Identifier: MIT */
/*
 * What the programs of this folder share. Each includes sources of the library
 * as they are, and runs a few threads over them once:
 *
 *	under GenMC	(https://github.com/MPI-SWS/genmc) with MODEL_CHECKER
 *			defined and stubs/ first among the include folders:
 *			all executions that RC11 allows
 *	natively	over and over for a second, a small stress test
 *
 * Thread 0 is the one that sets up and checks. A thread that waits for ever is
 * an error to the checker, and a time-out natively.
 */
#ifndef MODEL_H
#define MODEL_H

#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define MODEL_THREADS_MAX 4u

static unsigned model_threads;
static _Thread_local unsigned model_self;

struct model {
	unsigned threads;
	void (*setup)(void);
	void (*play)(unsigned thread);
	void (*check)(void);
};

#ifdef MODEL_CHECKER

#ifndef EOWNERDEAD
#define EOWNERDEAD 130
#endif

/* How often to try what may find nothing: once will do, in some execution. */
#define MODEL_TRIES 1u

void __VERIFIER_assume(bool condition);

/* Gives up executions in which @condition does not hold. */
static inline void model_assume(bool condition)
{
	__VERIFIER_assume(condition);
}

/*
 * Called wherever a thread goes round without having got anywhere. Executions
 * in which one does so more than @max times are given up, or there would be no
 * end of them.
 */
static inline void model_bound(unsigned max)
{
	static _Thread_local unsigned rounds;

	model_assume(rounds++ < max);
}

/* Counts, natively, how often threads met: a run in which none did is void. */
static inline void model_met(void)
{
}

/* Who went to sleep, and on what: see stubs/os/futex.h. */
static struct {
	_Atomic uint32_t *word;
	uint32_t expected;
} model_sleeps[MODEL_THREADS_MAX];

static void (*model_play)(unsigned thread);

static void *model_thread(void *argument)
{
	model_self = (unsigned)(uintptr_t)argument;
	model_play(model_self);
	return NULL;
}

/* Any that would have been woken: not an execution that exists. */
static void model_check_asleep(void)
{
	bool asleep = false;

	for (unsigned i = 0; i < model_threads; i++) {
		_Atomic uint32_t *word = model_sleeps[i].word;

		if (!word)
			continue;
		model_assume(atomic_load_explicit(word, memory_order_relaxed) ==
			     model_sleeps[i].expected);
		asleep = true;
	}
	assert(!asleep);
}

static inline int model_main(const struct model *model)
{
	pthread_t ids[MODEL_THREADS_MAX];

	model_threads = model->threads;
	model_play = model->play;
	model->setup();
	for (uintptr_t i = 1; i < model->threads; i++)
		pthread_create(&ids[i], NULL, model_thread, (void *)i);
	model->play(0);
	for (unsigned i = 1; i < model->threads; i++)
		pthread_join(ids[i], NULL);
	model_check_asleep();
	model->check();
	return 0;
}

#else
#include "native.h"
#endif

/* A task: who runs it sees what its submitter wrote, and is the only one. */
struct item {
	uint32_t written;
	_Atomic uint32_t ran;
};

#define ITEMS_MAX 8u

static struct item items[ITEMS_MAX];

static inline uintptr_t item_submit(unsigned index)
{
	items[index].written = index + 1;
	return (uintptr_t)&items[index];
}

/* Returns the index. */
static inline unsigned item_run(uintptr_t word)
{
	struct item *item = (struct item *)(word & ~(uintptr_t)1);
	unsigned index = (unsigned)(item - items);

	assert(item->written == index + 1);
	assert(atomic_fetch_add_explicit(&item->ran, 1, memory_order_relaxed) ==
	       0);
	return index;
}

static inline bool item_has_run(unsigned index)
{
	return atomic_load_explicit(&items[index].ran, memory_order_relaxed);
}

/* After all threads: the first @count have run; ready for another round. */
static inline void items_check(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		assert(item_has_run(i));
		items[i].written = 0;
		atomic_store_explicit(&items[i].ran, 0, memory_order_relaxed);
	}
}

#endif
