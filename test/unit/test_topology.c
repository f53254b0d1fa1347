/* SPDX-License-Identifier: MIT */
/* Machines, real ones as fixtures and made-up ones: shape, places, victims. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "os/cpus.h"
#include "os/file.h"
#include "topology/topology.h"
#include "topology/victims.h"

#define CPU_DIR "/sys/devices/system/cpu/"

static struct wsrt_topology *topology;

static void setup(void)
{
	unsetenv("WSRT_TOPOLOGY");
	fixture_setup();
}

static void teardown(void)
{
	wsrt_topology_destroy(topology);
	fixture_teardown();
}

/* What must hold for any machine. */
static void check_whole(void)
{
	const struct topology_cpu *cpus = topology->cpus;
	unsigned nodes = topology->node_count;
	unsigned count = topology->cpu_count;

	ck_assert_uint_ge(count, 1);
	ck_assert_uint_eq(cpus[0].node, 0);
	ck_assert_uint_eq(cpus[0].l3, 0);
	ck_assert_uint_eq(cpus[0].core, 0);
	ck_assert_uint_eq(cpus[count - 1].node, nodes - 1);
	for (unsigned i = 1; i < count; i++) {
		unsigned node = cpus[i].node - cpus[i - 1].node;
		unsigned l3 = cpus[i].l3 - cpus[i - 1].l3;
		unsigned core = cpus[i].core - cpus[i - 1].core;

		if (node > l3 || l3 > core || core > 1)
			ck_abort_msg("CPU %u does not follow", i);
	}
	for (unsigned i = 0; i < nodes * nodes; i++)
		if (topology->distances[i] < 10)
			ck_abort_msg("distance %u", topology->distances[i]);
	ck_assert_uint_ge(wsrt_topology_worker_count(topology), 1);
	ck_assert_uint_le(wsrt_topology_worker_count(topology), count);
}

static void read_machine(void)
{
	wsrt_topology_destroy(topology);
	topology = NULL;
	ck_assert_int_eq(wsrt_topology_read(&topology), 0);
	ck_assert_int_eq(wsrt_topology_synthetic(topology), 0);
	check_whole();
}

static void make_up(const char *text)
{
	wsrt_topology_destroy(topology);
	topology = NULL;
	setenv("WSRT_TOPOLOGY", text, 1);
	ck_assert_int_eq(wsrt_topology_read(&topology), 0);
	ck_assert_int_eq(wsrt_topology_synthetic(topology), 1);
	check_whole();
}

static struct wsrt_topology_cpu cpu_at(unsigned index)
{
	struct wsrt_topology_cpu cpu = {.size = sizeof cpu};

	ck_assert_int_eq(wsrt_topology_cpu(topology, index, &cpu), 0);
	return cpu;
}

static struct wsrt_topology_cpu cpu_of(int os_id)
{
	for (unsigned i = 0; i < topology->cpu_count; i++)
		if (topology->cpus[i].os_id == os_id)
			return cpu_at(i);
	ck_abort_msg("no CPU %d", os_id);
}

static void share(int cpu, const char *l3, const char *core)
{
	char path[128];

	snprintf(path, sizeof path, CPU_DIR "cpu%d/cache/index3/level", cpu);
	fixture_file(path, "3\n");
	snprintf(path, sizeof path,
		 CPU_DIR "cpu%d/cache/index3/shared_cpu_list", cpu);
	fixture_file(path, "%s\n", l3);
	snprintf(path, sizeof path, CPU_DIR "cpu%d/topology/core_cpus_list",
		 cpu);
	fixture_file(path, "%s\n", core);
}

START_TEST(read_without_sysfs_is_one_domain)
{
	fixture_allow(0, 3);
	read_machine();
	ck_assert_uint_eq(wsrt_topology_cpu_count(topology), 4);
	ck_assert_uint_eq(wsrt_topology_node_count(topology), 1);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 0, 0), 10);
	ck_assert_uint_eq(wsrt_topology_quota_milli(topology), 0);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(cpu_at(i).os_id, (int)i);
		ck_assert_uint_eq(cpu_at(i).core, i);
		ck_assert_uint_eq(cpu_at(i).l3, 0);
		ck_assert_int_eq(cpu_at(i).node_id, -1);
	}
}
END_TEST

