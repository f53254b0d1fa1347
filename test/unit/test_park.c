/* SPDX-License-Identifier: MIT */
/* The idle set: whom it wakes, what it counts, and that no token is lost. */
#include <pthread.h>

#include "os/futex.h"
#include "park/idle.h"
#include "support.h"

#define MAX 200u

static struct idle_set set;
static struct parker parkers[MAX];
static int fail_after = -1;

/* Link arguments send the core's allocations through these. */
static bool fails(void)
{
	return fail_after >= 0 && fail_after-- == 0;
}

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

static void set_up(const unsigned *nodes, unsigned workers, unsigned node_count)
{
	ck_assert_int_eq(idle_init(&set, nodes, workers, node_count, 0), 0);
	for (unsigned i = 0; i < workers; i++)
		idle_add(&set, &parkers[i], nodes[i]);
}

static uint32_t word_of(unsigned index)
{
	return atomic_load(&parkers[index].word);
}

/* Announces sleep, but does not sleep. */
static bool fall(unsigned index, bool searching)
{
	return idle_fall_asleep(&set, &parkers[index], searching);
}

static void expect(unsigned searchers, unsigned sleepers)
{
	uint64_t counts = idle_counts(&set);

	ck_assert_uint_eq(idle_searchers(counts), searchers);
	ck_assert_uint_eq(idle_sleepers(counts), sleepers);
}

START_TEST(nobody_to_wake)
{
	unsigned nodes[] = {0, 0};

	set_up(nodes, 2, 1);
	ck_assert(!idle_wants_wake(&set));
	ck_assert(!idle_wake(&set, 0));
	expect(0, 0);
	idle_fini(&set);
}
END_TEST

START_TEST(woken_worker_is_a_searcher)
{
	unsigned nodes[] = {0, 0};

	set_up(nodes, 2, 1);
	ck_assert(idle_search_begin(&set));
	expect(1, 0);
	ck_assert(fall(0, true)); /* the last searcher must look */
	expect(0, 1);
	ck_assert_uint_eq(word_of(0), PARKER_PARKED);
	ck_assert(idle_wants_wake(&set));
	ck_assert(idle_wake(&set, 0));
	expect(1, 0);
	ck_assert_uint_eq(word_of(0), PARKER_NOTIFIED);
	/* One search is enough for two producers. */
	ck_assert(!idle_wants_wake(&set));
	idle_sleep(&parkers[0]); /* the token is there: no sleep */
	ck_assert_uint_eq(word_of(0), PARKER_RUNNING);
	idle_fini(&set);
}
END_TEST

START_TEST(only_the_last_searcher_looks)
{
	unsigned nodes[] = {0, 0, 0, 0};

	set_up(nodes, 4, 1);
	ck_assert(idle_search_begin(&set));
	ck_assert(idle_search_begin(&set));
	/* No more than half at once. */
	ck_assert(!idle_search_begin(&set));
	expect(2, 0);
	ck_assert(!fall(0, true));
	ck_assert(!fall(1, false));
	expect(1, 2);
	ck_assert(!idle_wants_wake(&set));
	/* Found work, as the last: look, for there are sleepers. */
	ck_assert(idle_search_end(&set));
	ck_assert(fall(2, false));
	expect(0, 3);
	idle_fini(&set);
}
END_TEST

START_TEST(search_end_looks_only_for_sleepers)
{
	unsigned nodes[] = {0, 0};

	set_up(nodes, 2, 1);
	ck_assert(idle_search_begin(&set));
	ck_assert(!idle_search_end(&set));
	expect(0, 0);
	idle_fini(&set);
}
END_TEST

START_TEST(lone_worker_may_search)
{
	unsigned nodes[] = {0};

	set_up(nodes, 1, 1);
	ck_assert(idle_search_begin(&set));
	ck_assert(fall(0, true));
	idle_fini(&set);
}
END_TEST

