/* SPDX-License-Identifier: MIT */
/*
 * Whom a worker robs: all others, in tiers from near to far. A pure function
 * of the topology and of where the workers are.
 */
#ifndef WSRT_TOPOLOGY_VICTIMS_H
#define WSRT_TOPOLOGY_VICTIMS_H

#include <wsrt/stats.h>

#include "topology/topology.h"

struct victim_tier {
	enum wsrt_tier kind;
	unsigned distance;   /* of the node, 10 when it is our own */
	unsigned node;	     /* WSRT_TIER_FAR: the node's index */
	unsigned begin, end; /* range in workers[] */
};

struct victims {
	unsigned tier_count;
	/*
	 * Near to far, none empty; one FAR tier for each node. Of nodes at the
	 * same distance, the next in number comes first, so that not all
	 * workers turn to the same one.
	 */
	struct victim_tier *tiers;
	unsigned *workers; /* every worker but ourselves, once */
};

/* 0 or -ENOMEM. @cpus: as of topology_place(). Ends with victims_fini(). */
int victims_init(struct victims *victims, const struct wsrt_topology *topology,
		 const unsigned *cpus, unsigned worker_count, unsigned self);
void victims_fini(struct victims *victims);

#endif