START_TEST(read_when_all_is_refused_is_one_cpu)
{
	fixture_refuse(EPERM);
	read_machine();
	ck_assert_uint_eq(wsrt_topology_cpu_count(topology), 1);
	ck_assert_int_eq(cpu_at(0).os_id, 0);
}
END_TEST

START_TEST(read_sees_siblings_caches_and_nodes)
{
	fixture_allow(0, 7);
	fixture_node(0, "0-1,4-5", "10 21");
	fixture_node(1, "2-3,6-7", "22 10");
	for (int cpu = 0; cpu < 8; cpu++) {
		const char *const cores[] = {"0,4", "1,5", "2,6", "3,7"};
		const char *const l3s[] = {"0,4", "1,5", "2-3,6-7", "2-3,6-7"};

		share(cpu, l3s[cpu % 4], cores[cpu % 4]);
	}
	read_machine();
	ck_assert_uint_eq(wsrt_topology_node_count(topology), 2);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 0, 1), 21);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 1, 0), 22);
	for (int cpu = 0; cpu < 4; cpu++) {
		ck_assert_uint_eq(cpu_of(cpu).core, cpu);
		ck_assert_uint_eq(cpu_of(cpu + 4).core, cpu);
		ck_assert_uint_eq(cpu_of(cpu).l3, cpu < 2 ? cpu : 2);
		ck_assert_uint_eq(cpu_of(cpu).node, cpu / 2);
	}
}
END_TEST

START_TEST(read_keeps_sparse_nodes)
{
	const int ids[2][2] = {{0, 8}, {1, 2}};

	fixture_allow(0, 3);
	fixture_node(ids[_i][1], "2-3", _i ? "31 10" : "13 10");
	fixture_node(ids[_i][0], "0-1", _i ? "10 12" : "10 14");
	read_machine();
	ck_assert_uint_eq(wsrt_topology_node_count(topology), 2);
	ck_assert_int_eq(cpu_of(0).node_id, ids[_i][0]);
	ck_assert_int_eq(cpu_of(3).node_id, ids[_i][1]);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 0, 1), _i ? 12 : 14);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 1, 0), _i ? 31 : 13);
}
END_TEST

START_TEST(read_gives_stray_cpus_a_domain)
{
	fixture_allow(0, 11);
	fixture_node(0, "0-3", "10 30");
	fixture_node(2, "8-11", "30 10");
	read_machine();
	ck_assert_uint_eq(wsrt_topology_node_count(topology), 3);
	for (int cpu = 4; cpu < 8; cpu++) {
		ck_assert_uint_eq(cpu_of(cpu).node, 2);
		ck_assert_int_eq(cpu_of(cpu).node_id, -1);
	}
	ck_assert_uint_eq(wsrt_topology_distance(topology, 0, 1), 30);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 0, 2), 20);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 2, 1), 20);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 2, 2), 10);
}
END_TEST

START_TEST(read_drops_nodes_without_cpus_of_ours)
{
	fixture_allow(0, 3);
	fixture_node(0, "0-1", "10 40 20 50");
	fixture_node(1, "", "40 10 40 40");
	fixture_node(2, "2-3", "23 40 10 50");
	fixture_node(5, "4-7", "50 50 50 10");
	read_machine();
	ck_assert_uint_eq(wsrt_topology_node_count(topology), 2);
	ck_assert_int_eq(cpu_of(2).node_id, 2);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 1, 0), 23);
}
END_TEST

START_TEST(read_garbage_prints_nothing)
{
	char output[] = "/tmp/wsrt-output-XXXXXX";
	int fd = mkstemp(output);
	int error_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	ck_assert_int_ge(fd, 0);
	unlink(output);
	fixture_allow(0, 1);
	fixture_node(0, "zero", "ten");
	fixture_file("/sys/devices/system/node/node1/cpulist/x", "x");
	fixture_file("/proc/self/cgroup", "?");
	fixture_file("/proc/self/mountinfo", "?");
	share(0, "?", "?");
	share(1, "-", "0-");

	dup2(fd, STDERR_FILENO);
	read_machine();
	dup2(error_fd, STDERR_FILENO);
	ck_assert_int_eq(lseek(fd, 0, SEEK_END), 0);
	close(error_fd);
	close(fd);
	ck_assert_uint_eq(wsrt_topology_node_count(topology), 1);
	ck_assert_uint_eq(cpu_at(1).core, 1);
	ck_assert_uint_eq(cpu_at(1).l3, 0);
}
END_TEST

