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
 * Asks for the pages of mapped memory to come from a node; those there already
 * move. Without effect where the kernel refuses.
 */
void os_numa_prefer(void *memory, size_t bytes, int node_id);

#endif
