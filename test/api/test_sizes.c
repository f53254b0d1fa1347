/* SPDX-License-Identifier: MIT */
/*
 * Programs older and newer than the library, by the size they write into a
 * struct: what the library does not know must be zero, or refused.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <wsrt/wsrt.h>

/* A struct of this release inside that of a later one. */
#define NEWER(type)                                                            \
	struct {                                                               \
		type known;                                                    \
		void *later;                                                   \
	}

static struct wsrt_pool *pool;

static void pool_setup(void)
{
	ck_assert_int_eq(wsrt_pool_create(NULL, &pool), 0);
}

static void pool_teardown(void)
{
	ck_assert_int_eq(wsrt_pool_destroy(pool), 0);
}

static void run_nothing(struct wsrt_task *task, int status)
{
	(void)task;
	(void)status;
}

static int create_with(const struct wsrt_pool_config *config)
{
	struct wsrt_pool *created = NULL;
	int error = wsrt_pool_create(config, &created);

	ck_assert((error == 0) == (created != NULL));
	wsrt_pool_destroy(created);
	return error;
}

START_TEST(config_without_size_is_refused)
{
	struct wsrt_pool_config config = {.worker_count = 1};

	ck_assert_int_eq(create_with(&config), -EINVAL);
}
END_TEST

START_TEST(config_of_no_release_is_refused)
{
	struct wsrt_pool_config config = {.size = sizeof config - 1};

	ck_assert_int_eq(create_with(&config), -EINVAL);
}
END_TEST

START_TEST(newer_config_passes_when_its_news_are_zero)
{
	NEWER(struct wsrt_pool_config)
	config = {.known = {.size = sizeof config, .worker_count = 1}};

	ck_assert_int_eq(create_with(&config.known), 0);
}
END_TEST

START_TEST(newer_config_is_refused_when_its_news_are_set)
{
	NEWER(struct wsrt_pool_config)
	config = {.known = {.size = sizeof config}, .later = &config};

	ck_assert_int_eq(create_with(&config.known), -E2BIG);
}
END_TEST

START_TEST(newer_options_pass_when_their_news_are_zero)
{
	static struct wsrt_task task = {.run = run_nothing};
	NEWER(struct wsrt_submit_options)
	options = {.known = {.size = sizeof options}};

	ck_assert_int_eq(wsrt_pool_submit(pool, &task, &options.known), 0);
}
END_TEST

START_TEST(newer_options_are_refused_when_their_news_are_set)
{
	struct wsrt_task task = {.run = run_nothing};
	NEWER(struct wsrt_submit_options)
	options = {.known = {.size = sizeof options}, .later = &options};

	ck_assert_int_eq(wsrt_pool_submit(pool, &task, &options.known), -E2BIG);
}
END_TEST

START_TEST(options_without_size_are_refused)
{
	struct wsrt_task task = {.run = run_nothing};
	struct wsrt_submit_options options = {.size = 0};

	ck_assert_int_eq(wsrt_pool_submit(pool, &task, &options), -EINVAL);
}
END_TEST

START_TEST(stats_without_size_are_refused)
{
	struct wsrt_stats stats = {.size = 0};

	ck_assert_int_eq(wsrt_pool_stats(pool, &stats), -EINVAL);
}
END_TEST

START_TEST(newer_stats_stay_zero_where_they_are_news)
{
	NEWER(struct wsrt_stats) stats = {.known = {.size = sizeof stats}};

	ck_assert_int_eq(wsrt_pool_stats(pool, &stats.known), 0);
	ck_assert_uint_eq(stats.known.size, sizeof stats);
	ck_assert_ptr_null(stats.later);
}
END_TEST

START_TEST(newer_stats_are_refused_when_their_news_are_set)
{
	NEWER(struct wsrt_stats)
	stats = {.known = {.size = sizeof stats}, .later = &stats};

	ck_assert_int_eq(wsrt_pool_stats(pool, &stats.known), -E2BIG);
}
END_TEST

START_TEST(worker_info_says_its_own_size)
{
	struct wsrt_worker_info info = {.size = sizeof info};

	ck_assert_int_eq(wsrt_pool_worker_info(pool, 0, &info), 0);
	ck_assert_uint_eq(info.size, sizeof info);
	info.size = 0;
	ck_assert_int_eq(wsrt_pool_worker_info(pool, 0, &info), -EINVAL);
}
END_TEST

START_TEST(topology_cpu_without_size_is_refused)
{
	struct wsrt_topology_cpu cpu = {.size = 0};
	struct wsrt_topology *topology;

	ck_assert_int_eq(wsrt_topology_read(&topology), 0);
	ck_assert_int_eq(wsrt_topology_cpu(topology, 0, &cpu), -EINVAL);
	cpu.size = sizeof cpu;
	ck_assert_int_eq(wsrt_topology_cpu(topology, 0, &cpu), 0);
	wsrt_topology_destroy(topology);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sizes");
	TCase *alone = tcase_create("alone");
	TCase *with_pool = tcase_create("with a pool");

	tcase_add_test(alone, config_without_size_is_refused);
	tcase_add_test(alone, config_of_no_release_is_refused);
	tcase_add_test(alone, newer_config_passes_when_its_news_are_zero);
	tcase_add_test(alone, newer_config_is_refused_when_its_news_are_set);
	tcase_add_test(alone, topology_cpu_without_size_is_refused);
	suite_add_tcase(suite, alone);

	tcase_add_checked_fixture(with_pool, pool_setup, pool_teardown);
	tcase_add_test(with_pool, options_without_size_are_refused);
	tcase_add_test(with_pool, newer_options_pass_when_their_news_are_zero);
	tcase_add_test(with_pool,
		       newer_options_are_refused_when_their_news_are_set);
	tcase_add_test(with_pool, stats_without_size_are_refused);
	tcase_add_test(with_pool, newer_stats_stay_zero_where_they_are_news);
	tcase_add_test(with_pool,
		       newer_stats_are_refused_when_their_news_are_set);
	tcase_add_test(with_pool, worker_info_says_its_own_size);
	suite_add_tcase(suite, with_pool);

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_ENV);
	int failures = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