START_TEST(get_up_undoes_falling_asleep)
{
	unsigned nodes[] = {0, 0};

	set_up(nodes, 2, 1);
	ck_assert(fall(0, false));
	idle_get_up(&set, &parkers[0]);
	expect(1, 0);
	ck_assert_uint_eq(word_of(0), PARKER_RUNNING);
	ck_assert(!idle_wake(&set, 0));
	idle_fini(&set);
}
END_TEST

/* Its bit is gone, so a token comes: it must not be left for the next sleep. */
START_TEST(get_up_after_being_woken_takes_the_token)
{
	unsigned nodes[] = {0, 0};

	set_up(nodes, 2, 1);
	ck_assert(fall(0, false));
	ck_assert(idle_wake(&set, 0));
	idle_get_up(&set, &parkers[0]);
	expect(1, 0);
	ck_assert_uint_eq(word_of(0), PARKER_RUNNING);
	idle_fini(&set);
}
END_TEST

START_TEST(falls_are_counted)
{
	unsigned nodes[] = {0};
	uint64_t before;

	set_up(nodes, 1, 1);
	fall(0, false);
	before = idle_counts(&set);
	idle_get_up(&set, &parkers[0]);
	fall(0, true);
	/* As many asleep as before, but not the same: shutdown relies on it. */
	ck_assert_uint_eq(idle_sleepers(before),
			  idle_sleepers(idle_counts(&set)));
	ck_assert_uint_ne(before, idle_counts(&set));
	idle_fini(&set);
}
END_TEST

/* More than a word holds, on nodes of different sizes, one of them without */
START_TEST(wake_prefers_the_own_node_and_reaches_all)
{
	unsigned nodes[MAX], woken[4] = {0};
	static const unsigned sizes[] = {70, 0, 129, 1};
	unsigned count = 0;

	for (unsigned node = 0; node < 4; node++)
		for (unsigned i = 0; i < sizes[node]; i++)
			nodes[count++] = node;
	ck_assert_uint_eq(count, MAX);
	set_up(nodes, MAX, 4);
	for (unsigned i = 0; i < MAX; i++)
		fall(i, false);
	expect(0, MAX);

	for (unsigned i = 0; i < 129; i++)
		ck_assert(idle_wake(&set, 2));
	for (unsigned i = 0; i < MAX; i++)
		if (word_of(i) == PARKER_NOTIFIED)
			woken[nodes[i]]++;
	ck_assert_uint_eq(woken[2], 129);
	for (unsigned i = 129; i < MAX; i++)
		ck_assert(idle_wake(&set, 1));
	for (unsigned i = 0; i < MAX; i++)
		ck_assert_uint_eq(word_of(i), PARKER_NOTIFIED);
	ck_assert(!idle_wake(&set, 0));
	expect(MAX, 0);
	idle_fini(&set);
}
END_TEST

/* Fewer workers than nodes: a producer may well run on one without. */
START_TEST(wake_from_a_node_without_workers)
{
	unsigned nodes[] = {0, 1};

	for (unsigned node_count = 2; node_count <= 6; node_count++) {
		for (unsigned from = 0; from < node_count; from++) {
			set_up(nodes, 2, node_count);
			fall(0, false);
			ck_assert_msg(idle_wake(&set, from), "from %u of %u",
				      from, node_count);
			ck_assert(!idle_wake(&set, from));
			idle_fini(&set);
		}
	}
}
END_TEST

START_TEST(init_without_memory_fails_cleanly)
{
	unsigned nodes[] = {0, 0};

	for (int after = 0; after < 3; after++) {
		fail_after = after;
		ck_assert_int_eq(idle_init(&set, nodes, 2, 1, 0), -ENOMEM);
		fail_after = -1;
		/* Whoever builds a pool frees all of it when a part fails. */
		idle_fini(&set);
	}
}
END_TEST

