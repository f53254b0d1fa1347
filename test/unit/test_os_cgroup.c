/* SPDX-License-Identifier: MIT */
/* CPU quotas: both versions, nested groups and namespaces, nonsense. */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"
#include "os/cgroup.h"

#define MOUNT "/sys/fs/cgroup"

static void v2_at(const char *path, const char *root)
{
	fixture_file("/proc/self/cgroup", "0::%s\n", path);
	fixture_file("/proc/self/mountinfo",
		     "22 27 0:21 / /proc rw - proc proc rw\n"
		     "35 24 0:30 %s " MOUNT " rw,nosuid shared:4 - "
		     "cgroup2 cgroup2 rw,nsdelegate\n",
		     root);
}

static void v1_at(const char *path, const char *root)
{
	fixture_file("/proc/self/cgroup",
		     "3:cpuset:/elsewhere\n2:cpu,cpuacct:%s\n1:name=x:/\n",
		     path);
	fixture_file("/proc/self/mountinfo",
		     "32 31 0:29 / " MOUNT "/cpuset rw - cgroup none "
		     "rw,cpuset\n"
		     "33 31 0:30 %s " MOUNT "/cpu\\040acct rw - cgroup none "
		     "rw,cpu,cpuacct\n",
		     root);
}

static unsigned quota(void)
{
	unsigned milli = 12345;

	ck_assert_int_eq(os_cgroup_quota_milli(&milli), 0);
	return milli;
}

static const struct {
	const char *text;
	unsigned milli;
} texts[] = {
	{"200000 100000\n", 2000},
	{"50000 100000\n", 500},
	{"250000 100000\n", 2500},
	{"200000 100000", 2000},
	{"1 100000\n", 1},
	{"200001 100000\n", 2001},
	{"max 100000\n", 0},
	{"", 0},
	{"\n", 0},
	{"200000\n", 0},
	{"200000 \n", 0},
	{"200000 0\n", 0},
	{"0 100000\n", 0},
	{"-1 100000\n", 0},
	{"200000 max\n", 0},
	{"200000x 100000\n", 0},
	{"2e5 1e5\n", 0},
	{"99999999999999999999 100000\n", 0},
	{"999999999999999 1\n", UINT_MAX},
	{"\xff\xfe\n", 0},
};

START_TEST(v2_quota_is_parsed)
{
	v2_at("/", "/");
	fixture_file(MOUNT "/cpu.max", "%s", texts[_i].text);
	ck_assert_msg(quota() == texts[_i].milli, "%s: %u", texts[_i].text,
		      quota());
}
END_TEST

START_TEST(v2_smallest_of_the_path_wins)
{
	v2_at("/a/b", "/");
	fixture_file(MOUNT "/cpu.max", "max 100000\n");
	fixture_file(MOUNT "/a/cpu.max", "150000 100000\n");
	fixture_file(MOUNT "/a/b/cpu.max", "400000 100000\n");
	fixture_file(MOUNT "/c/cpu.max", "100 100000\n");
	ck_assert_uint_eq(quota(), 1500);
	fixture_file(MOUNT "/cpu.max", "100000 100000\n");
	ck_assert_uint_eq(quota(), 1000);
	fixture_file(MOUNT "/a/b/cpu.max", "50000 100000\n");
	ck_assert_uint_eq(quota(), 500);
}
END_TEST

START_TEST(v2_in_a_namespace_sees_its_root)
{
	v2_at("/", "/");
	fixture_file(MOUNT "/cpu.max", "300000 100000\n");
	ck_assert_uint_eq(quota(), 3000);
}
END_TEST

/* The mount shows a part of what the path counts from. */
START_TEST(v2_mounted_from_our_group)
{
	v2_at("/box/1/job", "/box/1");
	fixture_file(MOUNT "/cpu.max", "300000 100000\n");
	fixture_file(MOUNT "/job/cpu.max", "200000 100000\n");
	ck_assert_uint_eq(quota(), 2000);
	v2_at("/box/1", "/box/1");
	ck_assert_uint_eq(quota(), 3000);
}
END_TEST

START_TEST(v2_mounted_from_another_group_is_not_ours)
{
	v2_at("/box/12", "/box/1");
	fixture_file(MOUNT "/cpu.max", "300000 100000\n");
	fixture_file(MOUNT "/box/12/cpu.max", "300000 100000\n");
	ck_assert_uint_eq(quota(), 0);
}
END_TEST

START_TEST(v2_mounted_from_above_the_namespace)
{
	v2_at("/job", "/../..");
	fixture_file(MOUNT "/cpu.max", "300000 100000\n");
	ck_assert_uint_eq(quota(), 3000);
	v2_at("/../other", "/");
	ck_assert_uint_eq(quota(), 3000);
}
END_TEST

START_TEST(v1_quota_is_read)
{
	v1_at("/a", "/");
	fixture_file(MOUNT "/cpu acct/a/cpu.cfs_quota_us", "-1\n");
	fixture_file(MOUNT "/cpu acct/a/cpu.cfs_period_us", "100000\n");
	ck_assert_uint_eq(quota(), 0);
	fixture_file(MOUNT "/cpu acct/a/cpu.cfs_quota_us", "250000\n");
	ck_assert_uint_eq(quota(), 2500);
	fixture_file(MOUNT "/cpu acct/cpu.cfs_quota_us", "120000\n");
	ck_assert_uint_eq(quota(), 2500); /* no period there */
	fixture_file(MOUNT "/cpu acct/cpu.cfs_period_us", "100000\n");
	ck_assert_uint_eq(quota(), 1200);
}
END_TEST

