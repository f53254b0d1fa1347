/* SPDX-License-Identifier: MIT */
/* Nodes with odd numbers, without CPUs, without files; memory of a node. */
#include <check.h>
#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "os/alloc.h"
#include "os/numa.h"

#define NODE_DIR "/sys/devices/system/node/"

START_TEST(nodes_keep_sparse_numbers)
{
	int cpus[] = {0, 3, 4, 1279}, nodes[4];

	fixture_node(8, "4-7,1279", NULL);
	fixture_node(0, "0-3", NULL);
	ck_assert_int_eq(os_numa_nodes(cpus, 4, nodes), 0);
	ck_assert_int_eq(nodes[0], 0);
	ck_assert_int_eq(nodes[1], 0);
	ck_assert_int_eq(nodes[2], 8);
	ck_assert_int_eq(nodes[3], 8);
}
END_TEST

START_TEST(nodes_of_stray_cpus_are_unknown)
{
	int cpus[] = {0, 4, 8, 12}, nodes[4];

	fixture_node(0, "0-3", NULL);
	fixture_node(1, "", NULL);
	fixture_node(2, "8-11", NULL);
	fixture_node(3, "12-15;", NULL);
	fixture_file(NODE_DIR "node4x/cpulist", "4\n");
	fixture_file(NODE_DIR "nodes/cpulist", "4\n");
	fixture_file(NODE_DIR "online", "0-3\n");
	ck_assert_int_eq(os_numa_nodes(cpus, 4, nodes), 0);
	ck_assert_int_eq(nodes[0], 0);
	ck_assert_int_eq(nodes[1], -1);
	ck_assert_int_eq(nodes[2], 2);
	ck_assert_int_eq(nodes[3], -1);
}
END_TEST

START_TEST(nodes_without_sysfs_are_unknown)
{
	int cpu = 0, node = 7, unknown = -1;
	unsigned distance = 7;

	ck_assert_int_eq(os_numa_nodes(&cpu, 1, &node), 0);
	ck_assert_int_eq(node, -1);
	ck_assert_int_eq(os_numa_distances(&unknown, 1, &distance), 0);
	ck_assert_uint_eq(distance, 0);
}
END_TEST

START_TEST(distances_are_read_by_the_right_column)
{
	int ids[] = {8, 1};
	unsigned d[4];

	fixture_node(1, "0", "10 11 12");
	fixture_node(2, "", "21 10 23");
	fixture_node(8, "1", "31 32 10");
	ck_assert_int_eq(os_numa_distances(ids, 2, d), 0);
	ck_assert_uint_eq(d[0], 10);
	ck_assert_uint_eq(d[1], 31);
	ck_assert_uint_eq(d[2], 12);
	ck_assert_uint_eq(d[3], 10);
}
END_TEST

/* Each row of node 1 is one that must not be believed. */
START_TEST(distances_without_sense_are_unknown)
{
	const char *rows[] = {
		"",	      "10",	"21 10 20", "x 10",
		"21 1x",      "21 ?",	"-21 10",   "0 0",
		"9 9",	      "2.1 10", "21,10",    "99999999999 99999999999",
		"21 10 \x80",
	};
	int ids[] = {0, 1, -1};
	unsigned d[9];

	fixture_node(0, "0", "10 21");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		fixture_node(1, "1", rows[i]);
		ck_assert_int_eq(os_numa_distances(ids, 3, d), 0);
		ck_assert_uint_eq(d[0], 10);
		ck_assert_uint_eq(d[1], 21);
		for (int k = 2; k < 9; k++)
			ck_assert_msg(d[k] == 0, "%s: %d", rows[i], k);
	}
}
END_TEST

START_TEST(nodes_without_memory_fail)
{
	int id = 0, node;
	unsigned distance;
	int failures;

	fixture_node(0, "0", "10");
	for (failures = 0;; failures++) {
		fixture_fail_after(failures);

		int error = os_numa_nodes(&id, 1, &node);

		if (!fixture_failed())
			break;
		ck_assert_int_eq(error, -ENOMEM);
		fixture_fail_after(failures);
		ck_assert_int_eq(os_numa_distances(&id, 1, &distance), -ENOMEM);
	}
	ck_assert_int_eq(failures, 3);
}
END_TEST

static bool is_zero(const unsigned char *memory, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (memory[i] != 0)
			return false;
	return true;
}

/* No node, nodes that are or may be there, one past all masks. */
START_TEST(alloc_is_zeroed_and_aligned)
{
	int node_ids[] = {-1, 0, 3, 63, 64, 1023, 1024, 1 << 20};
	size_t sizes[] = {1, 64, 4096, 100000};

	for (size_t i = 0; i < sizeof node_ids / sizeof *node_ids; i++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
			unsigned char *memory =
				os_alloc_on_node(sizes[k], node_ids[i]);

			ck_assert_ptr_nonnull(memory);
			ck_assert_uint_eq((uintptr_t)memory % 64, 0);
			ck_assert(is_zero(memory, sizes[k]));
			memset(memory, 0xff, sizes[k]);
			os_free(memory);
		}
	os_free(NULL);
}
END_TEST

START_TEST(alloc_prefers_the_node)
{
	unsigned long nodes[1024 / 64] = {0};
	int policy = -1;
	void *memory = os_alloc_on_node(100, 0);

	ck_assert_ptr_nonnull(memory);
	/* Sandboxes refuse, and then there is nothing to see. */
	if (numa_available() >= 0 &&
	    get_mempolicy(&policy, nodes, 1024, memory, MPOL_F_ADDR) == 0) {
		ck_assert_int_eq(policy, MPOL_PREFERRED);
		ck_assert_uint_eq(nodes[0], 1);
	}
	os_free(memory);
}
END_TEST

START_TEST(alloc_without_memory_is_null)
{
	for (int node_id = -1; node_id <= 0; node_id++) {
		fixture_fail_after(0);
		ck_assert_ptr_null(os_alloc_on_node(64, node_id));
		ck_assert(fixture_failed());
		ck_assert_ptr_null(os_alloc_on_node(SIZE_MAX, node_id));
		ck_assert_ptr_null(os_alloc_on_node(SIZE_MAX - 128, node_id));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("os/numa");
	TCase *tc = tcase_create("numa");

	tcase_add_checked_fixture(tc, fixture_setup, fixture_teardown);
	tcase_add_test(tc, nodes_keep_sparse_numbers);
	tcase_add_test(tc, nodes_of_stray_cpus_are_unknown);
	tcase_add_test(tc, nodes_without_sysfs_are_unknown);
	tcase_add_test(tc, distances_are_read_by_the_right_column);
	tcase_add_test(tc, distances_without_sense_are_unknown);
	tcase_add_test(tc, nodes_without_memory_fail);
	tcase_add_test(tc, alloc_is_zeroed_and_aligned);
	tcase_add_test(tc, alloc_prefers_the_node);
	tcase_add_test(tc, alloc_without_memory_is_null);
	suite_add_tcase(suite, tc);

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);

	int failures = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
