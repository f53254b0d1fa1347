/* SPDX-License-Identifier: MIT */
/* The public face of the topology; all of it only reads, once it is made. */
#include "topology/topology.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sized.h"

#define MILLI 1000

struct wsrt_topology *topology_alloc(unsigned cpu_count, unsigned node_count,
				     unsigned os_cpu_limit)
{
	struct wsrt_topology *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->cpu_count = cpu_count;
	t->node_count = node_count;
	t->os_cpu_limit = os_cpu_limit;
	t->cpus = calloc(cpu_count, sizeof *t->cpus);
	t->node_ids = calloc(node_count, sizeof *t->node_ids);
	t->distances =
		calloc((size_t)node_count * node_count, sizeof *t->distances);
	if (os_cpu_limit > 0)
		t->os_cpu_nodes = calloc(os_cpu_limit, sizeof *t->os_cpu_nodes);
	if (t->cpus && t->node_ids && t->distances &&
	    (t->os_cpu_nodes || os_cpu_limit == 0))
		return t;
	wsrt_topology_destroy(t);
	return NULL;
}

int wsrt_topology_read(struct wsrt_topology **ret_topology)
{
	if (!ret_topology)
		return -EINVAL;

	const char *text = secure_getenv("WSRT_TOPOLOGY");

	/* Set to nothing is how a shell's user unsets for one command. */
	if (text && *text)
		return topology_synthetic(text, ret_topology);
	return topology_read(ret_topology);
}

void wsrt_topology_destroy(struct wsrt_topology *topology)
{
	if (!topology)
		return;
	free(topology->cpus);
	free(topology->node_ids);
	free(topology->distances);
	free(topology->os_cpu_nodes);
	free(topology);
}

uint32_t wsrt_topology_cpu_count(const struct wsrt_topology *topology)
{
	return topology ? topology->cpu_count : 0;
}

uint32_t wsrt_topology_node_count(const struct wsrt_topology *topology)
{
	return topology ? topology->node_count : 0;
}

uint32_t wsrt_topology_worker_count(const struct wsrt_topology *topology)
{
	if (!topology)
		return 0;

	unsigned milli = topology->quota_milli;
	unsigned quota = milli / MILLI + (milli % MILLI != 0);

	if (quota == 0 || quota > topology->cpu_count)
		return topology->cpu_count;
	return quota;
}

int wsrt_topology_cpu(const struct wsrt_topology *topology, uint32_t index,
		      struct wsrt_topology_cpu *ret_cpu)
{
	if (!topology || !ret_cpu || index >= topology->cpu_count)
		return -EINVAL;

	const struct topology_cpu *cpu = &topology->cpus[index];
	struct wsrt_topology_cpu ours = {
		.os_id = cpu->os_id,
		.core = cpu->core,
		.l3 = cpu->l3,
		.node = cpu->node,
		.node_id = topology->node_ids[cpu->node],
	};

	return sized_copy_out(ret_cpu, &ours, sizeof ours, sizeof ours);
}

uint32_t wsrt_topology_distance(const struct wsrt_topology *topology,
				uint32_t from, uint32_t to)
{
	unsigned count = wsrt_topology_node_count(topology);

	if (from >= count || to >= count)
		return 0;
	return topology->distances[(size_t)from * count + to];
}

uint32_t wsrt_topology_quota_milli(const struct wsrt_topology *topology)
{
	return topology ? topology->quota_milli : 0;
}

int wsrt_topology_synthetic(const struct wsrt_topology *topology)
{
	return topology && topology->synthetic;
}