START_TEST(read_splits_an_l3_between_nodes)
{
	fixture_allow(0, 3);
	fixture_node(0, "0-1", "10 11");
	fixture_node(1, "2-3", "11 10");
	for (int cpu = 0; cpu < 4; cpu++)
		share(cpu, "0-3", "0-3");
	read_machine();
	ck_assert_uint_eq(cpu_of(0).l3, cpu_of(1).l3);
	ck_assert_uint_ne(cpu_of(1).l3, cpu_of(2).l3);
	ck_assert_uint_ne(cpu_of(1).core, cpu_of(2).core);
}
END_TEST

START_TEST(read_knows_1280_cpus)
{
	fixture_mask_bits(2048);
	fixture_allow(0, 1279);
	fixture_node(0, "0-639", "10 21");
	fixture_node(1, "640-1279", "21 10");
	read_machine();
	ck_assert_uint_eq(wsrt_topology_cpu_count(topology), 1280);
	ck_assert_uint_eq(wsrt_topology_worker_count(topology), 1280);
	ck_assert_uint_eq(topology_node_of(topology, 639), 0);
	ck_assert_uint_eq(topology_node_of(topology, 640), 1);
	ck_assert_uint_eq(topology_node_of(topology, 1279), 1);
}
END_TEST

START_TEST(node_of_takes_any_number)
{
	fixture_allow(0, 0);
	fixture_allow(64, 64);
	fixture_node(0, "0-3", "10 20");
	fixture_node(1, "4-64", "20 10");
	read_machine();
	ck_assert_uint_eq(wsrt_topology_cpu_count(topology), 2);
	ck_assert_uint_eq(topology_node_of(topology, 64), 1);
	ck_assert_uint_eq(topology_node_of(topology, 5), 0);
	ck_assert_uint_eq(topology_node_of(topology, -1), 0);
	ck_assert_uint_eq(topology_node_of(topology, 65), 0);
	ck_assert_uint_eq(topology_node_of(topology, 1 << 30), 0);
	make_up("node:2");
	ck_assert_uint_eq(topology_node_of(topology, 0), 0);
	ck_assert_uint_eq(topology_node_of(topology, 1), 0);
}
END_TEST

START_TEST(workers_are_cut_to_the_quota)
{
	static const struct {
		const char *quota;
		unsigned workers, milli;
	} cases[] = {
		{"200000 100000", 2, 2000},   {"50000 100000", 1, 500},
		{"max 100000", 8, 0},	      {"250000 100000", 3, 2500},
		{"1 100000", 1, 1},	      {"800000 100000", 8, 8000},
		{"9900000 100000", 8, 99000},
	};

	fixture_allow(8, 15);
	fixture_file("/proc/self/cgroup", "0::/\n");
	fixture_file("/proc/self/mountinfo",
		     "3 2 0:2 / /cg rw - cgroup2 cgroup2 rw\n");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		fixture_file("/cg/cpu.max", "%s\n", cases[i].quota);
		read_machine();
		ck_assert_uint_eq(wsrt_topology_cpu_count(topology), 8);
		ck_assert_uint_eq(wsrt_topology_worker_count(topology),
				  cases[i].workers);
		ck_assert_uint_eq(wsrt_topology_quota_milli(topology),
				  cases[i].milli);
	}
}
END_TEST

START_TEST(read_without_memory_fails)
{
	int failures;

	fixture_allow(0, 1);
	fixture_node(0, "0", "10");
	fixture_file("/proc/self/cgroup", "0::/\n");
	share(0, "0", "0");
	for (failures = 0;; failures++) {
		struct wsrt_topology *none = NULL;

		fixture_fail_after(failures);

		int error = wsrt_topology_read(&none);

		if (!fixture_failed()) {
			ck_assert_int_eq(error, 0);
			wsrt_topology_destroy(none);
			break;
		}
		ck_assert_int_eq(error, -ENOMEM);
		ck_assert_ptr_null(none);
	}
	ck_assert_int_ge(failures, 15);
}
END_TEST

