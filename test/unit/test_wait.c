/* SPDX-License-Identifier: MIT */
/* Blocking sections, spare workers, failure: src/sched/{wait,permits,call}.c. */
#include <pthread.h>

#include <wsrt/fork.h>

#include "support.h"

/* A task that blocks, as the library sees it, until the gate opens. */
static void block_run(struct wsrt_task *task, int status)
{
	struct gate *gate = wsrt_container_of(task, struct gate, task);

	(void)status;
	must(wsrt_blocking_begin() == 0);
	must(wsrt_blocking_begin() == -EPERM);
	atomic_fetch_add(&gate->entered, 1);
	must(await(&gate->open, 1));
	wsrt_blocking_end();
	atomic_fetch_add(&gate->left, 1);
}

static const unsigned worker_counts[] = {1, 2, 8};
#define WORKER_COUNTS 3

START_TEST(others_run_while_all_workers_block)
{
	struct wsrt_pool *pool = pool_of(worker_counts[_i]);
	struct gate gates[32];
	_Atomic unsigned total = 0;
	struct counted tasks[100];

	for (unsigned i = 0; i < 32; i++) {
		gates[i] = (struct gate){.task.run = block_run};
		ck_assert_int_eq(wsrt_pool_submit(pool, &gates[i].task, NULL),
				 0);
	}
	for (unsigned i = 0; i < 32; i++)
		ck_assert(await(&gates[i].entered, 1));
	counted_init(tasks, 100, &total);
	for (unsigned i = 0; i < 100; i++)
		ck_assert_int_eq(wsrt_pool_submit(pool, &tasks[i].task, NULL),
				 0);
	ck_assert(await(&total, 100));
	for (unsigned i = 0; i < 32; i++)
		gate_open(&gates[i]);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	for (unsigned i = 0; i < 32; i++)
		ck_assert_uint_eq(atomic_load(&gates[i].left), 1);
}
END_TEST

/* B67: what the blocking task had submitted starts elsewhere. */
struct submitter {
	struct wsrt_task task;
	struct counted inner;
	_Atomic unsigned left;
};

static void submit_and_block(struct wsrt_task *task, int status)
{
	struct submitter *self =
		wsrt_container_of(task, struct submitter, task);

	(void)status;
	must(wsrt_pool_submit(wsrt_pool_current(), &self->inner.task, NULL) ==
	     0);
	must(wsrt_blocking_begin() == 0);
	must(await(&self->inner.ran, 1));
	wsrt_blocking_end();
	atomic_fetch_add(&self->left, 1);
}

