/* SPDX-License-Identifier: MIT */
/* Walks the nodes by distance and drops each worker into its tier. */
#include "topology/victims.h"

#include <errno.h>
#include <stdlib.h>

/* Ours, and what is needed to tell where another worker is from us. */
struct view {
	const struct wsrt_topology *topology;
	const unsigned *cpus;
	unsigned worker_count;
	unsigned self;
};

static const struct topology_cpu *cpu_of(const struct view *view,
					 unsigned worker)
{
	return &view->topology->cpus[view->cpus[worker]];
}

static unsigned distance_to(const struct view *view, unsigned node)
{
	unsigned own = cpu_of(view, view->self)->node;

	return view->topology
		->distances[(size_t)own * view->topology->node_count + node];
}

static bool in_tier(const struct view *view, unsigned worker,
		    const struct victim_tier *tier)
{
	const struct topology_cpu *own = cpu_of(view, view->self);
	const struct topology_cpu *cpu = cpu_of(view, worker);

	if (worker == view->self || cpu->node != tier->node)
		return false;
	if (tier->kind == WSRT_TIER_FAR)
		return true;
	return (cpu->l3 == own->l3) == (tier->kind == WSRT_TIER_L3);
}

/* Adds a tier with its workers, unless it has none. */
static void add_tier(struct victims *victims, const struct view *view,
		     struct victim_tier tier)
{
	unsigned count = victims->tier_count;

	tier.begin = count > 0 ? victims->tiers[count - 1].end : 0;
	tier.end = tier.begin;
	for (unsigned worker = 0; worker < view->worker_count; worker++)
		if (in_tier(view, worker, &tier))
			victims->workers[tier.end++] = worker;
	if (tier.end > tier.begin)
		victims->tiers[victims->tier_count++] = tier;
}

/* How many numbers after ours a node comes, going round. */
static unsigned steps_to(const struct view *view, unsigned node)
{
	unsigned count = view->topology->node_count;

	return (node + count - cpu_of(view, view->self)->node) % count;
}

/* The nearest node that is farther than @last; our own when there is none. */
static unsigned next_node(const struct view *view, unsigned last)
{
	unsigned own = cpu_of(view, view->self)->node;
	unsigned next = own;

	for (unsigned i = 1; i < view->topology->node_count; i++) {
		unsigned node = (own + i) % view->topology->node_count;
		unsigned distance = distance_to(view, node);
		bool past = last == own || distance > distance_to(view, last) ||
			    (distance == distance_to(view, last) &&
			     i > steps_to(view, last));

		if (past && (next == own || distance < distance_to(view, next)))
			next = node;
	}
	return next;
}

static void fill(struct victims *victims, const struct view *view)
{
	unsigned own = cpu_of(view, view->self)->node;
	struct victim_tier tier = {
		.kind = WSRT_TIER_L3,
		.distance = 10,
		.node = own,
	};

	add_tier(victims, view, tier);
	tier.kind = WSRT_TIER_NODE;
	add_tier(victims, view, tier);
	tier.kind = WSRT_TIER_FAR;
	for (unsigned node = next_node(view, own); node != own;
	     node = next_node(view, node)) {
		tier.node = node;
		tier.distance = distance_to(view, node);
		add_tier(victims, view, tier);
	}
}

int victims_init(struct victims *victims, const struct wsrt_topology *topology,
		 const unsigned *cpus, unsigned worker_count, unsigned self)
{
	struct view view = {topology, cpus, worker_count, self};

	*victims = (struct victims){0};
	/* One too many of the workers: calloc(0) may return NULL. */
	victims->workers = calloc(worker_count, sizeof *victims->workers);
	victims->tiers =
		calloc(topology->node_count + 1, sizeof *victims->tiers);
	if (!victims->workers || !victims->tiers) {
		victims_fini(victims);
		return -ENOMEM;
	}
	fill(victims, &view);
	return 0;
}

void victims_fini(struct victims *victims)
{
	free(victims->workers);
	free(victims->tiers);
	*victims = (struct victims){0};
}
