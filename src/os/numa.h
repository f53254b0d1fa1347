/* SPDX-License-Identifier: MIT */
/* NUMA nodes: which CPUs they have, how far they lie apart, their memory. */
#ifndef WSRT_OS_NUMA_H
#define WSRT_OS_NUMA_H

#include <stddef.h>

/*
 * The kernel's number of the node of each of @cpus; -1 for one in no node, as
 * all are where there is no NUMA. 0 or -ENOMEM.
 */
int os_numa_nodes(const int *cpus, unsigned count, int *ret_node_ids);

/*
 * Distances between nodes by the kernel's numbers, [from * count + to]; 10 is
 * local, 0 unknown. 0 or -ENOMEM.
 */
int os_numa_distances(const int *node_ids, unsigned count,
		      unsigned *ret_distances);

/*
 * Zeroed memory on cache lines of its own, from the node if it has any to
 * spare, from anywhere for a negative @node_id. NULL when there is none. Takes
 * whole pages, not to be used for small things by the thousand.
 */
void *os_alloc_on_node(size_t size, int node_id);

/* NULL does nothing. */
void os_free_on_node(void *memory);

#endif
