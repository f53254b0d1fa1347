/* SPDX-License-Identifier: MIT */
/*
 * Many producers and consumers over one injector: every word comes out once,
 * and each producer's words come in its order. Bursts about the size of a block
 * (B35), with and without a capacity, and closing in the midst of it.
 */
#include "stress.h"

#include "os/rcu.h"
#include "queue/injector.h"

#define PRODUCERS 4u
#define CONSUMERS 4u
#define BATCH_MAX 64u

static struct injector injector;
static struct once once;
static uint64_t each;
static unsigned capacity;
static bool closing;
static _Atomic uint64_t pushed[PRODUCERS], taken;
static _Atomic unsigned producers_left;

static uintptr_t word_of(unsigned producer, uint64_t number)
{
	return 2 * (producer * each + number) + 2;
}

static uint64_t burst(uint64_t *random)
{
	switch (random_below(random, 6)) {
	case 0:
		return INJECTOR_BLOCK_SLOTS - 1;
	case 1:
		return INJECTOR_BLOCK_SLOTS;
	case 2:
		return INJECTOR_BLOCK_SLOTS + 1;
	default:
		return 1 + random_below(random, 100);
	}
}

/* Pushes up to @count from @next on; false once closed. */
static bool push(unsigned self, uint64_t *next, uint64_t count,
		 uint64_t *random)
{
	uint64_t end = *next + count < each ? *next + count : each;
	uintptr_t words[BATCH_MAX];

	while (*next < end) {
		unsigned batch = 1 + random_below(random, BATCH_MAX);
		int result;

		if (batch > end - *next)
			batch = (unsigned)(end - *next);
		for (unsigned i = 0; i < batch; i++)
			words[i] = word_of(self, *next + i);
		result = injector_push(&injector, words, batch, false);
		if (result == -ESHUTDOWN && closing)
			return false;
		if (result == -EAGAIN && capacity) {
			sched_yield();
			continue;
		}
		check_msg(result > 0 && result <= (int)batch, "push: %d",
			  result);
		*next += (unsigned)result;
	}
	return true;
}

static void *produce(void *argument)
{
	unsigned self = (unsigned)(uintptr_t)argument;
	uint64_t random = stress_seed + self + 1, next = 0;

	while (next < each && push(self, &next, burst(&random), &random))
		if (random_below(&random, 16) == 0)
			sched_yield();
	atomic_store(&pushed[self], next);
	atomic_fetch_sub(&producers_left, 1);
	return NULL;
}

static void *consume(void *argument)
{
	uint64_t random = stress_seed + 100 + (uintptr_t)argument;
	uint64_t after[PRODUCERS] = {0};
	uintptr_t words[BATCH_MAX];

	for (;;) {
		bool left = atomic_load(&producers_left) > 0;
		unsigned max = 1 + random_below(&random, BATCH_MAX);
		unsigned count = injector_take(&injector, words, max,
					       1 + random_below(&random, 8));

		check(count <= max);
		for (unsigned i = 0; i < count; i++) {
			uint64_t index = words[i] / 2 - 1;
			uint64_t *next = &after[index / each];

			check_msg(index % each >= *next,
				  "%llu of producer %llu came after %llu",
				  (unsigned long long)(index % each),
				  (unsigned long long)(index / each),
				  (unsigned long long)*next);
			*next = index % each + 1;
			once_mark(&once, index);
		}
		atomic_fetch_add(&taken, count);
		if (count == 0) {
			if (!left && injector_drained(&injector))
				return NULL;
			sched_yield();
		}
	}
}

static uint64_t run(void)
{
	pthread_t threads[PRODUCERS + CONSUMERS];
	uint64_t sum = 0;

	check(injector_init(&injector, capacity, 0) == 0);
	atomic_store(&taken, 0);
	atomic_store(&producers_left, PRODUCERS);
	for (uintptr_t i = 0; i < PRODUCERS; i++)
		pthread_create(&threads[i], NULL, produce, (void *)i);
	for (uintptr_t i = 0; i < CONSUMERS; i++)
		pthread_create(&threads[PRODUCERS + i], NULL, consume,
			       (void *)i);
	if (closing) {
		sleep_ns(random_below(&stress_random, 5 * MS));
		injector_close(&injector);
	}
	for (unsigned i = 0; i < PRODUCERS + CONSUMERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < PRODUCERS; i++)
		sum += atomic_load(&pushed[i]);
	check(atomic_load(&taken) == sum);
	check(injector_pushed(&injector) == sum);
	injector_fini(&injector);
	return sum;
}

static void run_whole(const char *step, unsigned rounds, unsigned limit)
{
	stress_next(step);
	capacity = limit;
	each = stress_rounds(rounds);
	once_init(&once, PRODUCERS * each);
	check(run() == PRODUCERS * each);
	once_end(&once);
}

/* Words taken are the first of each producer, and no more. */
static void run_closed(void)
{
	stress_next("closed");
	closing = true;
	each = 10000000;
	for (unsigned i = 0; i < stress_rounds(200); i++) {
		capacity = i % 2 ? 0 : 1 + random_below(&stress_random, 1000);
		once_init(&once, PRODUCERS * each);
		run();
		free(once.bits);
	}
}

int main(void)
{
	stress_begin();
	check(rcu_reclaimer_get() == 0);
	run_whole("free", 20000000, 0);
	run_whole("bounded", 4000000, 100);
	run_whole("two blocks", 20000000, 2 * INJECTOR_BLOCK_SLOTS);
	run_closed();
	stress_next("end");
	rcu_reclaimer_put();
	return 0;
}
