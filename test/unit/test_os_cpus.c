/* SPDX-License-Identifier: MIT */
/* CPU masks and lists of any size, and machines that do not tell. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "os/cpus.h"
#include "os/file.h"

#define CPU_DIR "/sys/devices/system/cpu/"

static int *cpus;
static unsigned count;

static void read_allowed(void)
{
	free(cpus);
	cpus = NULL;
	ck_assert_int_eq(os_cpus_allowed(&cpus, &count), 0);
	ck_assert_uint_ge(count, 1);
}

static void teardown(void)
{
	free(cpus);
	fixture_teardown();
}

START_TEST(cpulist_has_its_ranges)
{
	const char *list = "0,3-5,64,1279\n";
	int in[] = {0, 3, 4, 5, 64, 1279};
	int out[] = {1, 2, 6, 63, 65, 1278, 1280, -1};

	for (size_t i = 0; i < sizeof in / sizeof *in; i++)
		ck_assert(os_cpulist_has(list, in[i]));
	for (size_t i = 0; i < sizeof out / sizeof *out; i++)
		ck_assert(!os_cpulist_has(list, out[i]));
}
END_TEST

START_TEST(cpulist_with_garbage_has_none)
{
	const char *lists[] = {
		"",	 "\n",	"x",	  "1,x",      "1,,2",
		"1-",	 "-1",	"1 2",	  "1-2-3",    "3-1,1",
		"1;2",	 "0x1", "1,\x80", "0-1 junk", "1,99999999999999999999",
		"1-2:1", ",1",	"0,1,-",
	};

	ck_assert(!os_cpulist_has(NULL, 1));
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		ck_assert_msg(!os_cpulist_has(lists[i], 1), "%s", lists[i]);
}
END_TEST

START_TEST(allowed_are_those_of_the_mask)
{
	fixture_allow(5, 5);
	fixture_allow(7, 7);
	read_allowed();
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(cpus[0], 5);
	ck_assert_int_eq(cpus[1], 7);
}
END_TEST

START_TEST(allowed_grows_the_mask)
{
	fixture_mask_bits(2048);
	fixture_allow(0, 1279);
	read_allowed();
	ck_assert_uint_eq(count, 1280);
	for (int i = 0; i < 1280; i++)
		ck_assert_int_eq(cpus[i], i);
}
END_TEST

START_TEST(allowed_finds_the_only_high_cpu)
{
	fixture_mask_bits(2048);
	fixture_allow(1279, 1279);
	read_allowed();
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(cpus[0], 1279);
}
END_TEST

START_TEST(allowed_crosses_a_word)
{
	fixture_allow(64, 65);
	read_allowed();
	ck_assert_uint_eq(count, 2);
	ck_assert_int_eq(cpus[0], 64);
	ck_assert_int_eq(cpus[1], 65);
}
END_TEST

START_TEST(allowed_when_refused_is_online)
{
	fixture_refuse(EPERM);
	fixture_file(CPU_DIR "online", "0-1,1300\n");
	read_allowed();
	ck_assert_uint_eq(count, 3);
	ck_assert_int_eq(cpus[2], 1300);
}
END_TEST

START_TEST(allowed_when_mask_is_empty_is_online)
{
	fixture_file(CPU_DIR "online", "3\n");
	read_allowed();
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(cpus[0], 3);
}
END_TEST

START_TEST(allowed_when_nothing_is_known_is_cpu_0)
{
	fixture_refuse(ENOSYS);
	read_allowed();
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(cpus[0], 0);

	fixture_file(CPU_DIR "online", "many\n");
	read_allowed();
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(cpus[0], 0);
}
END_TEST

START_TEST(allowed_gives_up_on_a_mask_without_end)
{
	fixture_mask_bits(OS_CPU_LIMIT * 2);
	read_allowed();
	ck_assert_uint_eq(count, 1);
}
END_TEST

START_TEST(allowed_without_memory_fails)
{
	int failures;

	fixture_refuse(EPERM);
	fixture_file(CPU_DIR "online", "0-1\n");
	for (failures = 0;; failures++) {
		fixture_fail_after(failures);

		int error = os_cpus_allowed(&cpus, &count);

		if (!fixture_failed())
			break;
		ck_assert_int_eq(error, -ENOMEM);
		ck_assert_ptr_null(cpus);
	}
	ck_assert_int_ge(failures, 4);
}
END_TEST

START_TEST(pin_sets_exactly_the_bits)
{
	int each[] = {0, 31, 32, 63, 64, 200, 1279, 8191};
	unsigned all = sizeof each / sizeof *each;

	for (unsigned i = 0; i < all; i++) {
		ck_assert_int_eq(os_thread_pin(&each[i], 1), 0);
		ck_assert(fixture_pinned(&each[i], 1));
	}
	ck_assert_int_eq(os_thread_pin(each, all), 0);
	ck_assert(fixture_pinned(each, all));
}
END_TEST

START_TEST(pin_to_no_cpu_fails)
{
	int negative[] = {0, -1}, large = OS_CPU_LIMIT;

	ck_assert_int_eq(os_thread_pin(NULL, 0), -EINVAL);
	ck_assert_int_eq(os_thread_pin(negative, 2), -EINVAL);
	ck_assert_int_eq(os_thread_pin(&large, 1), -EINVAL);
}
END_TEST

START_TEST(pin_says_what_the_kernel_says)
{
	int cpu = 3;

	fixture_refuse_pin(EPERM);
	ck_assert_int_eq(os_thread_pin(&cpu, 1), -EPERM);
	fixture_fail_after(0);
	ck_assert_int_eq(os_thread_pin(&cpu, 1), -ENOMEM);
}
END_TEST

START_TEST(pin_on_the_real_machine)
{
	os_getaffinity = sched_getaffinity;
	os_setaffinity = sched_setaffinity;
	read_allowed();

	int last = cpus[count - 1];

	ck_assert_int_eq(os_thread_pin(&last, 1), 0);
	ck_assert_int_eq(os_cpu_current(), last);
	read_allowed();
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(cpus[0], last);
}
END_TEST

static void cache(int cpu, int index, const char *level, const char *list)
{
	char path[128];

	snprintf(path, sizeof path, CPU_DIR "cpu%d/cache/index%d/level", cpu,
		 index);
	fixture_file(path, "%s\n", level);
	snprintf(path, sizeof path,
		 CPU_DIR "cpu%d/cache/index%d/shared_cpu_list", cpu, index);
	fixture_file(path, "%s\n", list);
}

START_TEST(l3_is_found_by_level)
{
	int ids[] = {1, 2, 5, 6}, l3s[4];

	for (int i = 0; i < 4; i++) {
		cache(ids[i], 3, "2", "0-7");
		cache(ids[i], 2, "3", ids[i] < 4 ? "0-3" : "4-7");
	}
	ck_assert_int_eq(os_cpu_l3s(ids, 4, l3s), 0);
	ck_assert_int_eq(l3s[0], 1);
	ck_assert_int_eq(l3s[1], 1);
	ck_assert_int_eq(l3s[2], 5);
	ck_assert_int_eq(l3s[3], 5);
}
END_TEST

START_TEST(l3_without_sense_is_unknown)
{
	int ids[] = {0, 1, 2, 3, 4}, l3s[5];

	cache(0, 2, "2", "0-4"); /* has no L3 */
	cache(1, 3, "3", "0");	 /* is not in its own list */
	cache(2, 3, "3", "2,?");
	cache(3, 3, "three", "3");
	ck_assert_int_eq(os_cpu_l3s(ids, 5, l3s), 0);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(l3s[i], -1);
}
END_TEST

