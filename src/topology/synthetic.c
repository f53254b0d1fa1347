/* SPDX-License-Identifier: MIT */
/* A machine that is made up, to run policies on what one does not have. */
#include "topology/topology.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DISTANCE_LOCAL 10
#define DISTANCE_FAR 20
#define NODES_MAX 1024 /* as in the kernel; distances take its square */

enum level { NODE, L3, CORE, THREAD, LEVEL_COUNT };

static const char *const level_names[LEVEL_COUNT] = {
	[NODE] = "node:",
	[L3] = "l3:",
	[CORE] = "core:",
	[THREAD] = "thread:",
};

/* The level whose name is at @text, which steps over it; or LEVEL_COUNT. */
static unsigned level_next(const char **text)
{
	for (unsigned level = 0; level < LEVEL_COUNT; level++) {
		size_t length = strlen(level_names[level]);

		if (strncmp(*text, level_names[level], length) == 0) {
			*text += length;
			return level;
		}
	}
	return LEVEL_COUNT;
}

/* 0 for what is no number, or too large. */
static unsigned count_next(const char **text)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return 0;

	unsigned long count = strtoul(*text, &end, 10);

	*text = end;
	return count <= TOPOLOGY_SYNTHETIC_MAX ? (unsigned)count : 0;
}

/* True when another key follows, or the text ends. */
static bool separator_skip(const char **text)
{
	size_t blanks = strspn(*text, " ");
	bool comma = (*text)[blanks] == ',';

	*text += blanks + comma;
	if (comma) {
		*text += strspn(*text, " ");
		return **text != '\0';
	}
	return blanks > 0 || **text == '\0';
}

static bool parse(const char *text, unsigned ret_counts[LEVEL_COUNT])
{
	unsigned level_least = 0, total = 1;

	for (unsigned i = 0; i < LEVEL_COUNT; i++)
		ret_counts[i] = 1;

	text += strspn(text, " ");
	do {
		unsigned level = level_next(&text);
		unsigned count = count_next(&text);

		if (level < level_least || level == LEVEL_COUNT || count == 0 ||
		    count > TOPOLOGY_SYNTHETIC_MAX / total ||
		    (level == NODE && count > NODES_MAX))
			return false;
		total *= count;
		ret_counts[level] = count;
		level_least = level + 1;
		if (!separator_skip(&text))
			return false;
	} while (*text);
	return true;
}

int topology_synthetic(const char *text, struct wsrt_topology **ret_topology)
{
	unsigned counts[LEVEL_COUNT];

	if (!parse(text, counts))
		return -EINVAL;

	unsigned nodes = counts[NODE];
	unsigned core_cpus = counts[THREAD];
	unsigned l3_cpus = core_cpus * counts[CORE];
	unsigned node_cpus = l3_cpus * counts[L3];
	struct wsrt_topology *t = topology_alloc(nodes * node_cpus, nodes, 0);

	if (!t)
		return -ENOMEM;
	t->synthetic = true;
	for (unsigned i = 0; i < t->cpu_count; i++)
		t->cpus[i] = (struct topology_cpu){
			.os_id = -1,
			.core = i / core_cpus,
			.l3 = i / l3_cpus,
			.node = i / node_cpus,
		};
	for (unsigned i = 0; i < nodes; i++)
		t->node_ids[i] = -1;
	for (size_t i = 0; i < (size_t)nodes * nodes; i++)
		t->distances[i] =
			i / nodes == i % nodes ? DISTANCE_LOCAL : DISTANCE_FAR;
	*ret_topology = t;
	return 0;
}
