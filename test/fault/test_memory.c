/* SPDX-License-Identifier: MIT */
/*
 * A pool without memory, from any moment on, for one allocation or for good:
 * every call says so or does without, what was taken runs once, what was not
 * does not, and nothing stays behind.
 *
 * Tried for the first allocation, the second, and so on, until none fails.
 */
#include <limits.h>
#include <string.h>

#include <wsrt/fork.h>

#include "interpose.h"
#include "support.h"

#define OUTSIDE 20000u /* more than two blocks of the injector hold */
#define INSIDE 2000u   /* more than a deque holds at first */
#define FORKS 600u
#define TRIES_MAX 2000

static struct counted outside[OUTSIDE], inside[INSIDE];
static bool outside_taken[OUTSIDE], inside_taken[INSIDE];
static _Atomic unsigned forks_ran;
static _Atomic int wrong; /* an error that no header speaks of */

/* 0 or -ENOMEM; notes all else. */
static int expected(int error)
{
	if (error && error != -ENOMEM)
		atomic_store(&wrong, error);
	return error;
}

static void forked(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	(void)worker;
	(void)fork;
	atomic_fetch_add(&forks_ran, 1);
}

/* To the own deque, and now and then to the injector. */
static void submit_inside(unsigned i)
{
	struct wsrt_submit_options high = {.size = sizeof high,
					   .priority = WSRT_PRIORITY_HIGH};
	int error = wsrt_pool_submit(wsrt_pool_current(), &inside[i].task,
				     i % 4 ? NULL : &high);

	inside_taken[i] = expected(error) == 0;
}

static void work_inside(struct wsrt_task *task, int status)
{
	struct counted *counted = wsrt_container_of(task, struct counted, task);
	struct wsrt_worker *worker = wsrt_worker_current();
	struct wsrt_fork forks[FORKS];

	for (unsigned i = 0; i < FORKS; i++) {
		wsrt_fork(worker, &forks[i], forked);
		if (i % 50 == 0)
			submit_inside(i / 50);
	}
	for (unsigned i = FORKS / 50; i < INSIDE; i++)
		submit_inside(i);
	for (unsigned i = FORKS; i > 0; i--)
		wsrt_join(worker, &forks[i - 1], forked);
	counted_run(&counted->task, status);
}

static void submit_batch(struct wsrt_pool *pool, unsigned first, unsigned count)
{
	struct wsrt_task *batch[100];
	ssize_t taken;

	for (unsigned i = 0; i < count; i++)
		batch[i] = &outside[first + i].task;
	taken = wsrt_pool_submit_batch(pool, batch, count, NULL);
	if (taken < 0)
		expected((int)taken);
	for (unsigned i = 0; i < count; i++)
		outside_taken[first + i] = (ssize_t)i < taken;
}

static void submit_all(struct wsrt_pool *pool)
{
	unsigned i = 0;

	for (; i < OUTSIDE / 2; i++)
		outside_taken[i] = expected(wsrt_pool_submit(
					   pool, &outside[i].task, NULL)) == 0;
	for (; i < OUTSIDE; i += 100)
		submit_batch(pool, i, 100);
}

/* The whole life of a pool. 0, or why it did not begin. No asserts. */
static int live(unsigned workers, enum wsrt_pin pin)
{
	struct wsrt_pool_config config = {
		.size = sizeof config,
		.worker_count = workers,
		.pin = pin,
	};
	struct wsrt_pool *pool = NULL;
	int error = wsrt_pool_create(&config, &pool);

	if (error) {
		if (pool)
			atomic_store(&wrong, INT_MAX);
		return error;
	}
	submit_all(pool);
	if (wsrt_pool_shutdown(pool, WSRT_SHUTDOWN_DRAIN, NULL))
		atomic_store(&wrong, INT_MAX - 1);
	if (wsrt_pool_destroy(pool))
		atomic_store(&wrong, INT_MAX - 2);
	return 0;
}

static void check_ran(const struct counted *tasks, const bool *taken,
		      unsigned count, int try)
{
	for (unsigned i = 0; i < count; i++)
		if (atomic_load(&tasks[i].ran) != taken[i])
			ck_abort_msg("try %d: task %u, %s, ran %u times", try,
				     i, taken[i] ? "taken" : "refused",
				     atomic_load(&tasks[i].ran));
}

