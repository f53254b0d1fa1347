/* SPDX-License-Identifier: MIT */
/*
 * B50: threads that cannot be started, once or for good, and CPUs that cannot
 * be pinned to. A pool has all its workers, or there is none and all that were
 * started have ended.
 */
#include <dirent.h>

#include "interpose.h"
#include "os/cpus.h"
#include "support.h"

#define WORKERS 8

/* With the reclaimer, which a pool starts first. */
#define THREADS (WORKERS + 1)

static _Atomic unsigned started, stopped;

static void count_start(void *argument, uint32_t index)
{
	(void)argument;
	(void)index;
	atomic_fetch_add(&started, 1);
}

static void count_stop(void *argument, uint32_t index)
{
	(void)argument;
	(void)index;
	atomic_fetch_add(&stopped, 1);
}

static struct wsrt_pool_config config = {
	.size = sizeof config,
	.worker_count = WORKERS,
	.worker_start = count_start,
	.worker_stop = count_stop,
};

static unsigned count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned count = 0;

	ck_assert_ptr_nonnull(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void expect_threads(unsigned count)
{
	/* The kernel lists a thread for a moment after it could be joined. */
	uint64_t end = os_clock_ns() + NS_PER_SECOND;

	while (count_threads() != count && os_clock_ns() < end)
		sleep_ns(MS);
	ck_assert_uint_eq(count_threads(), count);
}

/* Creates a pool; what becomes of its memory is in the account. */
static int create(struct wsrt_pool **ret_pool)
{
	int error;

	*ret_pool = NULL;
	fault_begin(-1, false);
	error = wsrt_pool_create(&config, ret_pool);
	fault_end();
	return error;
}

static void use_and_destroy(struct wsrt_pool *pool)
{
	struct counted tasks[100];

	ck_assert_ptr_nonnull(pool);
	ck_assert_uint_eq(wsrt_pool_worker_count(pool), WORKERS);
	counted_init(tasks, 100, NULL);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(wsrt_pool_submit(pool, &tasks[i].task, NULL),
				 0);
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	for (int i = 0; i < 100; i++)
		ck_assert_uint_eq(atomic_load(&tasks[i].ran), 1);
}

START_TEST(a_refusal_that_passes_is_got_over)
{
	struct wsrt_pool *pool;

	for (int count = 0; count < THREADS; count++) {
		for (unsigned times = 1; times <= 3; times++) {
			fault_threads(count, times, EAGAIN);
			ck_assert_int_eq(create(&pool), 0);
			use_and_destroy(pool);
			ck_assert_uint_eq(fault_live(), 0);
		}
	}
}
END_TEST

START_TEST(a_refusal_that_stays_is_told)
{
	struct wsrt_pool *pool;
	unsigned threads;

	/* Sanitizers start a thread of their own with the first. */
	ck_assert_int_eq(create(&pool), 0);
	use_and_destroy(pool);
	sleep_ns(20 * MS);
	threads = count_threads();
	for (int count = 0; count < THREADS; count++) {
		fault_threads(count, 1000, EAGAIN);
		ck_assert_int_eq(create(&pool), -EAGAIN);
		ck_assert_ptr_null(pool);
		expect_threads(threads);
		ck_assert_uint_eq(fault_live(), 0);
		ck_assert_uint_eq(atomic_load(&started), atomic_load(&stopped));
	}
	/* And when it has passed, all is as ever. */
	fault_threads(-1, 0, 0);
	ck_assert_int_eq(create(&pool), 0);
	use_and_destroy(pool);
	expect_threads(threads);
}
END_TEST

/* Only what may pass is tried again. */
START_TEST(a_refusal_of_another_kind_is_told_at_once)
{
	struct wsrt_pool *pool;

	for (int count = 0; count < THREADS; count++) {
		fault_threads(count, 1000, EPERM);
		ck_assert_int_lt(create(&pool), 0);
		ck_assert_ptr_null(pool);
		ck_assert_uint_eq(fault_threads_refused(), 1);
		ck_assert_uint_eq(fault_live(), 0);
	}
}
END_TEST

static int refuse(pid_t pid, size_t bytes, const cpu_set_t *mask)
{
	(void)pid;
	(void)bytes;
	(void)mask;
	errno = EPERM;
	return -1;
}

/* B55: a warning, not the end */
START_TEST(a_pin_refused_is_counted)
{
	struct wsrt_pool *pool;

	os_setaffinity = refuse;
	for (int pin = 0; pin <= WSRT_PIN_CORE; pin++) {
		config.pin = (enum wsrt_pin)pin;
		ck_assert_int_eq(create(&pool), 0);
		ck_assert_int_eq(
			wsrt_pool_shutdown(pool, WSRT_SHUTDOWN_DRAIN, NULL), 0);
		ck_assert_uint_eq(stats_of(pool).pin_failures,
				  pin == WSRT_PIN_NONE ? 0 : WORKERS);
		ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
	}
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("threads");

	tcase_add_test(tc, a_refusal_that_passes_is_got_over);
	tcase_add_test(tc, a_refusal_that_stays_is_told);
	tcase_add_test(tc, a_refusal_of_another_kind_is_told_at_once);
	tcase_add_test(tc, a_pin_refused_is_counted);
	return run_suite("fault threads", tc);
}