START_TEST(parker_tokens)
{
	unsigned nodes[] = {0};

	set_up(nodes, 1, 1);
	parker_prepare(&parkers[0]);
	ck_assert_uint_eq(word_of(0), PARKER_PARKED);
	parker_cancel(&parkers[0]);
	ck_assert_uint_eq(word_of(0), PARKER_RUNNING);
	parker_prepare(&parkers[0]);
	parker_notify(&parkers[0]);
	idle_sleep(&parkers[0]);
	ck_assert_uint_eq(word_of(0), PARKER_RUNNING);
	idle_fini(&set);
}
END_TEST

/*
 * Producers and workers over one counter of work: each producer adds a piece
 * and wakes as the protocol says; workers take pieces, and sleep as it says.
 * A lost wake-up leaves a piece behind and everybody asleep.
 */
#define WORKERS 4u
#define PRODUCERS 2u
#define PIECES (20000u / TEST_SLOWER)

static _Atomic int pieces;
static _Atomic unsigned done;
static _Atomic bool leave;

static bool take_piece(void)
{
	int seen = atomic_load(&pieces);

	while (seen > 0)
		if (atomic_compare_exchange_weak(&pieces, &seen, seen - 1)) {
			atomic_fetch_add(&done, 1);
			return true;
		}
	return false;
}

static void *worker(void *argument)
{
	struct parker *parker = argument;

	for (;;) {
		while (take_piece())
			;

		bool searching = idle_search_begin(&set);

		while (!atomic_load(&pieces) && !atomic_load(&leave)) {
			bool last = idle_fall_asleep(&set, parker, searching);

			if (atomic_load(&leave) ||
			    (last && atomic_load(&pieces)))
				idle_get_up(&set, parker);
			else
				idle_sleep(parker);
			searching = true;
		}
		if (searching && idle_search_end(&set) &&
		    atomic_load(&pieces) && idle_wants_wake(&set))
			idle_wake(&set, 0);
		if (atomic_load(&leave))
			return NULL;
	}
}

static void *producer(void *unused)
{
	for (unsigned i = 0; i < PIECES; i++) {
		atomic_fetch_add(&pieces, 1);
		if (idle_wants_wake(&set))
			idle_wake(&set, 0);
		/* Until all is done they fall asleep, some at least. */
		if (i % 4 == 0)
			while (atomic_load(&pieces))
				sched_yield();
	}
	return unused;
}

START_TEST(no_wake_up_is_lost)
{
	unsigned nodes[WORKERS] = {0};
	pthread_t threads[WORKERS + PRODUCERS];

	set_up(nodes, WORKERS, 1);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &parkers[i]);
	for (unsigned i = 0; i < PRODUCERS; i++)
		pthread_create(&threads[WORKERS + i], NULL, producer, NULL);
	ck_assert(await(&done, PRODUCERS * PIECES));
	for (unsigned i = 0; i < PRODUCERS; i++)
		pthread_join(threads[WORKERS + i], NULL);
	atomic_store(&leave, true);
	while (idle_wake(&set, 0))
		;
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	idle_fini(&set);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("park");

	tcase_add_test(tc, nobody_to_wake);
	tcase_add_test(tc, woken_worker_is_a_searcher);
	tcase_add_test(tc, only_the_last_searcher_looks);
	tcase_add_test(tc, search_end_looks_only_for_sleepers);
	tcase_add_test(tc, lone_worker_may_search);
	tcase_add_test(tc, get_up_undoes_falling_asleep);
	tcase_add_test(tc, get_up_after_being_woken_takes_the_token);
	tcase_add_test(tc, falls_are_counted);
	tcase_add_test(tc, wake_prefers_the_own_node_and_reaches_all);
	tcase_add_test(tc, wake_from_a_node_without_workers);
	tcase_add_test(tc, init_without_memory_fails_cleanly);
	tcase_add_test(tc, parker_tokens);
	tcase_add_test(tc, no_wake_up_is_lost);
	return run_suite("park", tc);
}
