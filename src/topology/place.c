/* SPDX-License-Identifier: MIT */
/* Who works where. No memory is asked for, so nothing here can fail. */
#include "topology/topology.h"

unsigned topology_node_of(const struct wsrt_topology *topology, int os_cpu)
{
	if (os_cpu < 0 || (unsigned)os_cpu >= topology->os_cpu_limit)
		return 0;
	return topology->os_cpu_nodes[os_cpu];
}

/* Whether @cpu belongs to the core of the CPU before it. */
static bool is_sibling(const struct wsrt_topology *t, unsigned cpu)
{
	return cpu > 0 && t->cpus[cpu - 1].core == t->cpus[cpu].core;
}

/* The CPUs in a range of which a core has @rank others before them. */
static unsigned count_rank(const struct wsrt_topology *t, unsigned begin,
			   unsigned end, unsigned rank)
{
	unsigned count = 0, cpu_rank = 0;

	for (unsigned i = begin; i < end; i++) {
		cpu_rank = is_sibling(t, i) ? cpu_rank + 1 : 0;
		count += cpu_rank == rank;
	}
	return count;
}

static unsigned node_end(const struct wsrt_topology *t, unsigned begin)
{
	unsigned end = begin;

	while (end < t->cpu_count && t->cpus[end].node == t->cpus[begin].node)
		end++;
	return end;
}

/* @part of @whole, rounded up, so that the first node gets the odd one. */
static unsigned share(unsigned left, unsigned part, unsigned whole)
{
	return (unsigned)(((uint64_t)left * part + whole - 1) / whole);
}

/* Adds the CPUs in a range with a rank below @rank, and @take of those at. */
static unsigned *add_ranks(const struct wsrt_topology *t, unsigned begin,
			   unsigned end, unsigned rank, unsigned take,
			   unsigned *out)
{
	unsigned cpu_rank = 0;

	for (unsigned i = begin; i < end; i++) {
		cpu_rank = is_sibling(t, i) ? cpu_rank + 1 : 0;
		if (cpu_rank < rank) {
			*out++ = i;
		} else if (cpu_rank == rank && take > 0) {
			*out++ = i;
			take--;
		}
	}
	return out;
}

void topology_place(const struct wsrt_topology *topology, unsigned worker_count,
		    unsigned *ret_cpus)
{
	unsigned count = topology->cpu_count;
	unsigned rounds = worker_count / count;
	unsigned left = worker_count % count; /* less than one per CPU */
	unsigned rank = 0, before = 0;
	unsigned whole = count_rank(topology, 0, count, rank);

	/* All of the ranks below get one, and @left of the @whole at @rank. */
	while (left >= whole) {
		left -= whole;
		whole = count_rank(topology, 0, count, ++rank);
	}

	for (unsigned begin = 0, end; begin < count; begin = end) {
		end = node_end(topology, begin);

		unsigned here = count_rank(topology, begin, end, rank);
		unsigned take = share(left, before + here, whole) -
				share(left, before, whole);

		for (unsigned round = 0; round < rounds; round++)
			for (unsigned i = begin; i < end; i++)
				*ret_cpus++ = i;
		ret_cpus =
			add_ranks(topology, begin, end, rank, take, ret_cpus);
		before += here;
	}
}