START_TEST(what_a_blocking_task_submitted_runs)
{
	struct wsrt_pool *pool = pool_of(worker_counts[_i]);

	for (unsigned i = 0; i < 1000; i++) {
		struct submitter submitter = {.task.run = submit_and_block};

		counted_init(&submitter.inner, 1, NULL);
		ck_assert_int_eq(wsrt_pool_submit(pool, &submitter.task, NULL),
				 0);
		ck_assert(await(&submitter.left, 1));
		ck_assert_uint_eq(atomic_load(&submitter.inner.ran), 1);
	}
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

/* As many tasks run at once as there are workers, and no more: blocked ones
 * come back, and others rest. */
static _Atomic int running, running_max;

static void measure_run(struct wsrt_task *task, int status)
{
	int now = atomic_fetch_add(&running, 1) + 1;
	int max = atomic_load(&running_max);

	while (now > max &&
	       !atomic_compare_exchange_weak(&running_max, &max, now))
		;
	sleep_ns(MS / 50);
	atomic_fetch_sub(&running, 1);
	counted_run(task, status);
}

START_TEST(spares_rest_when_the_blocked_return)
{
	struct wsrt_pool *pool = pool_of(2);
	struct gate gates[16];
	_Atomic unsigned total = 0;
	struct counted tasks[500];

	for (unsigned i = 0; i < 16; i++) {
		gates[i] = (struct gate){.task.run = block_run};
		ck_assert_int_eq(wsrt_pool_submit(pool, &gates[i].task, NULL),
				 0);
		ck_assert(await(&gates[i].entered, 1));
	}
	for (unsigned i = 0; i < 16; i++) {
		gate_open(&gates[i]);
		ck_assert(await(&gates[i].left, 1));
	}
	sleep_ns(20 * MS);
	counted_init(tasks, 500, &total);
	atomic_store(&running_max, 0);
	for (unsigned i = 0; i < 500; i++) {
		tasks[i].task.run = measure_run;
		ck_assert_int_eq(wsrt_pool_submit(pool, &tasks[i].task, NULL),
				 0);
	}
	ck_assert(await(&total, 500));
	ck_assert_int_le(atomic_load(&running_max), 2);
	ck_assert_int_ge(atomic_load(&running_max), 1);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

static _Atomic int blocking_error;

static void try_to_block(struct wsrt_task *task, int status)
{
	int error = wsrt_blocking_begin();

	atomic_store(&blocking_error, error);
	if (!error)
		wsrt_blocking_end();
	counted_run(task, status);
}

START_TEST(last_worker_at_the_limit_does_not_hand_over)
{
	struct wsrt_pool *pool = pool_with(
		(struct wsrt_pool_config){.worker_count = 1, .thread_max = 1});
	struct counted task;

	counted_init(&task, 1, NULL);
	task.task.run = try_to_block;
	ck_assert_int_eq(wsrt_pool_submit(pool, &task.task, NULL), 0);
	ck_assert(await(&task.ran, 1));
	ck_assert_int_eq(atomic_load(&blocking_error), -EDEADLK);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	ck_assert_int_eq(wsrt_blocking_begin(), -EPERM);
	wsrt_blocking_end();
}
END_TEST

START_TEST(bad_thread_limits_are_refused)
{
	struct wsrt_pool *pool;
	struct wsrt_pool_config config = {
		.size = sizeof config, .worker_count = 4, .thread_max = 3};

	ck_assert_int_eq(wsrt_pool_create(&config, &pool), -EINVAL);
	config.thread_max = WSRT_THREADS_MAX + 1;
	ck_assert_int_eq(wsrt_pool_create(&config, &pool), -EINVAL);
}
END_TEST

/* Failure. */

static _Atomic unsigned cleaned;

static void clean(void *arg)
{
	must(atomic_fetch_add(&cleaned, 1) == *(unsigned *)arg);
}

struct forked {
	struct wsrt_fork fork;
	_Atomic unsigned ran;
	int fails;
};

static void forked_run(struct wsrt_worker *worker, struct wsrt_fork *fork)
{
	struct forked *self = wsrt_container_of(fork, struct forked, fork);

	(void)worker;
	if (self->fails)
		wsrt_fail(-EIO, "fork");
	for (unsigned i = 0; i < 100; i++)
		sched_yield();
	atomic_fetch_add(&self->ran, 1);
}

static void fail_run(struct wsrt_task *task, int status)
{
	struct wsrt_worker *worker = wsrt_worker_current();
	struct wsrt_cleanup first, second, third;
	unsigned one = 1, zero = 0;
	struct forked forks[8];

	(void)status;
	atomic_store(&cleaned, 0);
	wsrt_cleanup_push(&first, clean, &one);
	wsrt_cleanup_push(&second, clean, &zero);
	wsrt_cleanup_push(&third, clean, &one);
	wsrt_cleanup_pop(&third, 0);
	for (unsigned i = 0; i < 8; i++) {
		forks[i].fails = 0;
		wsrt_fork(worker, &forks[i].fork, forked_run);
		sched_yield();
	}
	counted_run(task, 0);
	wsrt_fail(-EIO, "on purpose");
	must(false);
}

START_TEST(failed_task_leaves_a_working_pool)
{
	struct wsrt_pool *pool = pool_of(worker_counts[_i]);
	unsigned rounds = 300;

	for (unsigned i = 1; i <= rounds; i++) {
		struct counted task;

		counted_init(&task, 1, NULL);
		task.task.run = fail_run;
		ck_assert_int_eq(wsrt_pool_submit(pool, &task.task, NULL), 0);
		while (stats_of(pool).failed < i)
			sched_yield();
		ck_assert_uint_eq(atomic_load(&task.ran), 1);
		ck_assert_uint_eq(atomic_load(&cleaned), 2);
	}
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

static void join_failing(struct wsrt_task *task, int status)
{
	struct wsrt_worker *worker = wsrt_worker_current();
	struct forked forks[4];

	counted_run(task, status);
	for (unsigned i = 0; i < 4; i++) {
		forks[i].fails = i == 1;
		wsrt_fork(worker, &forks[i].fork, forked_run);
		sleep_ns(MS / 20);
	}
	for (unsigned i = 4; i > 0; i--)
		wsrt_join(worker, &forks[i - 1].fork, forked_run);
	must(false);
}

START_TEST(failed_fork_fails_the_task_that_joins)
{
	struct wsrt_pool *pool = pool_of(worker_counts[_i]);

	for (unsigned i = 1; i <= 100; i++) {
		struct counted task;
		uint64_t before = stats_of(pool).failed;

		counted_init(&task, 1, NULL);
		task.task.run = join_failing;
		ck_assert_int_eq(wsrt_pool_submit(pool, &task.task, NULL), 0);
		ck_assert(await(&task.ran, 1));
		while (stats_of(pool).failed == before)
			sched_yield();
		sleep_ns(MS);
	}
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

START_TEST(failing_outside_of_tasks_returns)
{
	ck_assert_int_eq(wsrt_fail(-EIO, NULL), -EPERM);
}
END_TEST

static void exit_thread(struct wsrt_task *task, int status)
{
	counted_run(task, status);
	pthread_exit(NULL);
}

START_TEST(worker_survives_a_task_that_ends_its_thread)
{
	struct wsrt_pool *pool = pool_of(worker_counts[_i]);
	_Atomic unsigned total = 0;
	struct counted tasks[100];

	counted_init(tasks, 100, &total);
	for (unsigned i = 0; i < 100; i++) {
		if (i % 2)
			tasks[i].task.run = exit_thread;
		ck_assert_int_eq(wsrt_pool_submit(pool, &tasks[i].task, NULL),
				 0);
	}
	ck_assert(await(&total, 100));
	ck_assert_int_eq(wsrt_pool_shutdown(pool, WSRT_SHUTDOWN_DRAIN, NULL),
			 0);
	ck_assert_uint_eq(stats_of(pool).failed, 50);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("wait");

	tcase_add_loop_test(tc, others_run_while_all_workers_block, 0,
			    WORKER_COUNTS);
	tcase_add_loop_test(tc, what_a_blocking_task_submitted_runs, 0,
			    WORKER_COUNTS);
	tcase_add_test(tc, spares_rest_when_the_blocked_return);
	tcase_add_test(tc, last_worker_at_the_limit_does_not_hand_over);
	tcase_add_test(tc, bad_thread_limits_are_refused);
	tcase_add_loop_test(tc, failed_task_leaves_a_working_pool, 0,
			    WORKER_COUNTS);
	tcase_add_loop_test(tc, failed_fork_fails_the_task_that_joins, 0,
			    WORKER_COUNTS);
	tcase_add_test(tc, failing_outside_of_tasks_returns);
	tcase_add_loop_test(tc, worker_survives_a_task_that_ends_its_thread, 0,
			    WORKER_COUNTS);
	return run_suite("wait", tc);
}