START_TEST(v1_mounted_from_our_group)
{
	v1_at("/docker/1", "/docker/1");
	fixture_file(MOUNT "/cpu acct/cpu.cfs_quota_us", "50000\n");
	fixture_file(MOUNT "/cpu acct/cpu.cfs_period_us", "100000\n");
	ck_assert_uint_eq(quota(), 500);
}
END_TEST

START_TEST(both_versions_count)
{
	fixture_file("/proc/self/cgroup", "1:cpu:/\n0::/\n");
	fixture_file("/proc/self/mountinfo",
		     "1 2 0:1 / /v1 rw - cgroup cgroup rw,cpu\n"
		     "3 2 0:2 / / rw - cgroup2 cgroup2 rw\n");
	fixture_file("/cpu.max", "300000 100000\n");
	ck_assert_uint_eq(quota(), 3000);
	fixture_file("/v1/cpu.cfs_quota_us", "100000\n");
	fixture_file("/v1/cpu.cfs_period_us", "100000\n");
	ck_assert_uint_eq(quota(), 1000);
}
END_TEST

START_TEST(without_proc_there_is_no_quota)
{
	ck_assert_uint_eq(quota(), 0);
	fixture_file("/proc/self/cgroup", "0::/\n");
	ck_assert_uint_eq(quota(), 0);
}
END_TEST

START_TEST(unreadable_quota_is_none)
{
	v2_at("/", "/");
	ck_assert_uint_eq(quota(), 0);
	fixture_file(MOUNT "/cpu.max/is-a-directory", "x");
	ck_assert_uint_eq(quota(), 0);
}
END_TEST

START_TEST(garbage_in_proc_is_no_quota)
{
	const char *cgroups[] = {
		"",  "\n",   ":",     "::",	  "0:",		 "0::",
		"0", "0::a", "x:cpu", "\n\n::\n", "0::\n0::/\n",
	};
	const char *mounts[] = {
		"",
		"\n\n",
		"1 2 3 4",
		"1 2 3 / " MOUNT,
		"1 2 3 / " MOUNT " rw -",
		"1 2 3 / " MOUNT " rw cgroup2 cgroup2 rw",
		"1 2 3 / " MOUNT " rw - cgroup",
		"1 2 3 / " MOUNT " rw - cgroup none",
		"1 2 3 / " MOUNT " rw - cgroup none cpuset,cpuacct",
	};

	v2_at("/", "/");
	fixture_file(MOUNT "/cpu.max", "300000 100000\n");
	for (size_t i = 0; i < sizeof cgroups / sizeof *cgroups; i++) {
		fixture_file("/proc/self/cgroup", "%s", cgroups[i]);
		ck_assert_msg(quota() == 0, "%s", cgroups[i]);
	}
	fixture_file("/proc/self/cgroup", "0::/\n1:cpu:/\n");
	for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
		fixture_file("/proc/self/mountinfo", "%s", mounts[i]);
		ck_assert_msg(quota() == 0, "%s", mounts[i]);
	}
}
END_TEST

START_TEST(paths_too_long_are_no_quota)
{
	char path[PATH_MAX + 100];

	for (size_t i = 0; i < sizeof path; i++)
		path[i] = i % 100 ? 'x' : '/';
	path[sizeof path - 1] = '\0';
	v2_at(path, "/");
	fixture_file(MOUNT "/cpu.max", "300000 100000\n");
	ck_assert_uint_eq(quota(), 0);
	path[PATH_MAX - 4] = '\0';
	v2_at(path, "/");
	ck_assert_uint_eq(quota(), 0);
}
END_TEST

START_TEST(without_memory_it_fails)
{
	int failures;
	unsigned milli = 7;

	v1_at("/a", "/");
	fixture_file(MOUNT "/cpu acct/cpu.cfs_quota_us", "50000\n");
	fixture_file(MOUNT "/cpu acct/cpu.cfs_period_us", "100000\n");
	for (failures = 0;; failures++) {
		fixture_fail_after(failures);

		int error = os_cgroup_quota_milli(&milli);

		if (!fixture_failed())
			break;
		ck_assert_int_eq(error, -ENOMEM);
		ck_assert_uint_eq(milli, 7);
	}
	ck_assert_int_ge(failures, 4);
	ck_assert_uint_eq(milli, 500);

	v2_at("/", "/");
	fixture_file(MOUNT "/cpu.max", "300000 100000\n");
	fixture_fail_after(2);
	ck_assert_int_eq(os_cgroup_quota_milli(&milli), -ENOMEM);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("os/cgroup");
	TCase *tc = tcase_create("cgroup");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_loop_test(tc, v2_quota_is_parsed, 0,
			    sizeof texts / sizeof *texts);
	tcase_add_test(tc, v2_smallest_of_the_path_wins);
	tcase_add_test(tc, v2_in_a_namespace_sees_its_root);
	tcase_add_test(tc, v2_mounted_from_our_group);
	tcase_add_test(tc, v2_mounted_from_another_group_is_not_ours);
	tcase_add_test(tc, v2_mounted_from_above_the_namespace);
	tcase_add_test(tc, v1_quota_is_read);
	tcase_add_test(tc, v1_mounted_from_our_group);
	tcase_add_test(tc, both_versions_count);
	tcase_add_test(tc, without_proc_there_is_no_quota);
	tcase_add_test(tc, unreadable_quota_is_none);
	tcase_add_test(tc, garbage_in_proc_is_no_quota);
	tcase_add_test(tc, paths_too_long_are_no_quota);
	tcase_add_test(tc, without_memory_it_fails);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);

	int failures = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
