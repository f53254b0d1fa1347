/* SPDX-License-Identifier: MIT */
/*
 * Deques that grow, shrink and wrap while they are robbed: every word comes out
 * once.
 *
 *	one	B34: an owner whose deque goes between 1 and 100,000 words, and 8
 *		thieves, single and in batches; 10^8 words at
 *		WSRT_STRESS_SCALE=1, a tenth of it under sanitizers
 *	four	B32, B33: four owners of tiny deques that rob each other, from
 *		indices shortly before the wrap
 */
#include "stress.h"

#include "os/rcu.h"
#include "queue/deque.h"

#define THIEVES 8u
#define DEPTH_MAX 100000u
#define OWNERS 4u
#define BATCH_MAX 64u

struct player {
	_Alignas(CACHE_PAIR) struct deque deque;
	pthread_t thread;
	uint64_t random;
	_Atomic uint64_t taken;
};

static struct player players[THIEVES + 1];
static struct once once;
static uint64_t words;
static _Atomic bool over;

static uintptr_t word_of(uint64_t index)
{
	/* Some are forks, which are stolen singly and reclaimed in numbers. */
	return 2 * index + 2 + (index % 16 < 4);
}

static void take(struct player *self, uintptr_t word)
{
	uint64_t index = word / 2 - 1;

	check(word == word_of(index));
	once_mark(&once, index);
	atomic_store_explicit(&self->taken, self->taken + 1,
			      memory_order_relaxed);
}

static uint64_t taken_by_all(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i <= THIEVES; i++)
		sum += atomic_load_explicit(&players[i].taken,
					    memory_order_relaxed);
	return sum;
}

static void *rob(void *argument)
{
	struct player *self = argument;
	uintptr_t got[BATCH_MAX];

	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		unsigned max = 1;
		int count;

		if (random_below(&self->random, 2))
			max = 1 + random_below(&self->random, BATCH_MAX);
		count = deque_steal(&players[0].deque, got, max);
		for (int i = 0; i < count; i++)
			take(self, got[i]);
		/* Seldom, so that some lose their CPU in the midst of it. */
		if (count == 0 && random_below(&self->random, 64) == 0)
			sched_yield();
	}
	return NULL;
}

/* A depth to go for: as often small as large. */
static unsigned depth(struct player *self)
{
	unsigned limit = 1u << random_below(&self->random, 18);

	return 1 + random_below(&self->random,
				limit < DEPTH_MAX ? limit : DEPTH_MAX);
}

/* Takes what there is in one of the owner's ways. */
static void drain(struct player *self)
{
	bool oldest = random_below(&self->random, 4) == 0;
	uintptr_t word;

	if (oldest)
		while ((word = deque_pop_oldest(&self->deque)))
			take(self, word);
	while ((word = deque_pop(&self->deque)))
		take(self, word);
	if (random_below(&self->random, 2))
		deque_realign(&self->deque);
	if (random_below(&self->random, 2))
		deque_trim(&self->deque, random_below(&self->random, 2));
}

static void own(struct player *self)
{
	uint64_t next = 0;

	while (next < words) {
		unsigned mask = (1u << random_below(&self->random, 8)) - 1;

		for (unsigned n = depth(self); n && next < words; n--) {
			check(deque_push(&self->deque, word_of(next++)));
			if ((next & mask) == 0)
				deque_publish(&self->deque);
		}
		deque_publish(&self->deque);
		for (unsigned n = depth(self); n; n--) {
			uintptr_t word = deque_pop(&self->deque);

			if (!word)
				break;
			take(self, word);
		}
		if (random_below(&self->random, 2))
			drain(self);
	}
	deque_publish(&self->deque);
	drain(self);
}

static void init_players(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		players[i].random = stress_random + i;
		players[i].taken = 0;
	}
}