START_TEST(read_this_machine)
{
	os_root = "";
	os_getaffinity = sched_getaffinity;
	read_machine();
	for (unsigned i = 0; i < topology->cpu_count; i++)
		ck_assert_int_ge(cpu_at(i).os_id, 0);
}
END_TEST

START_TEST(synthetic_counts_multiply)
{
	make_up("node:4 l3:2 core:4 thread:2");
	ck_assert_uint_eq(wsrt_topology_cpu_count(topology), 64);
	ck_assert_uint_eq(wsrt_topology_worker_count(topology), 64);
	ck_assert_uint_eq(wsrt_topology_node_count(topology), 4);
	ck_assert_uint_eq(wsrt_topology_quota_milli(topology), 0);
	ck_assert_uint_eq(cpu_at(63).core, 31);
	ck_assert_uint_eq(cpu_at(63).l3, 7);
	ck_assert_uint_eq(cpu_at(63).node, 3);
	ck_assert_int_eq(cpu_at(63).os_id, -1);
	ck_assert_int_eq(cpu_at(63).node_id, -1);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 2, 2), 10);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 2, 3), 20);
}
END_TEST

START_TEST(synthetic_takes_any_of_the_keys)
{
	static const struct {
		const char *text;
		unsigned cpus, nodes;
	} cases[] = {
		{"node:2", 2, 2},
		{"core:3", 3, 1},
		{"thread:1", 1, 1},
		{"l3:2 thread:3", 6, 1},
		{"node:2,core:4", 8, 2},
		{"node:2 , core:4", 8, 2},
		{"  node:2   core:4  ", 8, 2},
		{"node:2,thread:2 ", 4, 2},
		{"core:8192", 8192, 1},
		{"node:1024 core:8", 8192, 1024},
		{"node:02", 2, 2},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		make_up(cases[i].text);
		ck_assert_uint_eq(topology->cpu_count, cases[i].cpus);
		ck_assert_uint_eq(topology->node_count, cases[i].nodes);
	}
}
END_TEST

START_TEST(synthetic_garbage_is_refused)
{
	const char *texts[] = {
		" ",
		"x",
		"node",
		"node:",
		"node:0",
		"node:-1",
		"node:+1",
		"node: 1",
		"node:1x",
		"node:1;core:1",
		"core:1 node:1",
		"node:1 node:1",
		"node:1,",
		",node:1",
		"node:1,,core:1",
		"node:1, ",
		"Node:1",
		"node=1",
		"core:8193",
		"core:4097 thread:2",
		"node:1025",
		"thread:99999999999999999999",
		"node:2core:2",
		"node:4294967296",
		"node:1 socket:2",
		"node:1 \xff",
		"node:64 l3:64 core:64 thread:64",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct wsrt_topology *none = NULL;

		setenv("WSRT_TOPOLOGY", texts[i], 1);
		ck_assert_msg(wsrt_topology_read(&none) == -EINVAL, "%s",
			      texts[i]);
		ck_assert_ptr_null(none);
	}
}
END_TEST

START_TEST(synthetic_when_empty_is_unset)
{
	fixture_allow(0, 2);
	setenv("WSRT_TOPOLOGY", "", 1);
	read_machine();
	ck_assert_uint_eq(topology->cpu_count, 3);
}
END_TEST

START_TEST(synthetic_without_memory_fails)
{
	struct wsrt_topology *none = NULL;

	for (int i = 0; i < 4; i++) {
		fixture_fail_after(i);
		ck_assert_int_eq(topology_synthetic("node:2", &none), -ENOMEM);
		ck_assert_ptr_null(none);
	}
}
END_TEST

