/* SPDX-License-Identifier: MIT */
/* The topology as text: nodes, their CPUs by L3 and core, distances. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "machine.h"

static int compare_u32(uint32_t left, uint32_t right)
{
	return (left > right) - (left < right);
}

/* By node, then L3, then core, then the kernel's number. */
static int compare_cpus(const void *left, const void *right)
{
	const struct wsrt_topology_cpu *a = left, *b = right;

	if (a->node != b->node)
		return compare_u32(a->node, b->node);
	if (a->l3 != b->l3)
		return compare_u32(a->l3, b->l3);
	if (a->core != b->core)
		return compare_u32(a->core, b->core);
	return (a->os_id > b->os_id) - (a->os_id < b->os_id);
}

/* All CPUs in order; a synthetic one takes its index for the kernel's
 * number. NULL without memory. */
static struct wsrt_topology_cpu *
sorted_cpus(const struct wsrt_topology *topology, uint32_t count)
{
	struct wsrt_topology_cpu *cpus = calloc(count, sizeof *cpus);

	for (uint32_t i = 0; cpus && i < count; i++) {
		cpus[i].size = sizeof *cpus;
		wsrt_topology_cpu(topology, i, &cpus[i]);
		if (cpus[i].os_id < 0)
			cpus[i].os_id = (int32_t)i;
	}
	if (cpus)
		qsort(cpus, count, sizeof *cpus, compare_cpus);
	return cpus;
}

static void print_node(FILE *stream, const struct wsrt_topology_cpu *cpu)
{
	fprintf(stream, "node %" PRIu32, cpu->node);
	if (cpu->node_id >= 0)
		fprintf(stream, " (kernel's %" PRId32 ")", cpu->node_id);
	fputs(":\n", stream);
}

/* A line for each L3; CPUs of one core in one pair of brackets. */
static void print_cpus(FILE *stream, const struct wsrt_topology_cpu *cpus,
		       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct wsrt_topology_cpu *cpu = &cpus[i];
		const struct wsrt_topology_cpu *before = i ? cpu - 1 : NULL;
		bool node = !before || before->node != cpu->node;
		bool l3 = node || before->l3 != cpu->l3;
		bool core = l3 || before->core != cpu->core;

		if (l3 && before)
			fputs("]\n", stream);
		if (node)
			print_node(stream, cpu);
		if (l3)
			fprintf(stream, "    L3 %" PRIu32 ": cores [", cpu->l3);
		else
			fputs(core ? "] [" : " ", stream);
		fprintf(stream, "%" PRId32, cpu->os_id);
	}
	fputs("]\n", stream);
}

static void print_distances(FILE *stream, const struct wsrt_topology *topology)
{
	uint32_t count = wsrt_topology_node_count(topology);

	fprintf(stream, "%-9s", "distances");
	for (uint32_t to = 0; to < count; to++)
		fprintf(stream, " %4" PRIu32, to);
	fputc('\n', stream);
	for (uint32_t from = 0; from < count; from++) {
		fprintf(stream, "%9" PRIu32, from);
		for (uint32_t to = 0; to < count; to++)
			fprintf(stream, " %4" PRIu32,
				wsrt_topology_distance(topology, from, to));
		fputc('\n', stream);
	}
}

static void print_summary(FILE *stream, const struct wsrt_topology *topology)
{
	uint32_t quota = wsrt_topology_quota_milli(topology);

	fprintf(stream, "machine   %s\n",
		wsrt_topology_synthetic(topology) ? "synthetic (WSRT_TOPOLOGY)"
						  : "real");
	fprintf(stream, "nodes     %" PRIu32 "\n",
		wsrt_topology_node_count(topology));
	fprintf(stream, "CPUs      %" PRIu32 "\n",
		wsrt_topology_cpu_count(topology));
	if (quota)
		fprintf(stream, "quota     %.3f CPUs\n", quota / 1000.0);
	else
		fputs("quota     none\n", stream);
	fprintf(stream, "workers   %" PRIu32 " by default\n",
		wsrt_topology_worker_count(topology));
}

int machine_print(FILE *stream, const struct wsrt_topology *topology)
{
	uint32_t count = wsrt_topology_cpu_count(topology);
	struct wsrt_topology_cpu *cpus = sorted_cpus(topology, count);

	if (!cpus)
		return -1;
	print_summary(stream, topology);
	print_cpus(stream, cpus, count);
	print_distances(stream, topology);
	free(cpus);
	return 0;
}