/* A storm in which one player took all proves nothing. */
static void check_shares(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		check_msg(players[i].taken > words / 1000 / count,
			  "player %u took %llu of %llu", i,
			  (unsigned long long)players[i].taken,
			  (unsigned long long)words);
}

static void storm_of_one(void)
{
	words = (uint64_t)stress_rounds(100000000);
	once_init(&once, words);
	init_players(THIEVES + 1);
	atomic_store(&over, false);
	check(deque_init(&players[0].deque) == 0);
	for (unsigned i = 1; i <= THIEVES; i++)
		pthread_create(&players[i].thread, NULL, rob, &players[i]);
	own(&players[0]);
	while (taken_by_all() < words)
		sched_yield(); /* thieves have it; else the watchdog comes */
	atomic_store(&over, true);
	for (unsigned i = 1; i <= THIEVES; i++)
		pthread_join(players[i].thread, NULL);
	once_end(&once);
	check_shares(THIEVES + 1);
	deque_fini(&players[0].deque);
}

/* Steals half of another's into the own deque: what came is published. */
static void rob_for_own(struct player *self)
{
	struct player *victim = &players[random_below(&self->random, OWNERS)];
	uintptr_t got[BATCH_MAX];
	int count;

	if (victim == self)
		return;
	count = deque_steal(&victim->deque, got,
			    1 + random_below(&self->random, BATCH_MAX));
	for (int i = 1; i < count; i++)
		check(deque_push(&self->deque, got[i]));
	if (count > 1)
		deque_publish(&self->deque);
	if (count > 0)
		take(self, got[0]);
}

static void *own_and_rob(void *argument)
{
	struct player *self = argument;
	uint64_t each = words / OWNERS;
	uint64_t next = (uint64_t)(self - players) * each, end = next + each;
	uintptr_t word;

	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		unsigned step = random_below(&self->random, 8);

		if (step < 3 && next < end) {
			check(deque_push(&self->deque, word_of(next++)));
			deque_publish(&self->deque);
		} else if (step < 5) {
			if ((word = deque_pop(&self->deque)))
				take(self, word);
			else if (next == end)
				sched_yield();
		} else if (step == 5) {
			deque_publish(&self->deque);
			if ((word = deque_pop_oldest(&self->deque)))
				take(self, word);
		} else {
			rob_for_own(self);
		}
		if (next == end && taken_by_all() == words)
			atomic_store_explicit(&over, true,
					      memory_order_relaxed);
	}
	return NULL;
}

static void storm_of_four(void)
{
	words = (uint64_t)stress_rounds(10000000) * OWNERS;
	once_init(&once, words);
	init_players(THIEVES + 1);
	atomic_store(&over, false);
	for (unsigned i = 0; i < OWNERS; i++)
		check(deque_init_at(&players[i].deque,
				    UINT32_MAX - 1000 * i - 7, 2u << i) == 0);
	for (unsigned i = 0; i < OWNERS; i++)
		pthread_create(&players[i].thread, NULL, own_and_rob,
			       &players[i]);
	for (unsigned i = 0; i < OWNERS; i++)
		pthread_join(players[i].thread, NULL);
	once_end(&once);
	check_shares(OWNERS);
	for (unsigned i = 0; i < OWNERS; i++) {
		check(deque_pop(&players[i].deque) == 0);
		deque_fini(&players[i].deque);
	}
}

/* B76: of thousands of buffers replaced, few wait to be freed at any time. */
static void check_memory(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	if (TEST_SLOWER == 1)
		check_msg(usage.ru_maxrss <
				  (128 << 10) + (long)stress_scale * (16 << 10),
			  "%ld KiB at most", usage.ru_maxrss);
}

int main(void)
{
	stress_begin();
	check(rcu_reclaimer_get() == 0);
	stress_next("one");
	storm_of_one();
	stress_next("four");
	storm_of_four();
	stress_next("end");
	rcu_reclaimer_put();
	check_memory();
	return 0;
}