START_TEST(accessors_refuse_bad_arguments)
{
	struct wsrt_topology_cpu cpu = {.size = sizeof cpu};
	struct {
		struct wsrt_topology_cpu cpu;
		uint64_t newer;
	} grown = {.cpu.size = sizeof grown, .newer = 1};

	make_up("node:2");
	ck_assert_int_eq(wsrt_topology_cpu(NULL, 0, &cpu), -EINVAL);
	ck_assert_int_eq(wsrt_topology_cpu(topology, 0, NULL), -EINVAL);
	ck_assert_int_eq(wsrt_topology_cpu(topology, 2, &cpu), -EINVAL);
	cpu.size = 0;
	ck_assert_int_eq(wsrt_topology_cpu(topology, 0, &cpu), -EINVAL);
	ck_assert_int_eq(wsrt_topology_cpu(topology, 0, &grown.cpu), -E2BIG);
	grown.newer = 0;
	ck_assert_int_eq(wsrt_topology_cpu(topology, 1, &grown.cpu), 0);
	ck_assert_uint_eq(grown.cpu.node, 1);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 2, 0), 0);
	ck_assert_uint_eq(wsrt_topology_distance(topology, 0, 2), 0);
	wsrt_topology_destroy(NULL);
}
END_TEST

static void place_is(const char *machine, unsigned count,
		     const unsigned *expected)
{
	unsigned cpus[64];

	make_up(machine);
	topology_place(topology, count, cpus);
	for (unsigned i = 0; i < count; i++)
		ck_assert_msg(cpus[i] == expected[i], "%s: worker %u on %u",
			      machine, i, cpus[i]);
}

#define PLACE_IS(machine, ...)                                                 \
	place_is(machine,                                                      \
		 sizeof((unsigned[]){__VA_ARGS__}) / sizeof(unsigned),         \
		 (unsigned[]){__VA_ARGS__})

START_TEST(place_spreads_over_nodes_then_cores)
{
	PLACE_IS("node:2 core:4", 0);
	PLACE_IS("node:2 core:4", 0, 4);
	PLACE_IS("node:2 core:4", 0, 1, 4);
	PLACE_IS("node:2 core:4", 0, 1, 4, 5);
	PLACE_IS("node:2 core:4", 0, 1, 2, 3, 4, 5, 6, 7);
	PLACE_IS("node:4 core:2", 0, 4);
	PLACE_IS("l3:2 core:2", 0, 1, 2);
	PLACE_IS("core:2 thread:2", 0, 2);
	PLACE_IS("core:2 thread:2", 0, 1, 2);
	PLACE_IS("core:2 thread:2", 0, 1, 2, 3);
	PLACE_IS("node:2 core:2 thread:2", 0, 2, 4, 6);
	PLACE_IS("node:2 core:2 thread:2", 0, 1, 2, 4, 5, 6);
	PLACE_IS("thread:4", 0, 1, 2);
	PLACE_IS("core:2", 0, 1, 0, 1);
	PLACE_IS("node:2 core:2", 0, 1, 0, 2, 3);
	PLACE_IS("node:2", 0, 0, 0, 1, 1, 1);
}
END_TEST

/* Whatever the machine and the number: fair, cores first, nodes in blocks. */
static void check_place(unsigned worker_count)
{
	unsigned count = topology->cpu_count;
	unsigned *cpus = calloc(worker_count, sizeof *cpus);
	unsigned *used = calloc(count, sizeof *used);
	unsigned last = 0;

	ck_assert(cpus && used);
	topology_place(topology, worker_count, cpus);
	for (unsigned i = 0; i < worker_count; i++) {
		if (cpus[i] >= count || topology->cpus[cpus[i]].node < last)
			ck_abort_msg("worker %u of %u on %u", i, worker_count,
				     cpus[i]);
		last = topology->cpus[cpus[i]].node;
		used[cpus[i]]++;
	}
	for (unsigned i = 0; i < count; i++) {
		if (used[i] < worker_count / count ||
		    used[i] > (worker_count + count - 1) / count)
			ck_abort_msg("%u workers on CPU %u", used[i], i);
	}
	free(cpus);
	free(used);
}

START_TEST(place_uses_every_cpu_once_before_twice)
{
	const char *machines[] = {"core:1", "node:3 l3:2 core:3 thread:2",
				  "node:5 core:3", "thread:7"};

	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
		make_up(machines[i]);
		for (unsigned workers = 1; workers < 100; workers++)
			check_place(workers);
	}
}
END_TEST