START_TEST(core_has_its_siblings)
{
	int ids[] = {0, 1, 640, 641, 700}, cores[5];

	fixture_file(CPU_DIR "cpu0/topology/core_cpus_list", "0,640\n");
	fixture_file(CPU_DIR "cpu0/topology/thread_siblings_list", "0-999\n");
	fixture_file(CPU_DIR "cpu1/topology/thread_siblings_list", "1,641\n");
	ck_assert_int_eq(os_cpu_cores(ids, 5, cores), 0);
	ck_assert_int_eq(cores[0], 0);
	ck_assert_int_eq(cores[1], 1);
	ck_assert_int_eq(cores[2], 0);
	ck_assert_int_eq(cores[3], 1);
	ck_assert_int_eq(cores[4], 700);
}
END_TEST

START_TEST(core_without_memory_fails)
{
	int id = 0, core;

	fixture_file(CPU_DIR "cpu0/topology/core_cpus_list", "0\n");
	cache(0, 3, "3", "0");
	fixture_fail_after(0);
	ck_assert_int_eq(os_cpu_cores(&id, 1, &core), -ENOMEM);
	for (int i = 0; i < 2; i++) {
		fixture_fail_after(i);
		ck_assert_int_eq(os_cpu_l3s(&id, 1, &core), -ENOMEM);
	}
}
END_TEST

