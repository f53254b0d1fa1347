/* SPDX-License-Identifier: MIT */
/*
 * What tests of the core share: tasks that count themselves, gates that hold
 * tasks up, time limits that suit the build, and a main for check.
 *
 * Check's asserts are for the main thread alone: tasks and other threads count
 * what they see, or abort by must().
 */
#ifndef WSRT_TEST_SUPPORT_H
#define WSRT_TEST_SUPPORT_H

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <wsrt/wsrt.h>

#include "os/clock.h"

#if defined(__SANITIZE_THREAD__)
#define TEST_SLOWER 10u
#elif defined(__SANITIZE_ADDRESS__)
#define TEST_SLOWER 4u
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TEST_SLOWER 10u
#elif __has_feature(address_sanitizer)
#define TEST_SLOWER 4u
#endif
#endif
#ifndef TEST_SLOWER
#define TEST_SLOWER 1u /* how many times slower than without sanitizers */
#endif

#if TEST_SLOWER == 10u
#define TEST_TSAN 1
#else
#define TEST_TSAN 0
#endif

#define TEST_SECONDS (20u * (TEST_SLOWER > 1 ? 3u : 1u)) /* for one test */

#define MS 1000000ull

/* For threads on which check's asserts do not work. */
#define must(condition)                                                        \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__,       \
				__LINE__, #condition);                         \
			abort();                                               \
		}                                                              \
	} while (0)

static inline void sleep_ns(uint64_t ns)
{
	struct timespec pause = os_timespec(ns);

	nanosleep(&pause, NULL);
}

static inline struct timespec deadline_in(uint64_t ns)
{
	return os_timespec(os_clock_ns() + ns);
}

/* Waits for a counter that other threads raise; false when it takes too long */
static inline bool await(_Atomic unsigned *counter, unsigned value)
{
	uint64_t end = os_clock_ns() + TEST_SECONDS * NS_PER_SECOND / 2;

	while (atomic_load(counter) < value) {
		if (os_clock_ns() > end)
			return false;
		sleep_ns(MS / 20);
	}
	return true;
}

/* A task that says how often it ran and with what. */
struct counted {
	struct wsrt_task task;
	_Atomic unsigned ran;
	_Atomic int status;
	_Atomic unsigned *total; /* raised too, unless NULL */
};

static inline void counted_run(struct wsrt_task *task, int status)
{
	struct counted *counted = wsrt_container_of(task, struct counted, task);
	_Atomic unsigned *total = counted->total;

	atomic_store(&counted->status, status);
	atomic_fetch_add(&counted->ran, 1);
	if (total)
		atomic_fetch_add(total, 1);
}

static inline void counted_init(struct counted *tasks, unsigned count,
				_Atomic unsigned *total)
{
	for (unsigned i = 0; i < count; i++)
		tasks[i] = (struct counted){
			.task.run = counted_run,
			.total = total,
		};
}

/* A task that keeps its worker until the gate opens. */
struct gate {
	struct wsrt_task task;
	_Atomic unsigned entered, open, left;
};

static inline void gate_run(struct wsrt_task *task, int status)
{
	struct gate *gate = wsrt_container_of(task, struct gate, task);

	(void)status;
	atomic_fetch_add(&gate->entered, 1);
	must(await(&gate->open, 1));
	atomic_fetch_add(&gate->left, 1);
}

static inline struct wsrt_pool *pool_with(struct wsrt_pool_config config)
{
	struct wsrt_pool *pool = NULL;

	config.size = sizeof config;
	ck_assert_int_eq(wsrt_pool_create(&config, &pool), 0);
	ck_assert_ptr_nonnull(pool);
	return pool;
}

static inline struct wsrt_pool *pool_of(unsigned workers)
{
	return pool_with((struct wsrt_pool_config){.worker_count = workers});
}

/* Puts the gate on a worker, and returns when that waits at it. */
static inline void gate_close(struct gate *gate, struct wsrt_pool *pool)
{
	*gate = (struct gate){.task.run = gate_run};
	ck_assert_int_eq(wsrt_pool_submit(pool, &gate->task, NULL), 0);
	ck_assert(await(&gate->entered, 1));
}

static inline void gate_open(struct gate *gate)
{
	atomic_store(&gate->open, 1);
}

static inline struct wsrt_stats stats_of(struct wsrt_pool *pool)
{
	struct wsrt_stats stats = {.size = sizeof stats};

	ck_assert_int_eq(wsrt_pool_stats(pool, &stats), 0);
	return stats;
}

static inline int run_suite(const char *name, TCase *tc)
{
	Suite *suite = suite_create(name);

	tcase_set_timeout(tc, TEST_SECONDS);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);

	/* Tests say themselves what the pool is to be told. */
	unsetenv("WSRT_WORKERS");
	unsetenv("WSRT_TOPOLOGY");
	srunner_run_all(runner, CK_NORMAL);

	int failures = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