/* A node with SMT and more CPUs than the other has no more cores. */
START_TEST(place_counts_cores_of_uneven_nodes)
{
	unsigned cpus[6];

	fixture_allow(0, 5);
	fixture_node(0, "0-3", NULL);
	fixture_node(1, "4-5", NULL);
	for (int cpu = 0; cpu < 4; cpu++)
		share(cpu, "0-3", cpu < 2 ? "0-1" : "2-3");
	read_machine();
	for (unsigned workers = 1; workers <= 6; workers++)
		check_place(workers);
	topology_place(topology, 4, cpus);
	ck_assert_uint_eq(cpus[0], 0);
	ck_assert_uint_eq(cpus[1], 2);
	ck_assert_uint_eq(cpus[2], 4);
	ck_assert_uint_eq(cpus[3], 5);
}
END_TEST

static struct victims victims;

static void victims_of(unsigned worker_count, unsigned self)
{
	unsigned *cpus = malloc(worker_count * sizeof *cpus);
	unsigned *seen = calloc(worker_count, sizeof *seen);
	unsigned end = 0;

	ck_assert(cpus && seen);
	victims_fini(&victims);
	topology_place(topology, worker_count, cpus);
	ck_assert_int_eq(
		victims_init(&victims, topology, cpus, worker_count, self), 0);
	for (unsigned i = 0; i < victims.tier_count; i++) {
		const struct victim_tier *tier = &victims.tiers[i];

		ck_assert_uint_eq(tier->begin, end);
		ck_assert_uint_gt(tier->end, tier->begin);
		if (i > 0) {
			ck_assert_int_ge(tier->kind, tier[-1].kind);
			ck_assert_uint_ge(tier->distance, tier[-1].distance);
		}
		for (end = tier->begin; end < tier->end; end++) {
			unsigned worker = victims.workers[end];

			if (topology->cpus[cpus[worker]].node != tier->node)
				ck_abort_msg("worker %u in tier %u", worker, i);
			seen[worker]++;
		}
	}
	ck_assert_uint_eq(end, worker_count - 1);
	for (unsigned i = 0; i < worker_count; i++)
		if (seen[i] != (i != self))
			ck_abort_msg("worker %u seen %u times", i, seen[i]);
	free(cpus);
	free(seen);
}

START_TEST(victims_are_all_others_near_to_far)
{
	const char *machines[] = {"core:1", "node:3 l3:2 core:2 thread:2",
				  "node:9", "l3:4"};

	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
		make_up(machines[i]);
		for (unsigned count = 1; count < 30; count++)
			for (unsigned self = 0; self < count; self++)
				victims_of(count, self);
	}
}
END_TEST

START_TEST(victims_have_a_tier_for_each_place)
{
	make_up("node:3 l3:2 core:2 thread:2");
	victims_of(24, 9);
	ck_assert_uint_eq(victims.tier_count, 4);
	ck_assert_int_eq(victims.tiers[0].kind, WSRT_TIER_L3);
	ck_assert_uint_eq(victims.tiers[0].end, 3);
	ck_assert_uint_eq(victims.tiers[0].distance, 10);
	ck_assert_int_eq(victims.tiers[1].kind, WSRT_TIER_NODE);
	ck_assert_uint_eq(victims.tiers[1].end, 7);
	ck_assert_int_eq(victims.tiers[2].kind, WSRT_TIER_FAR);
	ck_assert_uint_eq(victims.tiers[2].distance, 20);
	ck_assert_uint_eq(victims.tiers[2].node, 2); /* the next round */
	ck_assert_uint_eq(victims.tiers[3].node, 0);
}
END_TEST

START_TEST(victims_of_a_lone_worker_are_none)
{
	make_up("node:3 core:2");
	victims_of(1, 0);
	ck_assert_uint_eq(victims.tier_count, 0);
}
END_TEST

START_TEST(victims_go_out_by_our_distance)
{
	fixture_allow(0, 4);
	fixture_node(0, "0", "10 30 20 40 20");
	fixture_node(1, "1", "10 10 10 10 10");
	fixture_node(2, "2", "90 90 10 90 90");
	fixture_node(3, "3", "40 20 30 10 20");
	fixture_node(4, "4", "90 90 90 90 10");
	read_machine();
	victims_of(5, 0);
	ck_assert_uint_eq(victims.tier_count, 4);
	ck_assert_uint_eq(victims.tiers[0].node, 2);
	ck_assert_uint_eq(victims.tiers[1].node, 4);
	ck_assert_uint_eq(victims.tiers[2].node, 1);
	ck_assert_uint_eq(victims.tiers[2].distance, 30);
	ck_assert_uint_eq(victims.tiers[3].node, 3);
	victims_of(5, 3);
	ck_assert_uint_eq(victims.tiers[0].node, 4);
	ck_assert_uint_eq(victims.tiers[1].node, 1);
	ck_assert_uint_eq(victims.tiers[2].node, 2);
	ck_assert_uint_eq(victims.tiers[3].node, 0);
}
END_TEST