START_TEST(file_of_any_length_is_read)
{
	char list[8192];
	size_t length = 0;
	char *text;

	for (int cpu = 0; cpu < 1280; cpu += 2)
		length += (size_t)snprintf(list + length, sizeof list - length,
					   "%d,", cpu);
	list[length - 1] = '\0';
	fixture_file("/list", "%s", list);
	ck_assert_int_eq(os_file_read(&text, "/%s", "list"), 0);
	ck_assert_str_eq(text, list);
	free(text);

	text = NULL;
	fixture_fail_after(1);
	ck_assert_int_eq(os_file_read(&text, "/list"), -ENOMEM);
	ck_assert_ptr_null(text);
}
END_TEST

START_TEST(file_that_cannot_be_read_is_none)
{
	static char name[9000];
	char *text = name;

	ck_assert_int_eq(os_file_read(&text, "/none"), 0);
	ck_assert_ptr_null(text);
	fixture_file("/dir/file", "x");
	ck_assert_int_eq(os_file_read(&text, "/dir"), 0);
	ck_assert_ptr_null(text);

	memset(name, 'x', sizeof name - 1);
	ck_assert_int_eq(os_file_read(&text, "/%s", name), 0);
	ck_assert_ptr_null(text);
	os_root = name;
	ck_assert_int_eq(os_file_read(&text, "/dir/file"), 0);
	ck_assert_ptr_null(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("os/cpus");
	TCase *tc = tcase_create("cpus");

	tcase_add_checked_fixture(tc, fixture_setup, teardown);
	tcase_add_test(tc, cpulist_has_its_ranges);
	tcase_add_test(tc, cpulist_with_garbage_has_none);
	tcase_add_test(tc, allowed_are_those_of_the_mask);
	tcase_add_test(tc, allowed_grows_the_mask);
	tcase_add_test(tc, allowed_finds_the_only_high_cpu);
	tcase_add_test(tc, allowed_crosses_a_word);
	tcase_add_test(tc, allowed_when_refused_is_online);
	tcase_add_test(tc, allowed_when_mask_is_empty_is_online);
	tcase_add_test(tc, allowed_when_nothing_is_known_is_cpu_0);
	tcase_add_test(tc, allowed_gives_up_on_a_mask_without_end);
	tcase_add_test(tc, allowed_without_memory_fails);
	tcase_add_test(tc, pin_sets_exactly_the_bits);
	tcase_add_test(tc, pin_to_no_cpu_fails);
	tcase_add_test(tc, pin_says_what_the_kernel_says);
	tcase_add_test(tc, pin_on_the_real_machine);
	tcase_add_test(tc, l3_is_found_by_level);
	tcase_add_test(tc, l3_without_sense_is_unknown);
	tcase_add_test(tc, core_has_its_siblings);
	tcase_add_test(tc, core_without_memory_fails);
	tcase_add_test(tc, file_of_any_length_is_read);
	tcase_add_test(tc, file_that_cannot_be_read_is_none);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);

	int failures = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