static void prepare(void)
{
	counted_init(outside, OUTSIDE, NULL);
	counted_init(inside, INSIDE, NULL);
	outside[0].task.run = work_inside;
	memset(outside_taken, 0, sizeof outside_taken);
	memset(inside_taken, 0, sizeof inside_taken);
	atomic_store(&forks_ran, 0);
}

/* False when nothing failed: all moments have been tried. */
static bool try(int count, bool forever, unsigned workers, enum wsrt_pin pin)
{
	bool failed;
	int error;

	prepare();
	fault_begin(count, forever);
	error = live(workers, pin);
	failed = fault_end();
	ck_assert_msg(error == 0 || error == -ENOMEM, "try %d: %d", count,
		      error);
	ck_assert_msg(failed || !error, "try %d: %d", count, error);
	ck_assert_msg(atomic_load(&wrong) == 0, "try %d: %d", count,
		      atomic_load(&wrong));
	check_ran(outside, outside_taken, OUTSIDE, count);
	check_ran(inside, inside_taken, INSIDE, count);
	ck_assert_uint_eq(atomic_load(&forks_ran),
			  outside_taken[0] ? FORKS : 0);
	/* With another pool alive the reclaimer goes on in its own time. */
	for (int i = 0; i < 1000 && fault_live(); i++)
		sleep_ns(MS);
	ck_assert_msg(fault_live() == 0, "try %d: %u left", count,
		      fault_live());
	return failed;
}

static int try_all(bool forever, unsigned workers, enum wsrt_pin pin)
{
	int count = 0;

	/* Sanitizers: every so many, for the first ones matter most. */
	while (try(count, forever, workers, pin)) {
		count += count < 100 ? 1 : 1 + (int)TEST_SLOWER;
		ck_assert_int_lt(count, TRIES_MAX);
	}
	return count;
}

START_TEST(all_is_well_with_memory)
{
	ck_assert(!try(-1, false, 2, WSRT_PIN_NONE));
	for (unsigned i = 0; i < OUTSIDE; i++)
		ck_assert(outside_taken[i]);
	for (unsigned i = 0; i < INSIDE; i++)
		ck_assert(inside_taken[i]);
}
END_TEST

START_TEST(one_allocation_fails)
{
	/* There is something to fail, and it is counted. */
	ck_assert_int_gt(try_all(false, 1 + (unsigned)_i, WSRT_PIN_CORE), 20);
}
END_TEST

START_TEST(one_allocation_fails_on_many_nodes)
{
	setenv("WSRT_TOPOLOGY", "node:3 l3:2 core:2", 1);
	ck_assert_int_gt(try_all(false, 5, WSRT_PIN_NODE), 40);
}
END_TEST

START_TEST(all_allocations_fail_from_one_on)
{
	ck_assert_int_gt(try_all(true, 1 + (unsigned)_i, WSRT_PIN_NONE), 20);
}
END_TEST

START_TEST(all_allocations_fail_on_many_nodes)
{
	setenv("WSRT_TOPOLOGY", "node:3 l3:2 core:2", 1);
	ck_assert_int_gt(try_all(true, 5, WSRT_PIN_NONE), 40);
}
END_TEST

/* With another pool alive, whose reclaimer and memory go on. */
START_TEST(another_pool_does_not_notice)
{
	struct wsrt_pool *pool = pool_of(2);
	struct counted counted;

	try_all(false, 2, WSRT_PIN_NONE);
	counted_init(&counted, 1, NULL);
	ck_assert_int_eq(wsrt_pool_submit(pool, &counted.task, NULL), 0);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_uint_eq(atomic_load(&counted.ran), 1);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("memory");

	tcase_add_test(tc, all_is_well_with_memory);
	tcase_add_loop_test(tc, one_allocation_fails, 0, 3);
	tcase_add_test(tc, one_allocation_fails_on_many_nodes);
	tcase_add_loop_test(tc, all_allocations_fail_from_one_on, 0, 3);
	tcase_add_test(tc, all_allocations_fail_on_many_nodes);
	tcase_add_test(tc, another_pool_does_not_notice);
	return run_suite("fault memory", tc);
}