/* Every pair can meet, stray CPUs too. */
START_TEST(victims_reach_stray_cpus)
{
	fixture_allow(0, 11);
	fixture_node(0, "0-3", "10 30");
	fixture_node(2, "8-11", "30 10");
	read_machine();
	for (unsigned self = 0; self < 12; self++)
		victims_of(12, self);
}
END_TEST

START_TEST(victims_on_one_cpu_are_near)
{
	make_up("core:1");
	victims_of(300, 17);
	ck_assert_uint_eq(victims.tier_count, 1);
	ck_assert_int_eq(victims.tiers[0].kind, WSRT_TIER_L3);
}
END_TEST

START_TEST(victims_without_memory_fail)
{
	unsigned cpus[] = {0, 1};

	make_up("node:2");
	for (int i = 0; i < 2; i++) {
		fixture_fail_after(i);
		ck_assert_int_eq(victims_init(&victims, topology, cpus, 2, 0),
				 -ENOMEM);
		victims_fini(&victims);
	}
}
END_TEST

static void victims_teardown(void)
{
	victims_fini(&victims);
	teardown();
}

static TCase *case_of_reading(void)
{
	TCase *tc = tcase_create("read");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, read_without_sysfs_is_one_domain);
	tcase_add_test(tc, read_when_all_is_refused_is_one_cpu);
	tcase_add_test(tc, read_sees_siblings_caches_and_nodes);
	tcase_add_loop_test(tc, read_keeps_sparse_nodes, 0, 2);
	tcase_add_test(tc, read_gives_stray_cpus_a_domain);
	tcase_add_test(tc, read_drops_nodes_without_cpus_of_ours);
	tcase_add_test(tc, read_garbage_prints_nothing);
	tcase_add_test(tc, read_splits_an_l3_between_nodes);
	tcase_add_test(tc, read_knows_1280_cpus);
	tcase_add_test(tc, node_of_takes_any_number);
	tcase_add_test(tc, workers_are_cut_to_the_quota);
	tcase_add_test(tc, read_without_memory_fails);
	tcase_add_test(tc, read_this_machine);
	return tc;
}

static TCase *case_of_making_up(void)
{
	TCase *tc = tcase_create("synthetic");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, synthetic_counts_multiply);
	tcase_add_test(tc, synthetic_takes_any_of_the_keys);
	tcase_add_test(tc, synthetic_garbage_is_refused);
	tcase_add_test(tc, synthetic_when_empty_is_unset);
	tcase_add_test(tc, synthetic_without_memory_fails);
	tcase_add_test(tc, accessors_refuse_bad_arguments);
	tcase_add_test(tc, place_spreads_over_nodes_then_cores);
	tcase_add_test(tc, place_uses_every_cpu_once_before_twice);
	tcase_add_test(tc, place_counts_cores_of_uneven_nodes);
	return tc;
}

static TCase *case_of_victims(void)
{
	TCase *tc = tcase_create("victims");

	tcase_add_checked_fixture(tc, setup, victims_teardown);
	tcase_add_test(tc, victims_are_all_others_near_to_far);
	tcase_add_test(tc, victims_have_a_tier_for_each_place);
	tcase_add_test(tc, victims_of_a_lone_worker_are_none);
	tcase_add_test(tc, victims_go_out_by_our_distance);
	tcase_add_test(tc, victims_reach_stray_cpus);
	tcase_add_test(tc, victims_on_one_cpu_are_near);
	tcase_add_test(tc, victims_without_memory_fail);
	return tc;
}

int main(void)
{
	Suite *suite = suite_create("topology");

	suite_add_tcase(suite, case_of_reading());
	suite_add_tcase(suite, case_of_making_up());
	suite_add_tcase(suite, case_of_victims());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);

	int failures = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
