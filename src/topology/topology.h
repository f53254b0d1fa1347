/* SPDX-License-Identifier: MIT */
/*
 * The machine, as far as this process may use it: plain data, made once and
 * never changed. Reading it is in read.c, making it up in synthetic.c, what
 * follows from it (places, victims) in pure functions beside them.
 */
#ifndef WSRT_TOPOLOGY_TOPOLOGY_H
#define WSRT_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include <wsrt/topology.h>

struct topology_cpu {
	int os_id;     /* -1: synthetic */
	unsigned core; /* equal: SMT siblings */
	unsigned l3;   /* equal: one L3 cache */
	unsigned node; /* index into node_ids */
};

struct wsrt_topology {
	unsigned cpu_count; /* at least 1 */
	/* By node, L3 and core: groups lie together, their numbers ascend. */
	struct topology_cpu *cpus;
	unsigned node_count;  /* at least 1, each with a CPU of ours */
	int *node_ids;	      /* the kernel's; -1 unknown or synthetic */
	unsigned *distances;  /* [from * node_count + to]; 10 is local */
	unsigned quota_milli; /* CPU quota in 1/1000; 0: none */
	bool synthetic;
	unsigned os_cpu_limit;	/* length of os_cpu_nodes; 0: synthetic */
	unsigned *os_cpu_nodes; /* [os_id]: node index, asked at submits */
};

/* The real machine. 0 or -ENOMEM. */
int topology_read(struct wsrt_topology **ret_topology);

/*
 * The machine that @text describes: "node:2 l3:2 core:4 thread:2", any of the
 * keys, in this order, with spaces or a comma between them; each says how many
 * there are in one of the former. At most TOPOLOGY_SYNTHETIC_MAX CPUs and 1024
 * nodes, a distance of 20 apart. 0, -ENOMEM, or -EINVAL for all else.
 */
#define TOPOLOGY_SYNTHETIC_MAX 8192
int topology_synthetic(const char *text, struct wsrt_topology **ret_topology);

/* Zeroed, with room as asked for; NULL when there is no memory. */
struct wsrt_topology *topology_alloc(unsigned cpu_count, unsigned node_count,
				     unsigned os_cpu_limit);

/* Node index of a CPU by the kernel's number; 0 when it is none of ours. */
unsigned topology_node_of(const struct wsrt_topology *topology, int os_cpu);

/*
 * Index of the CPU where each of @worker_count workers belongs.
 *
 * Every CPU gets one worker before any gets two, every core one before its SMT
 * siblings do. What is left over is shared among the nodes by their CPUs: 4
 * workers on two nodes of 4 cores are 2 and 2. A node fills L3 after L3, since
 * few workers do better with one cache than spread over two. Workers of a node
 * have consecutive numbers, and neighbours in number are neighbours there.
 */
void topology_place(const struct wsrt_topology *topology, unsigned worker_count,
		    unsigned *ret_cpus);

#endif
