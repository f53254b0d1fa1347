/* SPDX-License-Identifier: MIT */
/*
 * The native half of model.h: rounds of a model on threads that stay, so that
 * they overlap, each starting at a random moment. Prints the seed, the rounds,
 * and how many saw threads meet. A second long, times WSRT_STRESS_SCALE; the
 * seed is WSRT_STRESS_SEED.
 */
#ifndef MODEL_NATIVE_H
#define MODEL_NATIVE_H

#include <sched.h>
#include <stdio.h>

#include "base/random.h"
#include "os/clock.h"
#include "os/rcu.h"

/* By the time that a thread has started, another may have ended. */
#define MODEL_TRIES 200u

#define SPINS_MAX 200u
#define SKEW_MAX 100u

static const struct model *model_running;
static _Atomic unsigned model_arrived, model_round;
static _Atomic bool model_over;
static _Atomic uint64_t model_meetings;
static uint64_t model_seed;

static inline void model_bound(unsigned max)
{
	(void)max;
}

static inline void model_met(void)
{
	atomic_fetch_add_explicit(&model_meetings, 1, memory_order_relaxed);
}

static void model_barrier(void)
{
	unsigned round =
		atomic_load_explicit(&model_round, memory_order_relaxed);

	if (atomic_fetch_add_explicit(&model_arrived, 1,
				      memory_order_acq_rel) ==
	    model_running->threads - 1) {
		atomic_store_explicit(&model_arrived, 0, memory_order_relaxed);
		atomic_store_explicit(&model_round, round + 1,
				      memory_order_release);
		return;
	}
	for (unsigned spins = 0;
	     atomic_load_explicit(&model_round, memory_order_acquire) == round;
	     spins++)
		if (spins >= SPINS_MAX)
			sched_yield();
}

static void model_skew(uint64_t *random)
{
	unsigned spins = random_below(random, SKEW_MAX);

	for (unsigned i = 0; i < spins; i++)
		atomic_signal_fence(memory_order_seq_cst);
}

static void *model_thread(void *argument)
{
	uint64_t random;

	model_self = (unsigned)(uintptr_t)argument;
	random = model_seed + model_self;
	for (;;) {
		model_barrier();
		if (atomic_load_explicit(&model_over, memory_order_relaxed))
			return NULL;
		model_skew(&random);
		model_running->play(model_self);
		model_barrier();
	}
}

static uint64_t model_setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* Thread 0's part. Returns the number of rounds. */
static uint64_t model_rounds(const struct model *model, uint64_t end)
{
	uint64_t rounds = 0, random = model_seed;

	while (os_clock_ns() < end) {
		model->setup();
		model_barrier();
		model_skew(&random);
		model->play(0);
		model_barrier();
		model->check();
		rounds++;
	}
	atomic_store_explicit(&model_over, true, memory_order_relaxed);
	model_barrier();
	return rounds;
}

static inline int model_main(const struct model *model)
{
	uint64_t begin = os_clock_ns();
	uint64_t length = NS_PER_SECOND * model_setting("WSRT_STRESS_SCALE", 1);
	pthread_t ids[MODEL_THREADS_MAX];

	model_seed = model_setting("WSRT_STRESS_SEED", begin | 1);
	printf("WSRT_STRESS_SEED=%llu\n", (unsigned long long)model_seed);
	fflush(stdout);
	model_threads = model->threads;
	model_running = model;
	if (rcu_reclaimer_get())
		return 1;
	for (uintptr_t i = 1; i < model->threads; i++)
		if (pthread_create(&ids[i], NULL, model_thread, (void *)i))
			return 1;

	uint64_t rounds = model_rounds(model, begin + length);

	for (unsigned i = 1; i < model->threads; i++)
		pthread_join(ids[i], NULL);
	rcu_reclaimer_put();
	printf("%llu rounds, threads met %llu times\n",
	       (unsigned long long)rounds,
	       (unsigned long long)atomic_load_explicit(&model_meetings,
							memory_order_relaxed));
	return 0;
}

#endif
