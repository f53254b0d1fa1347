/* SPDX-License-Identifier: MIT */
/* The machine as wsrt sees it. */
#ifndef WSRT_TOPOLOGY_H
#define WSRT_TOPOLOGY_H

#include <wsrt/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct wsrt_topology; /* opaque, immutable */

/**
 * wsrt_topology_read() - find out what this process may use
 * @ret_topology: caller owns; free with wsrt_topology_destroy()
 *
 * Reads the affinity mask, NUMA nodes and their distances, L3 caches, SMT
 * siblings and the cgroup's CPU quota. What is missing or odd degrades to
 * fewer tiers. With WSRT_TOPOLOGY="node:4 l3:2 core:4 thread:2" (any of
 * them, outer first; the counts multiply, to 8192 CPUs and 1024 nodes at
 * most) the machine is made up instead. Empty, it is as if unset.
 *
 * Thread-safety: any thread.
 * Return: 0, -ENOMEM, or -EINVAL for NULL or a WSRT_TOPOLOGY that does not
 * parse.
 * Since: 0.1
 */
WSRT_API int wsrt_topology_read(struct wsrt_topology **ret_topology);

/** NULL does nothing. Since: 0.1 */
WSRT_API void wsrt_topology_destroy(struct wsrt_topology *topology);

/** CPUs that may be used; at least 1. Since: 0.1 */
WSRT_API uint32_t wsrt_topology_cpu_count(const struct wsrt_topology *topology);

/** NUMA nodes that have such CPUs; at least 1. Since: 0.1 */
WSRT_API uint32_t
wsrt_topology_node_count(const struct wsrt_topology *topology);

/** Worker threads that suit: the CPUs, cut to the CPU quota rounded up.
 * Since: 0.1 */
WSRT_API uint32_t
wsrt_topology_worker_count(const struct wsrt_topology *topology);

/** One CPU. Groups are numbered from 0 within the topology. */
struct wsrt_topology_cpu {
	size_t size;	 /**< set to sizeof before the call */
	int32_t os_id;	 /**< the kernel's number; -1 on a synthetic machine */
	uint32_t core;	 /**< CPUs with equal numbers are SMT siblings */
	uint32_t l3;	 /**< CPUs with equal numbers share an L3 cache */
	uint32_t node;	 /**< index of its NUMA node */
	int32_t node_id; /**< the kernel's number of that node; -1 unknown */
};

/** Return: 0, -EINVAL for NULL, a size from no release or @index, or -E2BIG
 * when @ret_cpu comes from a newer header and is not zero there.
 * Since: 0.1 */
WSRT_API int wsrt_topology_cpu(const struct wsrt_topology *topology,
			       uint32_t index,
			       struct wsrt_topology_cpu *ret_cpu);

/** Distance between two nodes by index, as the firmware tells it: 10 is
 * local, 20 twice as far. 0 for an index out of range. Since: 0.1 */
WSRT_API uint32_t wsrt_topology_distance(const struct wsrt_topology *topology,
					 uint32_t from, uint32_t to);

/** CPU quota in thousandths of a CPU; 0 when there is none. Since: 0.1 */
WSRT_API uint32_t
wsrt_topology_quota_milli(const struct wsrt_topology *topology);

/** Whether WSRT_TOPOLOGY made it up: 1 or 0. Since: 0.1 */
WSRT_API int wsrt_topology_synthetic(const struct wsrt_topology *topology);

#ifdef __cplusplus
}
#endif

#endif
