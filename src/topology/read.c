/* SPDX-License-Identifier: MIT */
/*
 * The real machine, from what src/os finds out about each CPU. Groups are made
 * to nest: a core lies in one L3, an L3 in one node. Where firmware splits a
 * socket into nodes that share an L3, the memory is what matters.
 */
#include "topology/topology.h"

#include <errno.h>
#include <stdlib.h>

#include "os/cgroup.h"
#include "os/cpus.h"
#include "os/numa.h"

#define DISTANCE_LOCAL 10
#define DISTANCE_UNKNOWN 20

/* In the kernel's numbers. Those of groups are any, but equal within one. */
struct found_cpu {
	int os_id;
	int node; /* -1: in none */
	int l3;	  /* -1: unknown */
	int core;
};

static int compare_int(int a, int b)
{
	return (a > b) - (a < b);
}

/* By node, L3, core; CPUs in no node come last. */
static int compare(const void *left, const void *right)
{
	const struct found_cpu *a = left, *b = right;
	int order = compare_int(a->node < 0, b->node < 0);

	if (!order)
		order = compare_int(a->node, b->node);
	if (!order)
		order = compare_int(a->l3, b->l3);
	if (!order)
		order = compare_int(a->core, b->core);
	return order ? order : compare_int(a->os_id, b->os_id);
}

static int describe(const int *ids, unsigned count, struct found_cpu *ret_cpus)
{
	int *keys = malloc(3 * sizeof *keys * count);

	if (!keys)
		return -ENOMEM;

	int *nodes = keys, *l3s = keys + count, *cores = l3s + count;
	int error = os_numa_nodes(ids, count, nodes);

	if (!error)
		error = os_cpu_l3s(ids, count, l3s);
	if (!error)
		error = os_cpu_cores(ids, count, cores);
	for (unsigned i = 0; i < count && !error; i++)
		ret_cpus[i] =
			(struct found_cpu){ids[i], nodes[i], l3s[i], cores[i]};
	free(keys);
	return error;
}

/* All CPUs that we may use, sorted. @ret_cpus is to be freed. */
static int find_cpus(struct found_cpu **ret_cpus, unsigned *ret_count)
{
	unsigned count;
	int *ids;
	int error = os_cpus_allowed(&ids, &count);

	if (error)
		return error;

	struct found_cpu *cpus = malloc(count * sizeof *cpus);

	error = cpus ? describe(ids, count, cpus) : -ENOMEM;
	free(ids);
	if (error) {
		free(cpus);
		return error;
	}
	qsort(cpus, count, sizeof *cpus, compare);
	*ret_cpus = cpus;
	*ret_count = count;
	return 0;
}

static struct wsrt_topology *alloc_for(const struct found_cpu *cpus,
				       unsigned count)
{
	unsigned node_count = 1;
	int os_id_max = cpus[0].os_id;

	for (unsigned i = 1; i < count; i++) {
		if (cpus[i].node != cpus[i - 1].node)
			node_count++;
		if (cpus[i].os_id > os_id_max)
			os_id_max = cpus[i].os_id;
	}
	return topology_alloc(count, node_count, (unsigned)os_id_max + 1);
}

/* Numbers the groups in the order in which they come. */
static void fill_cpus(struct wsrt_topology *t, const struct found_cpu *cpus)
{
	unsigned node = 0, l3 = 0, core = 0;

	for (unsigned i = 0; i < t->cpu_count; i++) {
		const struct found_cpu *was = &cpus[i > 0 ? i - 1 : 0];
		bool new_node = cpus[i].node != was->node;
		bool new_l3 = new_node || cpus[i].l3 != was->l3;
		bool new_core = new_l3 || cpus[i].core != was->core;

		node += new_node;
		l3 += new_l3;
		core += new_core;
		t->cpus[i] =
			(struct topology_cpu){cpus[i].os_id, core, l3, node};
		t->node_ids[node] = cpus[i].node;
		t->os_cpu_nodes[cpus[i].os_id] = node;
	}
}

static int fill_distances(struct wsrt_topology *t)
{
	unsigned count = t->node_count;
	int error = os_numa_distances(t->node_ids, count, t->distances);

	if (error)
		return error;
	for (unsigned i = 0; i < count * count; i++)
		if (t->distances[i] == 0)
			t->distances[i] = i / count == i % count
						  ? DISTANCE_LOCAL
						  : DISTANCE_UNKNOWN;
	return 0;
}

int topology_read(struct wsrt_topology **ret_topology)
{
	struct found_cpu *cpus;
	unsigned count;
	int error = find_cpus(&cpus, &count);

	if (error)
		return error;

	struct wsrt_topology *t = alloc_for(cpus, count);

	if (t)
		fill_cpus(t, cpus);
	free(cpus);
	if (!t)
		return -ENOMEM;

	error = fill_distances(t);
	if (!error)
		error = os_cgroup_quota_milli(&t->quota_milli);
	if (error)
		wsrt_topology_destroy(t);
	else
		*ret_topology = t;
	return error;
}
